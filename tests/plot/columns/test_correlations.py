from __future__ import annotations

import numpy as np
import pandas
import pytest

from unveil import plot


def table(n: int = 120) -> pandas.DataFrame:
    random = np.random.default_rng(0)
    size, kind = random.normal(size=n), random.integers(3, size=n)
    cells = {"size": size, "noise": random.normal(size=n), "kind": np.array(list("abc"))[kind]}
    return pandas.DataFrame(cells | {"weight": 2 * size + 0.1 * random.normal(size=n), "price": kind + 0.1 * size})


def test_columns_that_go_together_are_neighbours() -> None:
    names = list(plot.correlations(table()).data[0].x)
    assert abs(names.index("size") - names.index("weight")) == 1
    assert abs(names.index("kind") - names.index("price")) == 1


def test_cells_are_the_associations_and_the_diagonal_is_empty() -> None:
    found = plot.association(table())
    cells = plot.correlations(found).data[0]
    names = list(cells.x)
    i, j = names.index("size"), names.index("weight")
    assert cells.z[i][j] == pytest.approx(found.matrix[0, 3], abs=1e-4)
    assert all(cells.z[k][k] is None for k in range(5))
    assert found.pairs(0.9)[0][:2] in {("size", "weight"), ("kind", "price")}
    assert "no sign" in plot.correlations(found).layout.meta["caption"]


def test_of_many_columns_those_with_ties_are_drawn() -> None:
    X = np.random.default_rng(0).normal(size=(200, 80))
    X[:, 79] = X[:, 3]
    figure = plot.correlations(X, [f"a rather long name of column {number}" for number in range(80)])
    assert len(set(figure.data[0].x)) == 60
    assert "The 60 of 80 columns" in figure.layout.meta["caption"]
    assert {name[-2:] for name in figure.data[0].x} >= {" 3", "79"}


def test_names_are_shown_and_not_interpreted_and_one_column_is_refused() -> None:
    figure = plot.correlations(np.random.default_rng(0).normal(size=(9, 2)), ["<b>$x$</b>", "y"])
    assert figure.data[0].x[0] == "&lt;b&gt;&#36;x&#36;&lt;/b&gt;"
    with pytest.raises(ValueError, match="X must have at least 2 columns to go together, got 1"):
        plot.correlations(np.ones((5, 1)))
