import pytest
from sklearn.utils import get_tags
from typer import BadParameter

import unveil
from unveil.cli.models import GROUPS, STARTS, ModelName, chosen, listed, named, parameters
from unveil.estimation.persistence import estimator_names
from unveil.mixtures.starts import starts


def test_every_option_of_a_kind_is_a_parameter():
    for kind in (model.kind for model in ModelName):
        assert set(kind.options.values()) <= set(getattr(unveil, kind.estimator)().get_params())


def test_every_estimator_can_be_fitted():
    assert {model.kind.estimator for model in ModelName} == set(estimator_names())


def test_models_say_what_they_take():
    for model in ModelName:
        tags = get_tags(getattr(unveil, model.kind.estimator)()).input_tags
        assert (model.kind.holes, model.kind.words) == (tags.allow_nan, tags.categorical), model


def test_every_model_is_listed_once():
    assert sorted(model.value for group in listed().values() for model in group) == sorted(m.value for m in ModelName)
    assert list(listed()) == list(GROUPS)
    assert all(0 < len(model.kind.line) < 60 for model in ModelName)


def test_models_go_by_their_words_and_classes():
    assert named("KMeans") is named("kmeans") is ModelName.K_MEANS
    assert named("gaussian_mixture") is ModelName.GAUSSIAN_MIXTURE
    with pytest.raises(
        BadParameter, match=r"'gausian-mixture' \(unveil models lists them\); did you mean gaussian-mixture"
    ):
        named("gausian-mixture")


def test_starts_are_those_of_the_estimators():
    assert set(STARTS) == {"auto", *starts.STARTS}


@pytest.mark.parametrize(
    ("option", "given", "meant"),
    [("covariance", "Full", "full"), ("covariance", "eii", "EII"), ("start", "K-Means++", "k-means++")],
)
def test_words_are_taken_in_any_case(option, given, meant):
    assert chosen(option, given) == meant


def test_other_words_are_refused_with_a_hint():
    with pytest.raises(ValueError, match=r"--schedule must be one of batch, .*, got 'bach'; did you mean batch\?"):
        chosen("schedule", "bach")
    with pytest.raises(ValueError, match=r"got 'zzz'$"):
        chosen("expectation", "zzz")


def test_options_become_parameters():
    given = {"components": 3, "start": "furthest", "tol": None}
    assert parameters(ModelName.POISSON_MIXTURE, given, 7) == {
        "n_components": 3,
        "init_params": "furthest",
        "random_state": 7,
    }
    given = {"components": 3, "n_init": 4, "max_iter": 9, "tol": None}
    wanted = {"n_clusters": 3, "n_init": 4, "max_iter": 9, "random_state": 7}
    assert parameters(ModelName.K_MEDOIDS, given, 7) == parameters(ModelName.KERNEL_K_MEANS, given, 7) == wanted
    with pytest.raises(ValueError, match=r"--tol is not an option of kmedoids; it is one of .*, kmeans, kernel"):
        parameters(ModelName.K_MEDOIDS, {"tol": 1e-3}, 7)
    assert parameters(ModelName.PCA, {"components": 2}, 7) == {"n_components": 2}
