import numpy as np
import pandas as pd

from tests.reporting.study.made import analysed, blobs, visits


def test_a_label_is_set_against_the_groups():
    frame, group = visits()
    frame["truth"] = np.array(["a", "b", "c"])[group]
    found = analysed(frame, label="truth")
    assert "truth" not in found.rows.names
    assert found.label.agreement > 0.9
    assert found.label.words == "almost the same"
    assert found.label.table.sum() == len(frame)


def test_a_label_without_classes_says_nothing():
    frame = blobs()
    frame["truth"] = "same"
    assert analysed(frame, label="truth").label is None


def test_regimes_follow_the_time_column():
    random = np.random.default_rng(0)
    level = np.repeat([0.0, 6.0, 0.0, 6.0], 60)
    frame = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=240), "load": level + random.normal(size=240)})
    found = analysed(frame.sample(frac=1, random_state=1), time="day")
    assert found.time.n_states == 2
    changes = np.flatnonzero(np.diff(found.time.states)) + 1
    assert changes.tolist() == [60, 120, 180]
    assert found.time.ahead.mean.shape == (24, 1)
    assert np.all(np.diff(found.time.stamps) > np.timedelta64(0))


def test_groups_that_take_turns_at_random_are_no_regimes():
    frame = blobs(240).sample(frac=1, random_state=2).assign(day=pd.date_range("2024-01-01", periods=240))
    found = analysed(frame, time="day")
    assert found.found.judged.n_clusters == 2
    assert found.time.chain.n_components == 2
    assert not found.time.lasting
    assert found.time.n_states == 1
