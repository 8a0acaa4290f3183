"""nltk, https://www.nltk.org: its probabilistic chart parsers, which find the best tree in pure Python."""

from __future__ import annotations

import numpy as np
from nltk import PCFG
from nltk.parse import pchart, viterbi

from benchmarks.contenders.interface import Arrays, Run

PARSERS = {"InsideChartParser": pchart.InsideChartParser, "ViterbiParser": viterbi.ViterbiParser}


def parsing(arrays: Arrays, parser: str) -> Run:
    """The first tree that the parser hands out."""
    parse = PARSERS[parser](PCFG.fromstring(str(arrays["grammar"]))).parse
    sentences = [sentence.split() for sentence in arrays["sentences"].tolist()]

    def run(steps: int) -> Arrays:
        return {"log_probabilities": np.log([next(iter(parse(sentence))).prob() for sentence in sentences])}

    return run
