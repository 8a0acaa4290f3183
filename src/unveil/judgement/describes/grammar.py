"""Does a grammar describe its sentences better than words drawn one by one?

A unigram model draws words, or the end, by their shares; a bigram model by the word before. Both are fitted to the same
sentences and pay half the logarithm of the number of words for each probability, as the grammar does (BIC).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from unveil.judgement.case import Answer, Case
from unveil.judgement.describes.words import said

END = None  # the word that ends a sentence


def examine_grammar(case: Case) -> Answer:
    """Against words alone, and against pairs of words."""
    from unveil.grammar.pcfg.input import read_sentences

    kept = list(case.X)[: case.most_rows]
    sentences = [sentence.words for sentence in read_sentences(kept)]
    scores = np.asarray(case.model.score_samples([list(words) for words in sentences]))
    if not np.all(np.isfinite(scores)):
        count = int(np.sum(~np.isfinite(scores)))
        words = f"{count} of {len(scores)} sentences cannot be derived"
        return Answer((said("impossible", "warning", words, float(count), "add rules that derive them"),))
    n_words = sum(map(len, sentences)) + len(sentences)
    price = 0.5 * float(np.log(n_words)) / n_words
    own = float(scores.sum()) / n_words - case.model.n_parameters() * price
    unigram, bigram = (score / n_words - count * price for score, count in (unigrams(sentences), bigrams(sentences)))
    if own <= unigram:
        message = f"words drawn one by one describe the sentences as well: {unigram - own:.2g} nats a word better"
        return Answer((said("unigram", "warning", message, own - unigram, "try fewer symbols, or another start"),))
    gains = f"the grammar gains {own - unigram:.2g} nats a word over single words"
    if own <= bigram:
        message = f"{gains}, but pairs of words gain {bigram - own:.2g} more"
        return Answer((said("bigram", "note", message, own - bigram), said("unigram", "fine", gains, own - unigram)))
    return Answer((said("unigram", "fine", gains, own - unigram),))


def unigrams(sentences: Sequence[Sequence[str]]) -> tuple[float, int]:
    """Log-probability under the shares of words and ends, and how many parameters those are."""
    counts = Counter(word for words in sentences for word in (*words, END))
    return _log_probability(list(counts.values())), len(counts) - 1


def bigrams(sentences: Sequence[Sequence[str]]) -> tuple[float, int]:
    """The same by the word before."""
    pairs = Counter(pair for words in sentences for pair in zip((END, *words), (*words, END), strict=True))
    before: dict[str | None, list[int]] = {}
    for (first, _), count in pairs.items():
        before.setdefault(first, []).append(count)
    return sum(map(_log_probability, before.values())), sum(len(counts) - 1 for counts in before.values())


def _log_probability(counts: list[int]) -> float:
    """Of so many draws of each, under their own shares."""
    shares = np.array(counts, dtype=np.float64)
    return float(shares @ np.log(shares / shares.sum()))
