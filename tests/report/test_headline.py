"""The first paragraph says no more than the three verdicts do."""

from dataclasses import replace

import numpy as np
import pytest

from unveil.certificate import Certificate, Finding
from unveil.report.analysis import Settings, analyse
from unveil.report.headline import choice, summary
from unveil.report.page import render
from unveil.report.reproduce import ReportRequest
from unveil.report.table import open_table
from unveil.report.write import content
from unveil.selection.alternatives import Alternative

STRENGTH = ("evidence", "very strong", "trusted", "rival")
BLOBS = np.repeat([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]], 100, axis=0)


def look(X, most=4):
    return analyse(open_table(X, None, None), Settings(most, 0, "auto"))


def page(found):
    return render(content(found, ReportRequest("r.html", None, None, 4)))


@pytest.fixture(scope="module")
def blobs():
    return look(np.random.default_rng(0).normal(size=(300, 2)) + BLOBS)


def uniform(random):
    return random.uniform(size=(300, 2))


def heavy_tails(random):
    return random.standard_t(3, size=(400, 2))


def outliers(random):
    return np.concatenate([random.normal(size=(300, 2)), random.uniform(-12, 12, size=(5, 2))])


@pytest.mark.parametrize("table", [uniform, heavy_tails, outliers])
def test_noise_has_no_groups(table):
    found = look(table(np.random.default_rng(0)))
    assert len(found.model.weights_) > 1  # BIC takes several components
    text = summary(found)
    assert "There are no groups: " in text
    assert "they form one cluster." in text
    assert not [words for words in STRENGTH if words in text + choice(found)]
    html = page(found)
    assert '>Are the groups real?</span> <strong class="answer">No</strong>' in html
    assert "The components</h2>" in html
    assert "Group 1" not in html
    assert "can be trusted" not in html


def test_a_mixture_that_does_not_describe_the_rows_is_told_with_a_remedy():
    found = look(uniform(np.random.default_rng(0)), most=2)
    assert found.judged.certificate.verdicts["describes"] == "no"
    text = summary(found)
    assert "components come closest to the density" in text
    assert "The mixture does not describe the rows: " in text
    assert found.judged.certificate.reasons("describes")[0].remedy in text
    assert "What to try: more components" in page(found)


def test_three_blobs_are_three_groups(blobs):
    text = summary(blobs)
    assert "There are three groups, " in text
    assert "They hold 33%, 33% and 33% of the rows." in text
    assert "The evidence of BIC against the next best number, four groups with" in text
    html = page(blobs)
    assert html.count('<strong class="answer">Yes</strong>') == 6  # at the top, and with their findings
    assert "The groups</h2>" in html
    assert "Group 3" in html


def test_lights_are_never_without_words(blobs):
    html = page(blobs)
    assert html.count('class="light"') == html.count('class="answer"') == 6


def test_one_gaussian_has_no_groups_and_its_equal_is_no_rival():
    X = np.random.default_rng(0).multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], size=200)
    found = look(X, most=2)
    assert found.selection.best_params_ == {"n_components": 1, "covariance_type": "full"}
    text = summary(found)
    assert "There are no groups: one component describes the density, and no split into several" in text
    assert "tied" not in text.replace("two components with tied", "")
    assert "differs by 0.0" not in text


def test_what_was_not_tried_is_not_denied():
    text = summary(look(np.random.default_rng(0).normal(size=(6, 2))))
    assert "Groups were not looked for: one component was fitted, and more were not tried." in text


def test_merged_components_are_said():
    random = np.random.default_rng(0)
    angle = random.uniform(0, 2 * np.pi, 400)
    ring = 5 * np.c_[np.cos(angle), np.sin(angle)] + 0.4 * random.normal(size=(400, 2))
    found = look(np.concatenate([ring, 0.5 * random.normal(size=(200, 2)) + [20, 0]]), most=7)
    (cluster, members), *_ = found.naming.merged
    assert f"components {members[0] + 1}, " in summary(found)
    assert f"are group {cluster + 1}." in summary(found)
    assert "They hold 67% and 33% of the rows." in summary(found)
    html = page(found)
    assert "belongs to" in html
    assert f"<td>group {cluster + 1}</td>" in html


def judged(found, n_clusters, *findings, clusters=(0, 1, 2), alternatives=()):
    made = Certificate(tuple(findings), clusters=clusters)
    return replace(
        found, judged=found.judged._replace(certificate=made, n_clusters=n_clusters, alternatives=alternatives)
    )


def test_what_is_not_sound_is_said_first(blobs):
    bad = Finding("spread", "warning", "component 1 lies on a point", remedy="take fewer components", kind="point")
    text = summary(judged(blobs, 3, bad, Finding("clusters", "fine", "3 clusters", question="real")))
    assert text.split(". ")[1] == "The fit is not sound: group 2 lies on a point; take fewer components"


def test_doubts_about_groups_leave_their_number_open(blobs):
    doubt = Finding("clusters", "doubt", "a valley that may be luck", question="real", remedy="more rows would tell")
    text = summary(judged(blobs, None, doubt, clusters=(0, 0, 0)))
    assert "How many groups there are is not clear: a valley that may be luck; more rows would tell." in text
    assert "evidence" not in text


def test_a_better_kind_of_model_has_the_say(blobs):
    other = Alternative("StudentMixture", 1, 55.5, None, np.zeros((1, 2)))
    fine = Finding("clusters", "fine", "3 components form 3 clusters", question="real")
    found = judged(blobs, 1, fine, alternatives=(other,))
    told = "with StudentMixture, one component would describe the rows better (BIC is lower by 55.5)"
    assert f"There are no groups: {told}." in summary(found)
    assert "evidence" not in summary(found)
    assert told in page(found).split("Three verdicts</h2>")[1]


def test_a_degenerate_table_is_not_called_fine():
    a = np.random.default_rng(0).normal(size=100)
    found = look(np.c_[a, 2 * a])
    verdicts = found.judged.certificate.verdicts
    assert set(verdicts.values()) & {"no", "doubtful"}
    assert "There are no groups" in summary(found)
    assert "does not describe the rows" in summary(found) or "not sound" in summary(found)


def test_repeated_values_are_told_by_column():
    values = np.random.default_rng(0).integers(0, 3, size=(200, 1)).astype(float)
    text = summary(look(values))
    assert "column x0: 3 different values" in text
    assert "try CategoricalMixture" in text
    assert "It is doubtful whether the fit is sound" in text
