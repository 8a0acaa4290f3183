"""Fits whose likelihood is an artefact: components on points, lines and handfuls of rows."""

from __future__ import annotations

import numpy as np

import unveil
from benchmarks.trust.planted.case import DEGENERATE, NO, SUSPECT, Fitted, Planted, fitted, random

FEW = frozenset({"few_rows", "rows_per_parameter", "point", "line", "floor", "empty"})
FLAT = frozenset({"floor", "point", "line", "condition", "conditioning"})


def identical_rows() -> Fitted:
    """A hundred rows that are the same, among 200 that are not."""
    rows = np.concatenate([random(1).normal(size=(200, 2)), np.full((100, 2), 4.0)])
    return fitted(unveil.GaussianMixture(2, random_state=0), rows)


def constant_column() -> Fitted:
    rows = np.column_stack([random(2).normal(size=(300, 2)), np.full(300, 2.0)])
    return fitted(unveil.GaussianMixture(2, random_state=0), rows)


def three_values() -> Fitted:
    """A column that has three values; each component sits on one of them."""
    source = random(3)
    rows = np.column_stack([source.normal(size=300), source.integers(0, 3, 300)])
    return fitted(unveil.GaussianMixture(3, random_state=0), rows)


def collinear_column() -> Fitted:
    rows = random(4).normal(size=(300, 2))
    return fitted(unveil.GaussianMixture(2, random_state=0), np.column_stack([rows, rows.sum(axis=1)]))


def component_on_a_row() -> Fitted:
    rows = random(5).normal(size=(200, 2))
    rows[0] = 50.0
    return fitted(unveil.GaussianMixture(2, random_state=0), rows)


def third_of_a_row_per_parameter() -> Fitted:
    """28 rows and 83 parameters."""
    return fitted(unveil.GaussianMixture(4, random_state=0), random(6).normal(size=(28, 5)))


def student_on_a_point() -> Fitted:
    rows = np.concatenate([random(7).normal(size=(200, 2)), np.full((60, 2), 9.0)])
    return fitted(unveil.StudentMixture(2, random_state=0), rows)


def bernoulli_on_few_rows() -> Fitted:
    """20 rows for six components of ten columns."""
    return fitted(unveil.BernoulliMixture(6, random_state=0), random(8).integers(0, 2, (20, 10)))


def categories_on_few_rows() -> Fitted:
    """40 rows, 245 parameters."""
    rows = np.array([*"abcde"])[random(9).integers(0, 5, (40, 10))]
    return fitted(unveil.CategoricalMixture(6, random_state=0), rows)


def count_on_a_row() -> Fitted:
    """One row of counts that are a hundred times those of the others."""
    rows = random(10).poisson(4.0, (150, 2))
    rows[0] = 500
    return fitted(unveil.PoissonMixture(2, random_state=0), rows)


def mixed_on_a_value() -> Fitted:
    """Numbers that are all the same wherever the category is "b"."""
    source = random(11)
    words = np.where(source.random(200) < 0.4, "b", "a")
    numbers = np.where(words == "b", 1.5, source.normal(size=200))
    rows = np.empty((200, 2), dtype=object)
    rows[:, 0], rows[:, 1] = numbers, words
    return fitted(unveil.MixedMixture(2, random_state=0), rows)


def more_clusters_than_points() -> Fitted:
    rows = np.repeat([[0.0, 0.0], [1.0, 1.0], [5.0, 2.0]], 30, axis=0)
    return fitted(unveil.KMeans(5, random_state=0), rows)


def more_medoids_than_points() -> Fitted:
    rows = np.repeat([[0.0, 0.0], [1.0, 1.0], [5.0, 2.0]], 30, axis=0)
    return fitted(unveil.KMedoids(5, random_state=0), rows)


def state_on_three_rows() -> Fitted:
    """A chain whose second state has three steps, of 120 with four columns."""
    rows = random(12).normal(size=(120, 4))
    rows[60:63] += 30.0
    return fitted(unveil.GaussianHMM(2, random_state=0), rows)


def chain_of_few_rows() -> Fitted:
    """124 steps, 69 parameters: 1.8 of them for each."""
    return fitted(unveil.GaussianHMM(5, random_state=0), random(13).normal(size=(124, 3)))


def stuck_sensor() -> Fitted:
    """A chain one state of which is a sensor that shows the same number."""
    rows = random(14).normal(size=(300, 1))
    rows[100:180] = 0.25
    return fitted(unveil.GaussianHMM(2, random_state=0), rows)


def symbols_of_few_steps() -> Fitted:
    """30 steps of six symbols, five states: 54 parameters."""
    return fitted(unveil.CategoricalHMM(5, random_state=0), random(15).integers(0, 6, (30, 1)))


def mixed_chain_of_few_rows() -> Fitted:
    source = random(16)
    rows = np.empty((30, 3), dtype=object)
    rows[:, 0], rows[:, 1] = source.normal(size=30), source.normal(size=30)
    rows[:, 2] = np.array([*"abc"])[source.integers(0, 3, 30)]
    return fitted(unveil.MixedHMM(4, random_state=0), rows)


def grammar_of_few_words() -> Fitted:
    """All rules over six symbols, from four short sentences."""
    sentences = ["the dog saw a cat", "a cat saw the dog", "the cat ran", "a dog saw the cat"]
    return fitted(unveil.PCFG(n_nonterminals=6, random_state=0), sentences)


def heywood() -> Fitted:
    """A column that is in the table twice: the factor is that column, and its own noise is nothing."""
    rows = random(17).normal(size=(200, 5))
    return fitted(unveil.FactorAnalysis(1, random_state=0), np.column_stack([rows, rows[:, 0]]))


def more_columns_than_rows() -> Fitted:
    source = random(18)
    y = np.repeat([0, 1], 15)
    return fitted(unveil.LinearDiscriminantAnalysis(), source.normal(size=(30, 40)), y=y)


CASES = (
    Planted("identical rows", identical_rows, "sound", NO, FLAT),
    Planted("a constant column", constant_column, "sound", NO, FLAT),
    Planted("a column of three values", three_values, "sound", NO, FLAT),
    Planted("a collinear column", collinear_column, "sound", NO, FLAT),
    Planted("a component on one row", component_on_a_row, "sound", NO, FEW),
    Planted("a third of a row per parameter", third_of_a_row_per_parameter, "sound", NO, DEGENERATE),
    Planted("StudentMixture on a point", student_on_a_point, "sound", NO, FLAT),
    Planted("BernoulliMixture on few rows", bernoulli_on_few_rows, "sound", SUSPECT, FEW),
    Planted("CategoricalMixture on few rows", categories_on_few_rows, "sound", NO, FEW),
    Planted("PoissonMixture with a component on one row", count_on_a_row, "sound", SUSPECT, FEW),
    Planted("MixedMixture on one number", mixed_on_a_value, "sound", NO, FLAT),
    Planted(
        "KMeans with more clusters than points",
        more_clusters_than_points,
        "sound",
        SUSPECT,
        FEW | {"distinct", "left_empty"},
    ),
    Planted(
        "KMedoids with more clusters than points",
        more_medoids_than_points,
        "sound",
        SUSPECT,
        FEW | {"distinct", "left_empty"},
    ),
    Planted("GaussianHMM with a state on three rows", state_on_three_rows, "sound", NO, FEW),
    Planted("GaussianHMM with 1.8 rows per parameter", chain_of_few_rows, "sound", SUSPECT, FEW),
    Planted("GaussianHMM on a stuck sensor", stuck_sensor, "sound/describes", SUSPECT, FLAT | {"discrete", "margin"}),
    Planted("CategoricalHMM on few steps", symbols_of_few_steps, "sound", SUSPECT, FEW),
    Planted("MixedHMM on few steps", mixed_chain_of_few_rows, "sound", SUSPECT, FEW),
    Planted("PCFG on few words", grammar_of_few_words, "sound", SUSPECT, FEW),
    Planted("FactorAnalysis with a column twice", heywood, "sound", SUSPECT, FLAT | {"noise"}),
    Planted(
        "LinearDiscriminantAnalysis with more columns than rows",
        more_columns_than_rows,
        "sound",
        SUSPECT,
        DEGENERATE | {"rank"},
    ),
)
