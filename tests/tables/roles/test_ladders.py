import random

import pytest

from unveil.tables.roles.ladders import ladder_of

LADDERS = [
    ("low", "medium", "high"),
    ("Very low", "LOW", "High", "very high"),
    ("January", "March", "December"),
    ("Mon", "Wed", "Sunday"),
    ("never", "rarely", "sometimes", "often", "always"),
    ("<5", "5-10", ">10"),
    ("under 18", "18 to 25", "26 to 64", "65 and over"),
    ("$10k - $20k", "$20k - $50k", "$50k+"),
    ("[0, 10)", "[10, 20)", "[20, 100)"),
    ("0-9%", "10-19%", "20-29%"),
    ("1,000-5,000", "5,001-10,000", "10,000+"),
    ("level 1", "level 2", "level 10"),
    ("Q1", "Q2", "Q3", "Q4"),
    ("I", "II", "III", "IV"),
    ("bronze", "silver", "gold"),
    ("mild", "moderate", "severe"),
]


@pytest.mark.parametrize("levels", LADDERS)
def test_the_order_is_found(levels):
    mixed = list(levels)
    random.Random(1).shuffle(mixed)
    assert ladder_of(mixed) == levels


@pytest.mark.parametrize(
    "values", [("a", "b", "c"), ("S", "C", "Q"), ("low", "purple"), ("store 1", "store 2"), ("A", "B")]
)
def test_words_without_an_order(values):
    assert ladder_of(values) is None


def test_letters_are_grades_where_the_name_says_so():
    assert ladder_of(["B", "A", "C"], ("grade",)) == ("A", "B", "C")
