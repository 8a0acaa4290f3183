"""Against R's mclust (C. Fraley, A. E. Raftery and L. Scrucca), all fourteen covariance models.

`data/mclust.json` was made by `data/mclust.R`. Started from mclust's own classification, a climb must end where mclust
ends when it is not stopped early, or higher; and from a cold start the best BIC must be at least as good as mclust's.
mclust's BIC has the other sign: the higher the better.
"""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from tests.places import EXAMPLES, TESTS
from unveil import GaussianMixture
from unveil.certificate.certificate import FitWarning

Floats = NDArray[np.float64]
Record = dict[str, Any]
FOLDERS = TESTS / "data", EXAMPLES
MODELS = ["EII", "VII", "EEI", "VEI", "EVI", "VVI", "EEE", "VEE", "EVE", "VVE", "EEV", "VEV", "EVV", "VVV"]
RECORDS: list[Record] = json.loads((TESTS / "data" / "mclust.json").read_text())
CLIMBS = [record for record in RECORDS if record["kind"] == "climb"]
BEST = {record["data"]: record for record in RECORDS if record["kind"] == "best"}
AGREE = 1e-6  # relative


def table(name: str) -> Floats:
    """A table by name; "waiting" is one column of another."""
    if name == "waiting":
        return table("faithful")[:, 1:]
    path = next(folder / f"{name}.csv" for folder in FOLDERS if (folder / f"{name}.csv").exists())
    return np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)


TABLES = {name: table(name) for name in BEST}


def named(record: Record) -> str:
    return f"{record['data']}-{record['model']}-{record['k']}"


def word(record: Record) -> str:
    """The name of a record's model; with one column mclust has names of its own."""
    model = str(record["model"])
    return {"E": "EII", "V": "VII"}.get(model, model)


def fitted(record: Record, model: str, k: int, **settings: Any) -> GaussianMixture:
    """A fit without `reg_covar`; what the certificate says of it is no matter here."""
    mixture = GaussianMixture(k, covariance_type=model, reg_covar=0.0, max_iter=20_000, random_state=0, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", FitWarning)
        return mixture.fit(TABLES[record["data"]])


def climb(record: Record) -> GaussianMixture:
    """EM from mclust's classification, M step first, until it stands still."""
    classes = np.array(list(record["classes"]), dtype=int) - 1
    first = np.eye(record["k"])[classes]
    return fitted(record, word(record), record["k"], responsibilities_init=first, tol=1e-10)


def log_likelihood(model: GaussianMixture, X: Floats) -> float:
    return model.score(X) * len(X)


def n_parameters(model: GaussianMixture, X: Floats) -> float:
    """Free parameters, as the BIC counts them."""
    return (model.bic(X) + 2 * log_likelihood(model, X)) / float(np.log(len(X)))


def at_least(found: float, known: float) -> bool:
    """Equal but for a millionth, or more."""
    return found >= known - AGREE * abs(known)


def test_the_records_are_complete() -> None:
    assert {(r["data"], r["model"], r["k"]) for r in CLIMBS} == {
        (data, model, k) for data in ("faithful", "iris") for model in MODELS for k in range(1, 6)
    }
    assert all(len(r["classes"]) == len(TABLES[r["data"]]) for r in CLIMBS)


@pytest.mark.parametrize("record", [r for r in CLIMBS if r["bic"] is not None], ids=named)
def test_a_climb_ends_where_mclusts_does_or_higher(record: Record) -> None:
    """It is higher in VVE: mclust turns the common axes as if all volumes were equal, so its M step is not the best."""
    X, model = TABLES[record["data"]], climb(record)
    assert model.converged_
    assert n_parameters(model, X) == pytest.approx(record["parameters"], abs=1e-6)
    assert at_least(log_likelihood(model, X), record["log_likelihood"])
    assert at_least(-model.bic(X), record["bic"])
    if record["model"] != "VVE":
        assert log_likelihood(model, X) == pytest.approx(record["log_likelihood"], rel=AGREE)
        assert -model.bic(X) == pytest.approx(record["bic"], rel=AGREE)


@pytest.mark.parametrize("record", [r for r in CLIMBS if r["bic"] is None], ids=named)
def test_a_climb_is_finite_where_mclust_fails(record: Record) -> None:
    X, model = TABLES[record["data"]], climb(record)
    assert np.all(np.isfinite(model.score_samples(X)))
    assert np.all(np.isfinite(model.covariances_))
    assert n_parameters(model, X) == pytest.approx(record["parameters"], abs=1e-6)


@pytest.mark.parametrize("record", BEST.values(), ids=named)
def test_mclusts_choice_climbs_at_least_as_high(record: Record) -> None:
    X, model = TABLES[record["data"]], climb(record)
    assert n_parameters(model, X) == pytest.approx(record["parameters"], abs=1e-6)
    assert at_least(-model.bic(X), max(record["bic"], record["default_bic"]))


# -- cold starts -------------------------------------------------------------------------------------------------------


def candidates(best: Record) -> list[tuple[str, int]]:
    """All models with mclust's best number of components, and its best model with one more and one less."""
    k = int(best["k"])
    return [*((model, k) for model in MODELS), (word(best), k - 1), (word(best), k + 1)]


@pytest.mark.parametrize("best", BEST.values(), ids=named)
def test_the_best_bic_from_a_cold_start_is_at_least_as_good_as_mclusts(best: Record) -> None:
    """Spikes do not count: without `reg_covar` they fall to the floor, which the history tells of."""
    X = TABLES[best["data"]]
    fits = [fitted(best, model, k, tol=1e-6) for model, k in candidates(best)]
    sound = [-model.bic(X) for model in fits if model.history_.events.get("floored", 0) == 0]
    assert at_least(max(sound), best["default_bic"])
