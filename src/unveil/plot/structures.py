"""The structures of covariance in plain words: what all groups share, and what each has for itself.

mclust's three letters say whether size, shape and direction are equal (E) or vary (V), or whether there is none (I):
round has neither shape nor direction, and a shape along the columns has no direction of its own.
"""

from __future__ import annotations

WORDS = {
    "full": ("each with its own size, shape and direction", "each its own shape"),
    "tied": ("all of one size, shape and direction", "one shape for all"),
    "diag": ("each with its own spread along every column", "along the columns"),
    "spherical": ("each round, with its own size", "round"),
    "EII": ("all round and of one size", "round, one size"),
    "VII": ("each round, with its own size", "round"),
    "EEI": ("all of one size and shape along the columns", "along the columns, one size and shape"),
    "VEI": ("all of one shape along the columns, each with its own size", "along the columns, one shape"),
    "EVI": ("all of one size, each with its own shape along the columns", "along the columns, one size"),
    "VVI": ("each with its own spread along every column", "along the columns"),
    "EEE": ("all of one size, shape and direction", "one size, shape and direction"),
    "VEE": ("all of one shape and direction, each with its own size", "one shape and direction"),
    "EVE": ("all of one size and direction, each with its own shape", "one size and direction"),
    "VVE": ("all of one direction, each with its own size and shape", "one direction"),
    "EEV": ("all of one size and shape, each with its own direction", "one size and shape"),
    "VEV": ("all of one shape, each with its own size and direction", "one shape"),
    "EVV": ("all of one size, each with its own shape and direction", "one size"),
    "VVV": ("each with its own size, shape and direction", "nothing shared"),
}
"""Of each structure: what comes after "three groups, ", and what is shared, in a few words."""

SHAPES = {word: shape for word, (shape, _) in WORDS.items()}
GLOSSES = {word: gloss for word, (_, gloss) in WORDS.items()}
NAMES = {word: word for word in SHAPES} | {"diag": "diagonal"}
"""What people call each."""


def legend(word: str) -> str:
    """Name and gloss, for a line in a figure; a word that is no structure stays as it is.

    >>> legend("diag"), legend("VEV"), legend("anything")
    ('diagonal: along the columns', 'VEV: one shape', 'anything')
    """
    return f"{NAMES[word]}: {GLOSSES[word]}" if word in GLOSSES else word


def said(word: str) -> str:
    """The structure before a reader who need know neither its name nor mclust's letters.

    >>> said("full"), said("VEV")
    ('full covariance (each its own shape)', 'VEV covariance (one shape)')
    """
    return f"{NAMES[word]} covariance ({GLOSSES[word]})"
