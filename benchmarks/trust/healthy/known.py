"""Well-known tables with the model that the literature has for them.

| table | model | where |
|---|---|---|
| faithful | two Gaussians | Azzalini and Bowman, A look at some data on the Old Faithful geyser, 1990 |
| diabetes | three Gaussians | Banfield and Raftery, Model-based Gaussian and non-Gaussian clustering, 1993 |
| ruspini | four clusters | Kaufman and Rousseeuw, Finding groups in data, 1990 |
| s1 | fifteen clusters | Fränti and Virmajoki, Iterative shrinking method for clustering problems, 2006 |
| usarrests | two components of scaled columns | James et al., An introduction to statistical learning, 2013 |
| earthquakes | a chain of Poisson counts with three states | Zucchini and MacDonald, Hidden Markov models, 2009 |
| speed | a chain of two Gaussian states | Dutilh et al., A phase transition model for speed and accuracy, 2011 |
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

import unveil
from benchmarks.trust.healthy.case import Healthy
from benchmarks.trust.planted.case import Fitted

ROOT = Path(__file__).parents[3]
EXAMPLES, TESTS = ROOT / "examples" / "data", ROOT / "tests" / "data"


def _table(file: Path, columns: Sequence[int], header: int = 1) -> np.ndarray:
    return np.loadtxt(file, delimiter=",", skiprows=header, usecols=columns, ndmin=2)


def _known(model: Any, file: Path, columns: Sequence[int], header: int = 1) -> Healthy:
    def make() -> Fitted:
        X = _table(file, columns, header)
        return Fitted(clone(model).fit(X), X, {})

    return Healthy(f"{type(model).__name__} on {file.name.split('.')[0]}", make)


CASES = (
    _known(unveil.GaussianMixture(2, random_state=0), EXAMPLES / "faithful.csv", (0, 1)),
    _known(unveil.GaussianMixture(3, random_state=0), TESTS / "diabetes.csv", (0, 1, 2)),
    _known(unveil.KMeans(4, random_state=0), TESTS / "ruspini.csv", (0, 1)),
    _known(unveil.KMedoids(4, random_state=0), TESTS / "ruspini.csv", (0, 1)),
    _known(unveil.KMeans(15, random_state=0), TESTS / "s1.csv.gz", (0, 1)),
    _known(unveil.PCA(2, scale=True), TESTS / "usarrests.csv", (0, 1, 2, 3)),
    _known(unveil.PoissonHMM(3, random_state=0), TESTS / "earthquakes.csv", (0,), header=0),
    _known(unveil.GaussianHMM(2, random_state=0), TESTS / "speed.csv", (0,)),
)
