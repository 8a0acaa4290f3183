from unveil.reporting.paper.marks import full_cell, share, spark_path
from unveil.reporting.parts import Cell


def test_sparks_survive_what_is_no_height():
    assert spark_path([]) == spark_path([0, 0]) == spark_path([float("nan"), -1]) == ""
    assert spark_path([float("inf"), 2]) == "M1 20v-20"
    assert spark_path([1, 1e9]).startswith("M0 20v-1M")  # a bar that is there can be seen
    assert spark_path([1e308, 1e308]).count("v-20") == 2


def test_words_are_a_cell():
    assert full_cell("a") == Cell("a")
    assert full_cell(Cell("a", dot=1)).dot == 1
    assert share(0.5) == "50.0"
