import pytest

from unveil.judgement.criteria.opinions import at_edge, clusters, known

LINE = [{"n_clusters": size, "bic": None if size == 1 else float(size)} for size in range(1, 9)]


@pytest.mark.parametrize(("size", "edge"), [(1, False), (2, False), (7, False), (8, True)])
def test_the_last_size_is_an_edge_and_the_first_is_not_if_it_is_small(size, edge):
    assert at_edge(size, LINE) is edge


def test_the_first_of_many_is_an_edge_but_not_the_only_one():
    assert at_edge(3, LINE[2:])
    assert not at_edge(3, LINE[2:3])


def test_values_that_are_not_there_are_left_out():
    assert known(LINE[:3], "bic") == [(2, 2.0), (3, 3.0)]
    assert known(LINE, "gap") == []


def test_numbers_in_words():
    assert (clusters(1), clusters(3)) == ("1 cluster", "3 clusters")
