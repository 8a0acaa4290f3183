"""`unveil.examine`: three questions about a fitted model and the rows it was fitted to.

What differs between kinds of models is in `SUBJECTS`: who answers whether the model describes the data, and whether its
groups are real. Whether the fit is sound is what its own certificate says, and what the rows add to that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sklearn.utils.validation import check_is_fitted

from unveil.certificate import Certificate
from unveil.core.lazy import HOMES
from unveil.core.loop import unwatched
from unveil.judgement.case import Answer, Case, Examiner


class Examiners(NamedTuple):
    """Who answers the questions about one kind of model; nobody where there is nothing to ask."""

    sound: Examiner | None = None
    describes: Examiner | None = None
    real: Examiner | None = None


def examine(
    model: Any,
    X: Any,
    y: Any = None,
    lengths: Any = None,
    sample_weight: Any = None,
    thorough: bool = False,
    random_state: int = 0,
) -> Certificate:
    """Is the fit sound, does the model describe the data, are the groups real?

    Parameters
    ----------
    model : estimator
        Fitted; it is not changed.
    X : array, frame, scan or list of sequences
        What it was fitted to, as `fit` took it.
    y : array-like, optional
        Classes, for a discriminant.
    lengths : array-like of int, optional
        Rows of each sequence, for hidden Markov models.
    sample_weight : array-like, optional
        How often each row counts.
    thorough : bool, default=False
        Look at more rows and draw more often. Takes up to ten times as long.
    random_state : int, default=0
        Seed of all that is drawn.

    Returns
    -------
    Certificate
        With `verdicts`, the `findings` that they rest on, and for mixtures `clusters`, the cluster of each component.

    Examples
    --------
    >>> import numpy as np, unveil
    >>> X = np.random.default_rng(0).normal(size=(300, 2)) + np.repeat([[0.0], [9.0], [18.0]], 100, axis=0)
    >>> unveil.examine(unveil.GaussianMixture(3, random_state=0).fit(X), X).verdicts
    {'sound': 'yes', 'describes': 'yes', 'real': 'yes'}
    """
    check_is_fitted(model)
    return asked(Case(model, X, y, lengths, sample_weight, bool(thorough), int(random_state)))


def asked(case: Case, questions: Sequence[str] = Examiners._fields) -> Certificate:
    """What is to be said to all questions, or to some of them, of a case that may be asked others later."""
    examiners = examiners_of(case.model)
    with unwatched():
        answers = [case.once(question, answer) for question in questions if (answer := getattr(examiners, question))]
    return _together(getattr(case.model, "certificate_", Certificate(())), answers)


def _together(own: Certificate, answers: list[Answer]) -> Certificate:
    """What the fit said of itself and what was found; of two findings of one name, the new one."""
    found = [finding for answer in answers for finding in answer.findings]
    replaced = {(finding.question, finding.name) for finding in found}
    kept = [finding for finding in own.findings if (finding.question, finding.name) not in replaced]
    clusters = next((answer.clusters for answer in answers if answer.clusters is not None), None)
    return Certificate((*kept, *found), clusters=clusters)


def is_examined(model: Any) -> bool:
    """Whether `examine` takes a model of this kind."""
    return _examiners(model) is not None


def examiners_of(model: Any) -> Examiners:
    """Who answers for a model, by the folder that defines its class or a base of it."""
    found = _examiners(model)
    if found is None:
        known = ", ".join(name for name in HOMES["unveil"] if name[:1].isupper())
        raise TypeError(f"model must be a fitted estimator of unveil ({known}); got {type(model).__name__}")
    return found


def _examiners(model: Any) -> Examiners | None:
    from unveil.judgement.subjects import SUBJECTS

    homes = (kind.__module__ for kind in type(model).__mro__)
    names = [home.removeprefix("unveil.") for home in homes if home.startswith("unveil.")]
    return next((who for name in names for folder, who in SUBJECTS.items() if name.startswith(folder)), None)
