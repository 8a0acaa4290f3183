import copy
import json
import logging
import pickle
import struct
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import unveil
from unveil.estimation import registry
from unveil.estimation.persistence import estimator_names
from unveil.storage.file import ModelFileError, read, write

TABLE = np.random.default_rng(7).normal(size=(60, 3)) + 4.0 * np.repeat(np.eye(3), 20, axis=0)
BITS = np.greater(TABLE, np.median(TABLE, axis=0)).astype(np.float64)

FITTED = {
    "PCA": lambda: unveil.PCA(2, whiten=True).fit(TABLE),
    "KMeans": lambda: unveil.KMeans(3, random_state=1).fit(TABLE),
    **{
        f"GaussianMixture {shape}": lambda shape=shape: unveil.GaussianMixture(
            3, covariance_type=shape, random_state=1, means_init=TABLE[::20]
        ).fit(TABLE)
        for shape in registry.STRUCTURES
    },
    "BernoulliMixture": lambda: unveil.BernoulliMixture(2, random_state=1).fit(BITS),
}


@pytest.fixture(params=FITTED)
def model(request):
    return FITTED[request.param]()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.unveil"


@pytest.fixture
def saved(path):
    FITTED["KMeans"]().save(path)
    return path


def answers(model):
    """All that a model says of some rows, as bytes."""
    rows = BITS if type(model) is unveil.BernoulliMixture else TABLE
    verbs = ("predict", "predict_proba", "score_samples", "transform")
    return {verb: np.asarray(getattr(model, verb)(rows)).tobytes() for verb in verbs if hasattr(model, verb)}


def assert_same(one, other):
    assert type(one) is type(other)
    assert repr(one.get_params()) == repr(other.get_params())
    assert answers(one) == answers(other)
    assert str(getattr(one, "certificate_", "")) == str(getattr(other, "certificate_", ""))
    assert getattr(one, "history_", None) == getattr(other, "history_", None)
    fitted = {name for name in vars(one) if name.endswith("_")}
    assert fitted == {name for name in vars(other) if name.endswith("_")}
    for name in fitted:
        left, right = getattr(one, name), getattr(other, name)
        assert type(left) is type(right), name
        np.testing.assert_array_equal(left, right, err_msg=name)
        assert np.asarray(left).dtype == np.asarray(right).dtype, name


def changed(path, **sections):
    """The file at `path` with parts of its header replaced."""
    header, arrays = read(path)
    write(path, {name: sections.get(name, value) for name, value in header.items()}, arrays)
    return path


def test_round_trip_predicts_the_same_bits(model, path):
    model.save(path)
    assert_same(model, unveil.load(path))


def test_second_round_trip_writes_the_same_arrays(model, path):
    model.save(path)
    first = read(path)
    unveil.load(path).save(path)
    second = read(path)
    assert first[0] | {"created": ""} == second[0] | {"created": ""}
    assert {name: array.tobytes() for name, array in first[1].items()} == {
        name: array.tobytes() for name, array in second[1].items()
    }


@pytest.mark.parametrize("copied", [lambda m: pickle.loads(pickle.dumps(m)), copy.copy, copy.deepcopy])
def test_pickle_and_copies_work_too(model, copied):
    assert_same(model, copied(model))


def test_loaded_model_can_be_cloned_and_fitted_again(model, path):
    model.save(path)
    rows = BITS if type(model) is unveil.BernoulliMixture else TABLE
    assert answers(clone(unveil.load(path)).fit(rows)) == answers(model)


@pytest.mark.parametrize("name", estimator_names())
def test_saving_needs_a_fit(name, path):
    with pytest.raises(NotFittedError):
        getattr(unveil, name)().save(path)
    assert not path.exists()


@pytest.mark.parametrize("name", ["KMeans", "GaussianMixture full", "BernoulliMixture"])
def test_partial_fit_goes_on_after_loading(name, path):
    rows = BITS if name == "BernoulliMixture" else TABLE
    ahead = clone(FITTED[name]()).set_params(random_state=3).partial_fit(rows)
    ahead.save(path)
    resumed = unveil.load(path)
    for batch in (rows[::2], rows[1::2]):
        ahead.partial_fit(batch)
        resumed.partial_fit(batch)
    assert answers(resumed) == answers(ahead)


def test_header_tells_what_the_file_holds(path):
    import pandas

    unveil.KMeans(2, random_state=5).fit(pandas.DataFrame(TABLE, columns=["a", "b", "<c>"])).save(path)
    header, _ = read(path)
    assert header["class"] == "KMeans"
    assert header["seed"] == 5
    assert header["feature_names"] == ["a", "b", "<c>"]
    assert header["library_version"] == unveil.__version__
    assert header["not_kept"] == {}
    assert header["created"].endswith("+00:00")
    assert unveil.load(path).feature_names_in_.tolist() == ["a", "b", "<c>"]


@settings(max_examples=25, deadline=None)
@given(
    parameters=st.fixed_dictionaries(
        {},
        optional={
            "tol": st.floats(0, 1e300) | st.just(np.float32(0.1)),
            "max_iter": st.integers(1, 2**70),
            "random_state": st.none() | st.integers(0, 2**32 - 1) | st.integers(0, 9).map(np.int64),
            "verbose": st.booleans(),
            "engine": st.sampled_from(["auto", unveil.engines.Threads(), unveil.engines.Threads(workers=2)]),
            "schedule": st.floats(0.51, 1).map(unveil.schedules.Stepwise) | st.just(unveil.schedules.Batch()),
            "expectation": st.sampled_from([unveil.expectations.Hard(), "hard"]),
            "init": st.sampled_from(["random", TABLE[:3], np.asfortranarray(TABLE[:3]), TABLE[:3].tolist()]),
        },
    )
)
def test_any_storable_parameters_come_back(tmp_path_factory, parameters):
    path = tmp_path_factory.mktemp("any") / "m"
    model = FITTED["KMeans"]().set_params(**parameters)
    model.save(path)
    back = unveil.load(path)
    assert read(path)[0]["not_kept"] == {}
    assert repr(back.get_params()) == repr(model.get_params())
    assert [type(value) for value in back.get_params().values()] == [type(v) for v in model.get_params().values()]


class Client:
    """Something that belongs to its process."""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("random_state", np.random.RandomState(0)),
        ("engine", unveil.engines.Dask(Client())),
        ("schedule", Client()),
        ("init", lambda *_: None),
    ],
)
def test_what_cannot_be_kept_becomes_the_default_and_is_said(name, value, path, caplog):
    model = FITTED["KMeans"]().set_params(**{name: value})
    with caplog.at_level(logging.WARNING, "unveil"):
        model.save(path)
    assert f"{name}=" in caplog.text
    assert "was not kept" in caplog.text
    assert list(read(path)[0]["not_kept"]) == [name]
    assert getattr(unveil.load(path), name) == getattr(unveil.KMeans(), name)


def test_foreign_class_of_a_known_name_is_not_a_part(path):
    impostor = type("Threads", (), {"map_reduce": None})()
    FITTED["KMeans"]().set_params(engine=impostor).save(path)
    assert unveil.load(path).engine == "auto"


def test_subclasses_are_refused_before_anything_is_written(path):
    class KMeans(unveil.KMeans):
        pass

    with pytest.raises(TypeError, match="only unveil's own estimators can be saved"):
        KMeans(2, random_state=0).fit(TABLE).save(path)
    assert not path.exists()


@pytest.mark.parametrize("name", ["os.system", "unveil.KMeans", "builtins:eval", "kmeans", "", None, 3, ["KMeans"]])
def test_unknown_class_is_refused(saved, name):
    with pytest.raises(ModelFileError, match=r"model\.unveil: .*class .* is not known; unveil has BernoulliM.*, KM"):
        unveil.load(changed(saved, **{"class": name}))


@pytest.mark.parametrize("part", ["subprocess:Popen", "os.system", "unveil.engines.threads:Threads", "KMeans", 7, None])
def test_unknown_part_is_refused(saved, part):
    parameters = {"engine": {"part": part, "fields": {"args": ["touch", "x"]}}}
    with pytest.raises(ModelFileError, match=r"part .* is not known; unveil has Threads"):
        unveil.load(changed(saved, parameters=parameters))


@pytest.mark.parametrize(
    ("section", "content", "match"),
    [
        ("parameters", {"n_groups": 3}, "KMeans has no parameter 'n_groups'"),
        ("parameters", {"self": 3}, "KMeans has no parameter 'self'"),
        ("parameters", {"engine": {"part": "Threads", "fields": {"shell": True}}}, "shell"),
        ("parameters", {"engine": {"part": "Threads", "fields": {"workers": -3}}}, "workers must be"),
        ("parameters", {"engine": {"part": "Threads"}}, "has no fields"),
        ("parameters", {"n_clusters": {"pickle": "gASV"}}, "is no stored value"),
        ("parameters", None, "has no parameters"),
        ("attributes", [], "has no attributes"),
        ("attributes", {"cluster_centers_": {"call": "os.system"}}, "is no stored value"),
        ("attributes", {"cluster_centers_": {"array": "gone"}}, "is no stored value"),
        ("attributes", {"__class__": "x"}, "cannot be an attribute"),
        ("attributes", {"__reduce_ex__": 1}, "cannot be an attribute"),
        ("attributes", {"predict": 1}, "cannot be an attribute"),
        ("attributes", {"n_clusters": 1}, "cannot be an attribute"),
        ("attributes", {"a.b_": 1}, "cannot be an attribute"),
        ("attributes", {"history_": {"part": "History", "fields": {}}}, "'columns' is missing"),
        ("attributes", {"certificate_": {"part": "Certificate", "fields": {"findings": [1]}}}, "malformed"),
        ("attributes", {}, "not fitted"),
        ("attributes", {"_callbacks": [1]}, "cannot be an attribute"),
        ("attributes", {"history_": {"part": "Popen", "fields": {}}}, "part 'Popen' is not known"),
        ("attributes", {"_stream": {"part": "Threads", "fields": {}}}, "part 'Threads' is not known"),
    ],
)
def test_header_that_no_save_wrote_is_refused(saved, section, content, match):
    with pytest.raises(ModelFileError, match=match) as caught:
        unveil.load(changed(saved, **{section: content}))
    assert "\n" not in str(caught.value)


def test_deep_nesting_is_refused(saved):
    deep = 1
    for _ in range(400):
        deep = [deep]
    with pytest.raises(ModelFileError):
        unveil.load(changed(saved, parameters={"n_clusters": {"tuple": 3}, "tol": deep}))


def test_malicious_file_imports_nothing_and_runs_nothing(saved, tmp_path):
    changed(
        saved, parameters={"engine": {"part": "antigravity:Popen", "fields": {"x": ["touch", str(tmp_path / "x")]}}}
    )
    script = (
        "import sys, unveil, unveil.clusters.kmeans.kmeans\n"
        "before = set(sys.modules)\n"
        "try:\n    unveil.load(sys.argv[1])\nexcept ValueError as error:\n    print(type(error).__name__)\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(sorted(new - {'unveil', 'safetensors'} - set(sys.stdlib_module_names)), 'antigravity' in new)\n"
    )
    ran = subprocess.run([sys.executable, "-c", script, str(saved)], capture_output=True, text=True, check=True)
    assert ran.stdout.split("\n")[:2] == ["ModelFileError", "[] False"]
    assert not (tmp_path / "x").exists()


def test_huge_sizes_are_refused(path):
    header = json.dumps({"format_version": 1, "class": "KMeans", "arrays": {"a": "rows"}})
    tensor = {"dtype": "F64", "shape": [2**40], "data_offsets": [0, 2**43]}
    text = json.dumps({"__metadata__": {"unveil": header}, "a": tensor}).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text)
    with pytest.raises(ModelFileError, match="damaged or cut short"):
        unveil.load(path)
