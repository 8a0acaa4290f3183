"""Small tables of every kind, the same in every run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

_random = np.random.default_rng(0)

# rows of three groups, with correlated columns
GROUPS = _random.permutation(np.repeat([0, 1, 2], [70, 50, 30]))
_MIX = np.array([[1.0, 0.5, 0.0, 0.2], [0.0, 0.8, 0.2, 0.0], [0.0, 0.0, 0.6, -0.3], [0.0, 0.0, 0.0, 0.5]])
_CENTRES = np.array([[0.0, 0.0, 0.0, 1.0], [4.0, 1.0, 0.0, 2.0], [0.0, 5.0, 3.0, 4.0]])
ROWS = _CENTRES[GROUPS] + _random.normal(size=(150, 4)) @ _MIX
WEIGHTS = _random.integers(0, 4, 150).astype(np.float64)
CELL_WEIGHTS = _random.gamma(2.0, 1.0, ROWS.shape) * (_random.random(ROWS.shape) < 0.85)
HOLES = np.where(_random.random(ROWS.shape) < 0.12, np.nan, ROWS)
HOLES[7] = ROWS[7]
SCARCE = np.where(_random.random(ROWS.shape) < 0.6, np.nan, ROWS)
SCARCE = SCARCE[~np.isnan(SCARCE).all(axis=1)]
SINGLE = ROWS.astype(np.float32)
TWINS = np.repeat(np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 5.0]]), [12, 9, 4], axis=0)  # fewer rows than clusters

# other shapes: some thousand rows, more columns than kernels for few take, more columns than rows, several partitions
MIDDLE = _random.normal(0, 5, (12, 6))[_random.integers(12, size=3000)] + _random.normal(size=(3000, 6))
WIDE = _random.normal(0, 3, (20, 40))[_random.integers(20, size=400)] + _random.normal(size=(400, 40))
SHORT = _random.normal(size=(30, 3)) @ _random.normal(size=(3, 60)) + 0.1 * _random.normal(size=(30, 60))
BROAD = _random.normal(size=(620, 8)) @ _random.normal(size=(8, 600)) + 0.1 * _random.normal(size=(620, 600))
LARGE_GROUPS = _random.choice(3, 20_000, p=[0.5, 0.3, 0.2])
LARGE = _CENTRES[LARGE_GROUPS, :3] + _random.normal(size=(20_000, 3)) @ _MIX[:3, :3]
LARGE_WEIGHTS = _random.integers(0, 4, 20_000).astype(np.float64)
LARGE_HOLES = np.where(_random.random(LARGE.shape) < 0.05, np.nan, LARGE)
SPARSE = sparse.csr_matrix(
    np.where(_random.random((200, 30)) < 0.15, _random.normal(1.0, 2.0, (200, 30)), 0.0)
    + np.eye(200, 30, 7)
    + np.eye(200, 30, -29) * 2
    + (np.arange(30) == 0)
)

# independent sources, mixed; and a bent line
SOURCES = np.column_stack(
    [_random.laplace(size=600), _random.uniform(-1, 1, 600), _random.exponential(size=600)]
) @ _random.normal(size=(3, 3))
_ANGLES = np.sort(_random.uniform(0, 2.5, 200))
BENT = np.column_stack([3 * np.cos(_ANGLES), 2 * np.sin(_ANGLES), _ANGLES]) + 0.1 * _random.normal(size=(200, 3))
_AROUND = _random.uniform(0, 2 * np.pi, 200)
RING = np.column_stack([3 * np.cos(_AROUND), 2 * np.sin(_AROUND)]) + 0.1 * _random.normal(size=(200, 2))

# yes and no, counts, words, and all of them side by side
BITS = (_random.random((150, 5)) < np.array([[0.1, 0.2, 0.8, 0.5, 0.3], [0.9] * 5, [0.2] * 5])[GROUPS]) * 1.0
COUNTS = _random.poisson(np.array([[1, 5, 9], [8, 1, 2], [3, 3, 20]])[GROUPS]).astype(np.float64)
WORDS = np.array(list("abcd"), dtype=object)[
    np.where(_random.random((150, 3)) < 0.7, GROUPS[:, None], _random.integers(0, 4, (150, 3)))
]
FRAME = pd.DataFrame(
    {
        "height": ROWS[:, 0],
        "weight": ROWS[:, 1],
        "visits": COUNTS[:, 0].astype(int),
        "member": BITS[:, 0] > 0,
        "colour": WORDS[:, 0],
    }
)
HOLED = FRAME.astype(object).mask(_random.random(FRAME.shape) < 0.12)
START = np.where(GROUPS[:, None] == np.arange(3), 0.8, 0.1)  # responsibilities to begin with


def with_holes(table: np.ndarray, share: float = 0.1) -> np.ndarray:
    """The table with some cells missing: NaN among numbers, None among words."""
    gone = np.random.default_rng(3).random(table.shape) < share
    missing: Any = None if table.dtype == object else np.nan
    return np.where(gone, missing, table)


# sequences: states that last, and what they emit
LENGTHS = [90, 1, 60, 49]
STATES = np.concatenate([(np.arange(length) // 12 + number) % 3 for number, length in enumerate(LENGTHS)])
NUMBERS = np.array([[0.0, 0.0], [4.0, 1.0], [1.0, 5.0]])[STATES] + _random.normal(size=(200, 2)) * [[1.0, 0.7]]
STEP_WEIGHTS = _random.integers(1, 3, 200).astype(np.float64)
SEQUENCE_WEIGHTS = [1.0, 2.0, 0.0, 3.0]
NUMBERS_HOLES = NUMBERS.copy()
NUMBERS_HOLES[40:43] = np.nan
NUMBERS_HOLES[100:150:4, 1] = np.nan
SYMBOLS = np.where(_random.random((200, 1)) < 0.75, STATES[:, None], _random.integers(0, 4, (200, 1)))
LETTERS = np.array(list("wxyz"), dtype=object)[np.column_stack([SYMBOLS, _random.permutation(SYMBOLS)])]
VISITS = _random.poisson(np.array([[1, 6], [9, 2], [4, 15]])[STATES]).astype(np.float64)
DIARY = pd.DataFrame(
    {"level": NUMBERS[:, 0], "visits": VISITS[:, 0].astype(int), "open": SYMBOLS[:, 0] > 1, "mood": LETTERS[:, 0]}
)
DIARY_HOLES = DIARY.astype(object).mask(_random.random(DIARY.shape) < 0.1)
DIARY_HOLES.iloc[60:62] = None
LONG_LENGTHS = [12_000, 3, 5_000, 2_997]
LONG_STATES = (np.arange(20_000) // 40) % 3
LONG = np.array([[0.0, 0.0], [4.0, 1.0], [1.0, 5.0]])[LONG_STATES] + _random.normal(size=(20_000, 2))
LONG_SYMBOLS = np.where(_random.random((20_000, 1)) < 0.75, LONG_STATES[:, None], 3)
