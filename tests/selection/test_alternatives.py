import numpy as np
import pandas

import unveil
from unveil.selection.alternatives import tried
from unveil.selection.judged import STRONG


def test_columns_may_be_told_by_name():
    random = np.random.default_rng(2)
    frame = pandas.DataFrame(
        {"fare": np.exp(random.normal(size=300)), "kind": np.array(["a", "b"])[random.integers(0, 2, 300)]}
    )
    model = unveil.MixedMixture(families={"fare": "number", "kind": "category"}, random_state=0)
    outcome = unveil.select(model, frame, {"n_components": [1, 2, 3]})
    assert outcome.alternatives[0]["model"] == "the log of fare"


def test_a_winner_is_fitted_to_the_sample_that_others_are_fitted_to():
    random = np.random.default_rng(0)
    centres = random.normal(0, 4, (4, 12))
    rows = centres[random.integers(0, 4, 6000)] + random.normal(size=(6000, 12)) @ random.normal(size=(12, 12))
    best = unveil.GaussianMixture(4, covariance_type="tied", random_state=0).fit(rows)
    found = tried(best, rows[:800], None, {"n_components": (4,), "covariance_type": ("tied", "full")})
    assert [one.words for one in found] == ["StudentMixture"]
    assert found[0].gain < STRONG  # by 100 and more, if the others alone were fitted to these rows
