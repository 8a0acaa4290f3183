"""How many clusters peers find in the tables of size and power, each by the rule that is customary for it.

`RULES` has them. Words are given to scikit-learn as indicators, one for each value; mclust does not take them. A peer
that gives no answer (mclust's models all fail on some ties) has found no groups. Answers are kept in `peers.csv`, so
that what was interrupted goes on, and `PEERS.md` is made of them.
"""

from __future__ import annotations

import csv
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.trust import mclust
from benchmarks.trust.tables import Key, Table, power_tables, size_tables

Floats = NDArray[np.float64]
Numbers = dict[str, int | None]

ANSWERS = Path(__file__).with_name("peers.csv")
MCLUST_BIC, MCLUST_ICL = "mclust, BIC", "mclust, ICL"
KMEANS, MIXTURE = "KMeans, silhouette", "GaussianMixture, silhouette"
MIXTURE_BIC, HDBSCAN = "GaussianMixture, BIC", "HDBSCAN"
PEERS = (MCLUST_BIC, MCLUST_ICL, KMEANS, MIXTURE, MIXTURE_BIC, HDBSCAN)
BY_SILHOUETTE = (
    "the number from 2 with the largest mean silhouette; 1 where that is at most 0.25, "
    "'no substantial structure' (Kaufman and Rousseeuw, Finding groups in data, 1990, chapter 2)"
)
RULES = {
    MCLUST_BIC: "the best of 14 covariance structures and 1 to 9 components (12 where there are ten groups)",
    MCLUST_ICL: "the same by the integrated completed likelihood",
    KMEANS: f"scikit-learn, 10 starts: {BY_SILHOUETTE}",
    MIXTURE: "scikit-learn, full covariances, 10 starts: likewise",
    MIXTURE_BIC: "the same fits; the smallest BIC, from 1",
    HDBSCAN: "scikit-learn, nothing set: the clusters it finds; 1 where it finds none",
}
NO_STRUCTURE = 0.25  # a mean silhouette up to here: "no substantial structure has been found"
STARTS = 10  # of KMeans and GaussianMixture, as scikit-learn's examples have it for the former
MANY_ROWS, LATER = 1000, 20  # seeds of the other tables for one of those with more rows


def indicators(rows: Any) -> Floats:
    """Numbers as they are, one column for each value of a column of words; all of them of one variance."""
    columns: list[Floats] = []
    for column in np.asarray(rows, dtype=object).T:
        if isinstance(column[0], str):
            columns += [(column == value).astype(np.float64) for value in np.unique(column.astype(str))]
        else:
            numbers = column.astype(np.float64)
            columns.append((numbers - numbers.mean()) / numbers.std())
    return np.column_stack(columns)


def scikit_learn(table: Table) -> Numbers:
    """By silhouette, by BIC, and by density."""
    from sklearn import cluster

    rows = table.rows if table.numeric else indicators(table.rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of ties, and of climbs that end early: the peer answers for itself
        found = {**_kmeans(rows, table.most), **_mixture(rows, table.most)}
        labels = cluster.HDBSCAN(copy=True).fit_predict(rows)
    return {**found, HDBSCAN: max(1, len(set(labels) - {-1}))}


def _kmeans(rows: Floats, most: int) -> Numbers:
    from sklearn.cluster import KMeans

    sizes = range(2, most + 1)
    labels = [KMeans(k, n_init=STARTS, random_state=0).fit_predict(rows) for k in sizes]
    return {KMEANS: _by_silhouette(rows, labels)}


def _mixture(rows: Floats, most: int) -> Numbers:
    from sklearn.mixture import GaussianMixture

    fits = [GaussianMixture(k, n_init=STARTS, random_state=0).fit(rows) for k in range(1, most + 1)]
    labels = [fit.predict(rows) for fit in fits[1:]]
    return {
        MIXTURE: _by_silhouette(rows, labels),
        MIXTURE_BIC: 1 + int(np.argmin([fit.bic(rows) for fit in fits])),
    }


def _by_silhouette(rows: Floats, labels: Iterable[Any]) -> int:
    from sklearn.metrics import pairwise_distances, silhouette_score

    apart = pairwise_distances(rows)
    np.fill_diagonal(apart, 0.0)
    several = (found if len(np.unique(found)) > 1 else None for found in labels)
    scores = [
        -1.0 if found is None else float(silhouette_score(apart, found, metric="precomputed")) for found in several
    ]
    return 2 + int(np.argmax(scores)) if max(scores) > NO_STRUCTURE else 1


def answers() -> dict[Key, Numbers]:
    """Those that are known."""
    if not ANSWERS.exists():
        return {}
    with ANSWERS.open(newline="", encoding="utf-8") as stream:
        return {_key(line): {peer: int(line[peer]) for peer in PEERS if line[peer]} for line in csv.DictReader(stream)}


def _key(line: dict[str, str]) -> Key:
    return Key(line["part"], line["kind"], int(line["n"]), int(line["seed"]))


def survey(seeds: int, say: Callable[[str], None] = print) -> dict[Key, Numbers]:
    """Ask all peers that are here about all tables that they have not been asked about."""
    known = answers()
    tables = [*size_tables(seeds), *power_tables(seeds)]
    asked = sorted((table for table in tables if table.key not in known), key=_turn)
    if asked and not mclust.available():
        say("mclust is not asked: R or its package is not installed")
    for table in asked:
        known[table.key] = scikit_learn(table)
        if mclust.available():  # half an answer is not kept
            known[table.key] |= mclust.numbers(table)
            _append(table.key, known[table.key])
    return known


def _turn(table: Table) -> int:
    """By seed, so that an interrupted run has a balanced table; those of many rows take mclust long and come later."""
    return table.key.seed * (LATER if table.key.n > MANY_ROWS else 1)


def _append(key: Key, found: Numbers) -> None:
    new = not ANSWERS.exists()
    with ANSWERS.open("a", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        if new:
            writer.writerow([*Key._fields, *PEERS])
        numbers = (found.get(peer) for peer in PEERS)
        writer.writerow([*key, *("" if number is None else number for number in numbers)])
