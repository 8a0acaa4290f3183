"""Tables with a known answer, prepared and analysed."""

import numpy as np
import pandas as pd

from unveil.reporting.study.analysis import analyse
from unveil.reporting.study.settings import Settings
from unveil.tables.preparation import prepare


def blobs(n=120, d=2, apart=9.0, seed=0):
    """Two round groups in numbers."""
    rows = np.random.default_rng(seed).normal(size=(n, d)) + apart * np.repeat([[0.0], [1.0]], n // 2, axis=0)
    return pd.DataFrame(rows, columns=[f"x{j}" for j in range(d)])


def visits(n=300, seed=0):
    """Three groups in a number, a count, a category and a yes/no column, with holes, and an identifier."""
    random = np.random.default_rng(seed)
    group = random.integers(0, 3, n)
    spent = np.array([10.0, 30.0, 60.0])[group] + random.normal(0, 3, n)
    spent[random.random(n) < 0.1] = np.nan
    device = np.array(["phone", "tablet", "desktop"])[np.where(random.random(n) < 0.9, group, random.integers(0, 3, n))]
    clicks = random.poisson(np.array([1.0, 3.0, 6.0])[group])
    member = random.random(n) < np.array([0.1, 0.5, 0.9])[group]
    keys = [f"V-{number:05d}" for number in random.permutation(n)]
    frame = {"visit_id": keys, "spent": spent, "device": device, "clicks": clicks, "member": member}
    return pd.DataFrame(frame), group


def analysed(data, *, max_components=4, **asked):
    return analyse(prepare(data, **asked), Settings(max_components=max_components))
