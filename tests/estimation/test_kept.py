"""What is made of attributes is made once, and anew when one of them changes, however it does."""

from __future__ import annotations

import gc
import pickle
from copy import copy, deepcopy
from threading import Thread
from weakref import ref

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

from unveil import GaussianMixture
from unveil.estimation.kept import COPIED_BYTES, Kept, contents
from unveil.families.gaussian import GaussianParams


class Face(BaseEstimator):
    def __init__(self, width=1.0, engine=None, tol=1e-3, families=None):
        self.width = width
        self.engine = engine
        self.tol = tol
        self.families = families


def fitted(**settings):
    face = Face(**settings)
    face.means_, face.large_ = np.arange(6.0).reshape(3, 2), np.zeros(COPIED_BYTES)
    face.words_ = [np.array(["a", "b"], dtype=object), None]
    face.params_ = GaussianParams(np.zeros((2, 1)), np.ones((2, 1, 1)), np.zeros((2, 1)))
    face.history_, face._stream = [1.0], object()
    return face


def recorder(**settings):
    """Something to keep, and a list of how often it was made."""
    made = []

    def make(estimator):
        made.append(estimator.width)
        return len(made), estimator.engine

    return Kept(make, **settings), made


def test_it_is_made_once():
    kept, made = recorder()
    face = fitted()
    assert [kept(face)[0] for _ in range(5)] == [1] * 5
    assert kept(fitted())[0] == 2
    assert kept(face)[0] == 1
    assert len(made) == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda face: face.set_params(width=2.0),
        lambda face: setattr(face, "width", 1),  # a whole number is not 1.0
        lambda face: setattr(face, "means_", face.means_ + 1),
        lambda face: face.means_.__setitem__((0, 0), 3.0),
        lambda face: face.means_.__setitem__((0, 0), -0.0),
        lambda face: setattr(face, "means_", face.means_.reshape(2, 3)),
        lambda face: setattr(face, "means_", face.means_.astype(np.float32)),
        lambda face: face.large_.__setitem__(-1, 1e-300),
        lambda face: face.words_[0].__setitem__(1, "c"),
        lambda face: face.words_.append(None),
        lambda face: face.params_.covariances.__setitem__(0, 2.0),
        lambda face: setattr(face, "more_", 1),
        lambda face: delattr(face, "words_"),
        lambda face: setattr(face, "families", {"a": [0]}),
        lambda face: setattr(face, "families", {1, 2}),
    ],
)
def test_changes_are_noticed(change):
    kept, _ = recorder()
    face = fitted()
    assert kept(face)[0] == 1
    change(face)
    assert kept(face)[0] == 2
    assert kept(face)[0] == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda face: setattr(face, "means_", face.means_.copy()),
        lambda face: setattr(face, "means_", np.asfortranarray(face.means_)),
        lambda face: face.set_params(tol=1e-9),
        lambda face: face.history_.append(2.0),
        lambda face: setattr(face, "_stream", None),
        lambda face: setattr(face, "remark", lambda: None),
    ],
)
def test_what_it_does_not_depend_on(change):
    kept, _ = recorder(apart=("remark",))
    face = fitted()
    kept(face)
    change(face)
    assert kept(face)[0] == 1


def test_numbers_that_are_none_are_the_same():
    kept, _ = recorder()
    face = fitted(width=float("nan"))
    face.means_[0] = np.nan
    kept(face)
    face.width, face.means_ = float("nan"), face.means_.copy()
    assert kept(face)[0] == 1


def test_what_cannot_be_told_is_made_each_time():
    kept, _ = recorder()
    face = fitted(families=lambda: None)
    assert [kept(face)[0] for _ in range(3)] == [1, 2, 3]


def test_objects_told_by_identity():
    """Even those of which nothing else could be told."""
    kept, _ = recorder(same=("engine",))
    face = fitted(engine=lambda: None)
    assert kept(face) == kept(face) == (1, face.engine)
    face.engine = lambda: None
    assert kept(face) == (2, face.engine)


def test_it_does_not_travel():
    kept, _ = recorder()
    face = fitted()
    names, size = set(vars(face)), len(pickle.dumps(clone(face)))
    kept(face)
    assert set(vars(face)) == names
    assert len(pickle.dumps(clone(face))) == size
    for number, other in enumerate((copy(face), deepcopy(face), clone(face))):
        assert kept(other)[0] == 2 + number
    assert kept(face)[0] == 1


def test_a_copy_that_shares_arrays():
    kept, _ = recorder()
    face = fitted()
    twin = copy(face)
    assert (kept(face)[0], kept(twin)[0]) == (1, 2)
    twin.means_[0] = 9.0
    assert (kept(face)[0], kept(twin)[0]) == (3, 4)


def test_it_goes_with_the_estimator():
    kept, _ = recorder()
    face = fitted()
    gone = ref(face)
    kept(face)
    del face
    gc.collect()
    assert gone() is None
    assert not len(kept._kept)


def test_making_it_may_add_attributes_and_change_none():
    def settle(estimator):
        estimator.n_features_in_ = 2
        estimator.width += estimator.families is not None

    made = []
    kept = Kept(lambda estimator: settle(estimator) or made.append(estimator))
    steady, moving = fitted(), fitted(families=["moves"])
    for face in (steady, steady, moving, moving):
        kept(face)
    assert made == [steady, moving, moving]


def test_threads_get_what_belongs_to_their_estimator():
    kept = Kept(lambda estimator: estimator.means_.sum())
    faces = [fitted() for _ in range(8)]
    wrong = []

    def work(face, number):
        for turn in range(50):
            face.means_ = np.full((3, 2), float(number + turn))
            if kept(face) != 6.0 * (number + turn):
                wrong.append((number, turn))

    threads = [Thread(target=work, args=pair) for pair in zip(faces, range(8), strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_fitted_mixture():
    rows = np.random.default_rng(0).normal(size=(50, 2))
    model = GaussianMixture(2, random_state=0).fit(rows)
    kept = Kept(lambda estimator: estimator._from_attributes())
    first = kept(model)
    assert kept(model) is first
    model.fit(rows + 1)
    again = kept(model)
    assert again is not first
    model.covariances_[0, 0, 0] *= 2
    assert kept(model) is not again


def test_contents_are_not_confused():
    things = [
        None,
        False,
        0,
        0.0,
        -0.0,
        "",
        b"",
        [],
        (),
        {},
        [0],
        (0,),
        {0: 0},
        np.zeros(0),
        np.zeros(1),
        np.float64(0),
    ]
    seen = [contents(one) for one in things]
    assert all((a == b) == (i == j) for i, a in enumerate(seen) for j, b in enumerate(seen))
