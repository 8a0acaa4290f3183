"""``unveil parse``: the likeliest tree of a sentence, under a grammar that was fitted."""

from __future__ import annotations

import json
import os
from typing import Annotated, Any

import typer

from unveil.cli.errors import printable
from unveil.cli.options import Json, argument


def parse(
    model: Annotated[str, argument(metavar="GRAMMAR", help="A model file of unveil fit grammar.")],
    sentences: Annotated[
        list[str],
        argument(metavar="SENTENCE", help="Words with spaces between them, in quotes; or a text file, one a line."),
    ],
    as_json: Json = False,
) -> None:
    """Show the likeliest tree of each SENTENCE, how likely it is, and how likely the sentence is by all of its trees.

    A sentence that the grammar cannot derive is said to be none of its language. To write a table of trees use
    unveil predict.
    """
    import unveil

    estimator = unveil.load(model)
    if not hasattr(estimator, "grammar_"):
        raise ValueError(f"{model}: must be a grammar to parse with, got a {type(estimator).__name__}")
    if estimator.unknown_words == "error":
        estimator.set_params(unknown_words="impossible")  # a sentence with such a word has no tree, and that is said
    for sentence in _sentences(sentences):
        found = _parsed(estimator, sentence)
        typer.echo(json.dumps(found) if as_json else _said(found, estimator))


def _sentences(given: list[str]) -> list[str]:
    """The sentences, those of files among them."""
    from unveil.cli.rows.sequences import read_sentences

    found: list[str] = []
    for entry in given:
        found += read_sentences(entry) if os.path.isfile(entry) or entry == "-" else [entry]
    return found


def _parsed(estimator: Any, sentence: str) -> dict[str, Any]:
    """One sentence: its best tree and logs of probabilities, None where there is no tree."""
    best = estimator.parse([sentence])[0]
    if best.tree is None:
        return {"sentence": sentence, "tree": None, "log_probability_of_tree": None, "log_probability": None}
    return {
        "sentence": sentence,
        "tree": str(best.tree),
        "log_probability_of_tree": float(best.log_probability),
        "log_probability": float(estimator.score_samples([sentence])[0]),
    }


def _said(found: dict[str, Any], estimator: Any) -> str:
    """The same for people."""
    sentence = printable(found["sentence"])
    if found["tree"] is None:
        return f"{sentence}\n  no tree: the grammar cannot derive this sentence{_unknown(found['sentence'], estimator)}"
    share = f"{100 * _ratio(found):.3g}% of the sentence's probability"
    tree = f"{printable(found['tree'])}\n  log-probability {found['log_probability_of_tree']:.6g}, {share}"
    return f"{sentence}\n  {tree} ({found['log_probability']:.6g} by all trees)"


def _ratio(found: dict[str, Any]) -> float:
    """The share of the best tree among all trees of its sentence."""
    from math import exp

    return exp(min(0.0, found["log_probability_of_tree"] - found["log_probability"]))


def _unknown(sentence: str, estimator: Any) -> str:
    """Words that no rule has, in brackets."""
    known = set(estimator.grammar_.words)
    words = [word for word in dict.fromkeys(sentence.split()) if word not in known]
    return f" (words that no rule has: {printable(', '.join(words))})" if words else ""
