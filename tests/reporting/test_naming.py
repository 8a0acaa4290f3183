import pytest

from unveil.certificate import Certificate, Finding
from unveil.reporting.naming import naming_of
from unveil.selection.judged import Judged

SAID = "22% of the rows of component 0 would be taken for component 12's: the two may be one"


def naming(clusters, severity, n_clusters):
    certificate = Certificate((Finding("clusters", severity, "", question="real"),), clusters=clusters)
    return naming_of(Judged(certificate, n_clusters), len(clusters), ("height", "width"))


def test_components_are_groups_where_each_is_one():
    named = naming((0, 2, 1), "fine", 3)
    assert named.say(SAID) == "22% of the rows of group 1 would be taken for group 13's: the two may be one"
    assert named.say("a component had to be kept from degenerating") == "a component had to be kept from degenerating"
    assert named.say("between components 0 and 1 it falls") == "between groups 1 and 2 it falls"
    assert named.say("cluster 1 comes back") == "group 3 comes back"  # cluster 1 is that of component 2
    assert named.merged == []


def test_merged_components_stay_components_of_groups():
    named = naming((0, 1, 0), "fine", 2)
    assert named.say("components 0 and 2 are one cluster") == "components 1 and 3 are one group"
    assert named.say("cluster 1 comes back") == "group 2 comes back"
    assert named.merged == [(0, [0, 2])]


@pytest.mark.parametrize(
    ("clusters", "severity", "n_clusters"),
    [((0, 0), "warning", 1), ((0, 1), "doubt", None), ((0, 1), "fine", 1), ((0,), "note", 1)],
    ids=["one cluster", "doubtful", "another model has the say", "one component"],
)
def test_no_groups_no_such_name(clusters, severity, n_clusters):
    named = naming(clusters, severity, n_clusters)
    assert not named.apart
    assert named.say("component 0 and cluster 0") == "component 1 and cluster 1"


def test_columns_go_by_name():
    named = naming((0,), "note", 1)
    assert named.say("column 1 has heavy tails; column 7") == "column width has heavy tails; column 7"
    assert named.say("columns 0 and 1, columns of numbers") == "columns height and width, columns of numbers"
