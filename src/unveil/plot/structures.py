"""The structures of covariance in plain words: what all groups share, and what each has for itself.

mclust's three letters say whether size, shape and direction are equal (E) or vary (V), or whether there is none (I):
round has neither shape nor direction, and a shape along the columns has no direction of its own.
"""

from __future__ import annotations

SHAPES = {
    "full": "each with its own size, shape and direction",
    "tied": "all of one size, shape and direction",
    "diag": "each with its own spread along every column",
    "spherical": "each round, with its own size",
    "EII": "all round and of one size",
    "VII": "each round, with its own size",
    "EEI": "all of one size and shape along the columns",
    "VEI": "all of one shape along the columns, each with its own size",
    "EVI": "all of one size, each with its own shape along the columns",
    "VVI": "each with its own spread along every column",
    "EEE": "all of one size, shape and direction",
    "VEE": "all of one shape and direction, each with its own size",
    "EVE": "all of one size and direction, each with its own shape",
    "VVE": "all of one direction, each with its own size and shape",
    "EEV": "all of one size and shape, each with its own direction",
    "VEV": "all of one shape, each with its own size and direction",
    "EVV": "all of one size, each with its own shape and direction",
    "VVV": "each with its own size, shape and direction",
}
"""After "three groups, "."""

GLOSSES = {
    "full": "each its own shape",
    "tied": "one shape for all",
    "diag": "along the columns",
    "spherical": "round",
    "EII": "round, one size",
    "VII": "round",
    "EEI": "along the columns, one size and shape",
    "VEI": "along the columns, one shape",
    "EVI": "along the columns, one size",
    "VVI": "along the columns",
    "EEE": "one size, shape and direction",
    "VEE": "one shape and direction",
    "EVE": "one size and direction",
    "VVE": "one direction",
    "EEV": "one size and shape",
    "VEV": "one shape",
    "EVV": "one size",
    "VVV": "nothing shared",
}
"""What is shared, in a few words."""

NAMES = {word: word for word in SHAPES} | {"diag": "diagonal"}
"""What people call each."""


def legend(word: str) -> str:
    """Name and gloss, for a line in a figure; a word that is no structure stays as it is.

    >>> legend("diag"), legend("VEV"), legend("anything")
    ('diagonal: along the columns', 'VEV: one shape', 'anything')
    """
    return f"{NAMES[word]}: {GLOSSES[word]}" if word in GLOSSES else word


def said(word: str) -> str:
    """The structure before a reader who need not know mclust's letters.

    >>> said("full"), said("VEV")
    ('full covariance', 'VEV covariance (one shape)')
    """
    gloss = f" ({GLOSSES[word]})" if word.isupper() else ""
    return f"{NAMES[word]} covariance{gloss}"
