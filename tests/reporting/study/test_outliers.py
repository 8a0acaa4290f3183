import numpy as np

from tests.reporting.study.made import analysed, blobs, visits
from unveil.reporting.study.outliers import _known_precision


def test_planted_rows_are_found_with_the_cells_that_make_them_so():
    frame = blobs(400, d=3)
    frame.loc[7, "x1"] = 60.0
    frame.loc[300, "x2"] = -50.0
    found = analysed(frame, max_components=3)
    cells = {one.row: one.cells for one in found.outliers.rows}
    assert {7, 300} <= cells.keys()
    assert cells[7][0] == 1
    assert cells[300][0] == 2
    assert found.outliers.scores[7] > found.outliers.limit


def test_healthy_rows_are_hardly_ever_listed():
    found = analysed(blobs(1000, seed=4))
    assert found.outliers.beyond <= 3
    order = np.sort(found.outliers.scores)
    assert 0.2 < np.mean(order > np.log10(3)) < 0.45  # a third of the rows is less likely than a third of draws


def test_rows_with_holes_are_compared_with_their_like():
    frame, _ = visits(500, seed=5)
    frame.loc[3, "spent"] = 400.0
    found = analysed(frame)
    worst = found.outliers.rows[0]
    assert worst.row == 3
    assert found.rows.names[worst.cells[0]] == "spent"
    assert found.outliers.beyond <= 4


def test_cells_of_wide_rows_with_holes_are_held_against_the_rest_by_one_inverse():
    random = np.random.default_rng(3)
    turn = random.normal(size=(6, 6))
    covariance, away = turn @ turn.T + np.eye(6), random.normal(size=(40, 6))
    known = np.array([True, False, True, True, False, True])
    seen = covariance[np.ix_(known, known)]
    for j in range(4):
        rest = np.delete(np.arange(4), j)
        pull = seen[j, rest] @ np.linalg.inv(seen[np.ix_(rest, rest)])
        variance = seen[j, j] - pull @ seen[rest, j]
        pulled, diagonal = _known_precision(np.linalg.inv(covariance), known, away[:, known])
        expected = (away[:, known][:, j] - away[:, known][:, rest] @ pull) / np.sqrt(variance)
        np.testing.assert_allclose((pulled / np.sqrt(diagonal))[:, j], expected, rtol=1e-10)
