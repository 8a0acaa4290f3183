"""Model files of earlier versions open, say what they said, go on by batches, and can be saved again.

`tests/data/models/<version>` holds files that a version wrote, and beside each a JSON with what its model held and
answered then. What is only read from a file is the same to the last bit on any machine. What is computed from it may
differ in the last digits between processors and versions of BLAS: whole numbers and words are compared exactly, others
to 1e-12 of their own size or of the largest beside them, and to 1e-9 after another M step, which may be ill-conditioned
(a factor analysis with a noise variance near 0 differed by 6e-12 with OpenBLAS as on Haswell). That a model saved anew
answers in the same bits is exact.
"""

from __future__ import annotations

import json
from functools import cache
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import unveil
from tests.data.models.record import answers, attributes, gone_on, plain, rebuilt

MODELS = Path(__file__).parent / "data" / "models"
FILES = sorted(MODELS.glob("*/*.unveil"))
NEAR, NEAR_AFTER_A_STEP = 1e-12, 1e-9
SEARCHED_ANEW = {"FactorAnalysis": 1e-5}  # it goes on by a search, to a tol that tells its noise to half the digits
every = pytest.mark.parametrize("path", FILES, ids=[f"{path.parent.name}/{path.stem}" for path in FILES])


@cache
def said(path: Path) -> Any:
    """What was written down of a model."""
    return json.loads(path.with_suffix(".json").read_text())


def same(found: Any, wanted: Any) -> None:
    """To the last bit; NaN is NaN."""
    assert json.dumps(found) == json.dumps(wanted)


def as_far_as(found: Any, wanted: Any) -> Any:
    """Of dictionaries what is wanted, all of which has to be there; lists and all else whole."""
    if isinstance(wanted, dict):
        return {key: as_far_as(found[key], value) for key, value in wanted.items()}
    if isinstance(wanted, list) and isinstance(found, list) and len(found) == len(wanted):
        return [as_far_as(one, other) for one, other in zip(found, wanted, strict=True)]
    return found


def near(found: Any, wanted: Any, place: str = "", by: float = NEAR) -> None:
    """Of the same form, whole numbers and words equal, others up to rounding."""
    if isinstance(wanted, dict) and wanted.keys() == {"dtype", "shape", "items"}:
        assert (found["dtype"], found["shape"]) == (wanted["dtype"], wanted["shape"]), place
        _near_items(found["items"], wanted["items"], place, by)
    elif isinstance(wanted, dict):
        assert found.keys() == wanted.keys(), place
        for key, value in wanted.items():
            near(found[key], value, f"{place}.{key}", by)
    elif isinstance(wanted, list):
        assert len(found) == len(wanted), place
        for number, value in enumerate(wanted):
            near(found[number], value, f"{place}[{number}]", by)
    else:
        _near_items([found], [wanted], place, by)


def _near_items(found: list[Any], wanted: list[Any], place: str, by: float) -> None:
    inexact = [isinstance(item, float) for item in wanted]
    exact = [not one for one in inexact]
    assert list(compress(found, exact)) == list(compress(wanted, exact)), place
    numbers, others = (np.array(list(compress(items, inexact)), dtype=np.float64) for items in (wanted, found))
    size = np.abs(numbers[np.isfinite(numbers)]).max(initial=0.0)
    np.testing.assert_allclose(others, numbers, rtol=by, atol=by * size, err_msg=place)


def in_use(model: Any, asked: Any) -> dict[str, Any]:
    """What a loaded model says."""
    return answers(model, rebuilt(asked))


def test_every_estimator_has_a_file() -> None:
    public = {name: getattr(unveil, name) for name in unveil.__all__}
    estimators = {
        name for name, value in public.items() if isinstance(value, type) and issubclass(value, BaseEstimator)
    }
    assert len(estimators) >= 21
    assert not estimators - {path.stem.partition("-")[0] for path in FILES}


@every
def test_it_opens_with_all_that_it_held(path: Path) -> None:
    model, wanted = unveil.load(path), said(path)
    assert type(model) is getattr(unveil, path.stem.partition("-")[0])
    parameters = plain(model.get_params(deep=False))
    same({name: parameters[name] for name in wanted["parameters"]}, wanted["parameters"])
    held = {name: plain(getattr(model, name)) for name in wanted["attributes"]}
    if "certificate_" in held:  # a newer one says more of each finding, and no less
        held["certificate_"] = as_far_as(held["certificate_"], wanted["attributes"]["certificate_"])
    same(held, wanted["attributes"])


@every
def test_it_says_what_it_said(path: Path) -> None:
    found, wanted = in_use(unveil.load(path), said(path)["asked"]), said(path)["answers"]
    near({verb: found[verb] for verb in wanted}, wanted)


@every
def test_it_goes_on(path: Path) -> None:
    wanted = said(path)
    if wanted["batch"] is None:
        assert wanted["after"] is None
        return
    found = gone_on(unveil.load(path), rebuilt(wanted["batch"]))
    by = SEARCHED_ANEW.get(path.stem, NEAR_AFTER_A_STEP)
    near({name: found[name] for name in wanted["after"]}, wanted["after"], by=by)


@every
def test_it_can_be_saved_again(path: Path, tmp_path: Path) -> None:
    wanted, model, again = said(path), unveil.load(path), tmp_path / "again.unveil"
    model.save(again)
    loaded = unveil.load(again)
    same(attributes(loaded), attributes(model))
    same(in_use(loaded, wanted["asked"]), in_use(model, wanted["asked"]))
    if wanted["batch"] is not None:
        batch = rebuilt(wanted["batch"])
        same(gone_on(loaded, batch), gone_on(model, batch))
