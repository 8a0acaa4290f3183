"""Tables whose reports are looked at as a whole, each with a trouble of its own, and what to ask of the report."""

import numpy as np
import pandas as pd

from tests.places import EXAMPLES
from tests.reporting.study.made import visits


def flowers(folder):
    """Iris with its species, by which groups are held up."""
    from sklearn.datasets import load_iris

    found = load_iris(as_frame=True)
    frame = found.frame.drop(columns="target")
    frame["Species"] = found.target_names[found.target]
    return written(frame, folder / "iris.csv"), {"label": "Species"}


def mixed(folder):
    """Numbers with holes, counts, a category, yes or no, keys of rows, and a label."""
    frame, group = visits()
    frame["Plan"] = np.array(["basic", "Plus", "Gold & more"])[group]
    return written(frame, folder / "visits.csv"), {"label": "Plan"}


def series(folder, n=400):
    """Two regimes that last eighty days each, and a skewed column that is taken by its log."""
    random = np.random.default_rng(0)
    high = (np.arange(n) // 80) % 2 == 1
    frame = pd.DataFrame({"day": pd.date_range("2022-01-01", periods=n).strftime("%Y-%m-%d")})
    frame["load"] = np.where(high, 60, 30) + random.normal(0, 4, n)
    frame["temp"] = np.where(high, 5, 18) + random.normal(0, 3, n)
    frame["wind"] = random.gamma(2, 3, n)
    return written(frame.round(2), folder / "series.csv"), {"time": "day"}


def tall(folder, n=200_000):
    """Four groups in sixteen columns, and many rows."""
    random = np.random.default_rng(0)
    rows = random.normal(0, 3, (4, 16))[random.integers(0, 4, n)] + random.normal(size=(n, 16))
    return written(pd.DataFrame(rows.round(3)).add_prefix("sensor_"), folder / "tall.csv"), {}


def wide(folder, n=1_000):
    """Three groups in three hundred columns."""
    random = np.random.default_rng(0)
    group = random.integers(0, 3, n)
    rows = random.normal(0, 1.2, (3, 300))[group] + random.normal(size=(n, 300))
    return written(pd.DataFrame(rows.round(3)).add_prefix("Gene "), folder / "wide.csv"), {}


def faithful(_folder):
    """Two columns of numbers."""
    return EXAMPLES / "faithful.csv", {}


def written(frame, path):
    frame.to_csv(path, index=False)
    return path


SMALL = {"faithful": faithful, "iris": flowers, "visits": mixed, "series": series}
LARGE = {"tall": tall, "wide": wide}
