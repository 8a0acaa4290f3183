import pytest

from unveil.estimation.registry import STRUCTURES
from unveil.plot.structures import GLOSSES, NAMES, SHAPES, legend, said

SYNONYMS = {"full": "VVV", "tied": "EEE", "diag": "VVI", "spherical": "VII"}


def test_every_structure_has_words():
    assert set(SHAPES) == set(GLOSSES) == set(NAMES) == set(STRUCTURES)


@pytest.mark.parametrize(("old", "new"), SYNONYMS.items())
def test_synonyms_are_said_alike(old, new):
    assert SHAPES[old] == SHAPES[new]


@pytest.mark.parametrize("word", [word for word in STRUCTURES if word.isupper() and not word.endswith("I")])
def test_letters_are_said_as_they_are(word):
    own = SHAPES[word].partition("each with its own")[2]
    for letter, what in zip(word, ("size", "shape", "direction"), strict=True):
        assert (what in own) is (letter == "V")


def test_few_words_with_the_name():
    assert legend("EII") == "EII: round, one size"
    assert said("tied") == "tied covariance (one shape for all)"
