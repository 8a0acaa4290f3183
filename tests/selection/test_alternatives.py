import numpy as np
import pandas

import unveil


def test_columns_may_be_told_by_name():
    random = np.random.default_rng(2)
    frame = pandas.DataFrame(
        {"fare": np.exp(random.normal(size=300)), "kind": np.array(["a", "b"])[random.integers(0, 2, 300)]}
    )
    model = unveil.MixedMixture(families={"fare": "number", "kind": "category"}, random_state=0)
    outcome = unveil.select(model, frame, {"n_components": [1, 2, 3]})
    assert outcome.alternatives[0]["model"] == "the log of fare"
