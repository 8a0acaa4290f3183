"""A third of the tables of trust, and that the tables can tell: what they ask, and when they say that it is missed.

All of them are in `make trust`.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import unveil
from benchmarks.trust import __main__ as command
from benchmarks.trust import catalogues, clustered, columns, field, kinds, mclust, numbers, peers, report, structureless
from benchmarks.trust.healthy import HEALTHY
from benchmarks.trust.numbers import Answer
from benchmarks.trust.planted import CATALOGUE
from benchmarks.trust.planted.case import NO, Planted
from benchmarks.trust.tables import POWER, SIZE, Key, Table, power_tables, size_tables
from unveil.certificate import Certificate, Finding

ESTIMATORS = {
    *("PCA", "ProbabilisticPCA", "FactorAnalysis", "LinearDiscriminantAnalysis", "ICA", "PrincipalCurve"),
    *("GenerativeTopographicMap", "KMeans", "KernelKMeans", "KMedoids", "GaussianMixture", "BernoulliMixture"),
    *("CategoricalMixture", "PoissonMixture", "StudentMixture", "MixedMixture", "GaussianHMM", "CategoricalHMM"),
    *("PoissonHMM", "MixedHMM", "PCFG"),
}
PLANTED = catalogues.chosen(CATALOGUE, third=True)
WELL = catalogues.chosen(HEALTHY, third=True)
WRONG_AT_MOST = 1  # of the slices of size and power: of 15 and 10 tables


def test_a_failure_is_caught_by_the_right_verdict_for_a_right_reason():
    case = Planted("", lambda: None, "sound", NO, frozenset({"point"}))
    said = [Finding("a", severity, "", kind=kind) for severity, kind in (("warning", "point"), ("warning", "bound"))]
    assert case.caught(Certificate((said[0],)))
    assert not case.caught(Certificate((said[1],)))
    assert not case.caught(Certificate((Finding("a", "doubt", "", kind="point"),)))
    assert not case.caught(Certificate((Finding("a", "warning", "", question="real", kind="point"),)))


@pytest.mark.parametrize("name", PLANTED)
def test_planted_failures_are_caught(name):
    case = PLANTED[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", unveil.certificate.FitWarning)
        found = catalogues.examined(name, case.make)
    assert case.caught(found.certificate), case.said(found.certificate)


@pytest.fixture(scope="module")
def alarms():
    """What was said of healthy fits so far; some few may be called doubtful, or ill described."""
    return {"doubtful": [], "no": []}


@pytest.mark.parametrize("name", WELL)
def test_healthy_fits_raise_no_alarm(name, alarms):
    certificate = catalogues.examined(name, WELL[name].make).certificate
    verdicts = certificate.verdicts
    assert verdicts["sound"] in ("yes", "doubtful"), certificate
    alarms["doubtful"] += [name] * (verdicts["sound"] == "doubtful")
    alarms["no"] += [name] * (verdicts["describes"] == "no")
    assert len(alarms["doubtful"]) <= catalogues.MOST_DOUBTFUL / catalogues.THIRD, alarms
    assert len(alarms["no"]) <= catalogues.MOST_MISDESCRIBED * len(WELL), alarms


def test_groups_are_not_claimed_where_there_are_none():
    claimed = [answer for answer in map(numbers.ask, numbers.size_slice()) if answer.claimed]
    assert len(claimed) <= WRONG_AT_MOST, claimed


def test_groups_are_counted_where_there_are_some():
    wrong = [answer for answer in map(numbers.ask, numbers.power_slice()) if answer.clear and not answer.right]
    assert len(wrong) <= WRONG_AT_MOST, wrong


@pytest.mark.parametrize("key", kinds.third(), ids=str)
def test_groups_of_columns_of_all_kinds_are_found_where_they_are(key):
    answer = kinds.ask(key)
    assert answer.components == answer.truth or answer.truth == 1
    assert (answer.clusters, answer.claimed) == ((answer.truth, True) if answer.truth > 1 else (1, False))


def test_tables_of_all_kinds_are_functions_of_their_name_seed_and_size():
    one, again, other = (columns.drawn("mixed with holes, 3 groups, clear", seed, 150) for seed in (3, 3, 4))
    assert np.array_equal(one.rows, again.rows, equal_nan=True)
    assert not np.array_equal(one.rows, other.rows, equal_nan=True)
    assert 0.1 < np.isnan(one.rows).mean() < 0.2
    assert one.bayes > 0.95


def test_kinds_say_what_is_missed():
    keys = [kinds.Key("mixed, one factor", 150, seed) for seed in range(50)]
    answers = [kinds.Answer(key, 1, 2, 2 if place < 2 else 1, "yes") for place, key in enumerate(keys)]
    assert kinds.report(answers).missed
    assert not kinds.report(answers[1:]).missed


def test_the_catalogues_are_as_large_as_they_should_be():
    assert len(CATALOGUE) >= 40
    assert len(HEALTHY) >= 100
    assert len({*size_tables()}) == 15 * 2 * 20
    assert {design.estimator for design in clustered.DESIGNS.values()} >= {"MixedMixture", "CategoricalMixture"}


@pytest.mark.parametrize("catalogue", [CATALOGUE, HEALTHY], ids=["planted", "healthy"])
def test_every_estimator_is_among_them(catalogue):
    """By the names of the cases, which is quicker than to fit them all."""
    words = {word for name in catalogue for word in name.replace(",", " ").split()}
    assert words >= ESTIMATORS


@pytest.mark.parametrize("kind", structureless.KINDS)
def test_tables_without_groups_are_functions_of_their_name_seed_and_size(kind):
    rows = structureless.drawn(kind, 3, 200)
    assert len(rows) == 200
    assert np.array_equal(rows, structureless.drawn(kind, 3, 200))
    assert not np.array_equal(rows, structureless.drawn(kind, 4, 200))


@pytest.mark.parametrize("kind", clustered.DESIGNS)
def test_tables_with_groups_say_what_is_in_them(kind):
    table, design = clustered.drawn(kind, 2), clustered.DESIGNS[kind]
    assert len(table.rows) == len(table.labels) == sum(design.sizes) + design.noise
    assert np.bincount(table.labels[table.labels >= 0]).tolist() == list(design.sizes)
    assert (table.rows == clustered.drawn(kind, 2).rows).all()
    assert 0.9 < table.bayes <= 1.0


def test_the_bayes_rule_is_right_as_often_as_the_normal_distribution_says():
    """Two round groups four standard deviations apart: right in 97.7% of rows."""
    pair = clustered.Design(clustered.blobs(2, 2, 4.0), (50, 50))
    groups = tuple(pair.place(np.random.default_rng(0)))
    table = clustered.Clusters(None, np.zeros(0, dtype=np.intp), groups, np.array([0.5, 0.5]), 0)
    assert table.bayes == pytest.approx(0.97725, abs=0.004)


def _answers(part, wrong, of=20, truth=1, found=3):
    keys = [Key(part, "ring" if part == SIZE else "categorical", 200, seed) for seed in range(of)]
    return [Answer(key, truth, True, found if number < wrong else truth, "yes", 0.1) for number, key in enumerate(keys)]


def test_size_says_what_is_missed():
    assert not numbers.size(_answers(SIZE, wrong=1)).missed
    assert len(numbers.size(_answers(SIZE, wrong=3)).missed) == 1  # 15% of all, but not more of one kind
    assert len(numbers.size(_answers(SIZE, wrong=4)).missed) == 2
    unsure = [answer._replace(real="doubtful") for answer in _answers(SIZE, wrong=20)]
    assert not numbers.size(unsure).missed


def test_power_says_what_is_missed_and_forgives_what_is_not_clear():
    assert not numbers.power(_answers(POWER, wrong=2, truth=4)).missed
    assert numbers.power(_answers(POWER, wrong=3, truth=4)).missed
    vague = [answer._replace(clear=answer.right) for answer in _answers(POWER, wrong=10, truth=4)]
    assert not numbers.power(vague).missed


def test_a_peer_that_is_better_on_one_and_no_worse_on_the_other_is_named():
    keys = [Key(SIZE, "ring", 200, 0), Key(POWER, "3 blobs, separation 6", 300, 0)]
    ours = [Answer(key, Table(key).truth, True, 2, "yes", 0.0) for key in keys]
    better = {keys[0]: {peers.HDBSCAN: 1}, keys[1]: {peers.HDBSCAN: 3}}
    worse = {keys[0]: {peers.HDBSCAN: 2}, keys[1]: {peers.HDBSCAN: 5}}
    assert any(peers.HDBSCAN in line for line in field.against(better, ours).missed)
    assert not any(peers.HDBSCAN in line for line in field.against(worse, ours).missed)


def test_false_alarms_are_counted():
    alarm = Certificate((Finding("a", "warning", ""), Finding("b", "warning", "", question="describes")))
    found = [catalogues.Examined(str(number), "", alarm, 0.0) for number in range(4)]
    assert len(catalogues._too_many(found)) == 2
    fine = Certificate((Finding("a", "fine", ""), Finding("b", "fine", "", question="describes")))
    assert not catalogues._too_many([catalogues.Examined("", "", fine, 0.0)])
    assert catalogues._too_many([catalogues.Examined("", "", Certificate(()), 0.0)])  # nobody has looked


def test_tables_are_written_between_the_markers_of_a_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n", encoding="utf-8")
    for _ in range(2):
        report.write(page, [report.Report("Title", "table \\1", ("a line",))])
    text = page.read_text(encoding="utf-8")
    assert "old" not in text
    assert text.count("MISSED: a line") == text.count("table \\1") == 1
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    page.write_text("no markers", encoding="utf-8")
    with pytest.raises(ValueError, match="no place for tables"):
        report.write(page, [])


def test_words_are_indicators_for_peers():
    rows = np.array([[1.0, "a"], [3.0, "b"]], dtype=object)
    assert peers.indicators(rows).tolist() == [[-1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]


def test_a_peer_finds_one_cluster_where_the_silhouette_is_small():
    flat, groups = Table(Key(SIZE, "gaussian, 8 columns", 200, 0)), Table(Key(POWER, "3 blobs, separation 6", 300, 0))
    assert peers.scikit_learn(flat)[peers.KMEANS] == 1
    assert peers.scikit_learn(groups)[peers.KMEANS] == groups.truth == 3


def test_answers_of_peers_belong_to_tables():
    known = peers.answers()
    assert {*known} <= {table.key for table in [*size_tables(), *power_tables()]}


def test_peers_are_asked_once_and_only_whole_answers_are_kept(monkeypatch, tmp_path):
    key = Key(SIZE, "ring", 200, 0)
    monkeypatch.setattr(peers, "ANSWERS", tmp_path / "peers.csv")
    monkeypatch.setattr(peers, "size_tables", lambda seeds: [Table(key)])
    monkeypatch.setattr(peers, "power_tables", lambda seeds: [])
    monkeypatch.setattr(peers, "scikit_learn", lambda table: {peers.HDBSCAN: 4})
    monkeypatch.setattr(mclust, "available", lambda: False)
    said = []
    assert peers.survey(1, said.append) == {key: {peers.HDBSCAN: 4}}
    assert "not installed" in said[0]
    assert not peers.answers()
    monkeypatch.setattr(mclust, "available", lambda: True)
    monkeypatch.setattr(mclust, "numbers", lambda table: {peers.MCLUST_BIC: 2, peers.MCLUST_ICL: None})
    whole = {key: {peers.MCLUST_BIC: 2, peers.HDBSCAN: 4}}
    peers.survey(1)
    assert peers.answers() == whole
    monkeypatch.setattr(mclust, "numbers", None)  # nobody is asked again
    assert peers.survey(1) == whole


@pytest.mark.parametrize(("missed", "code"), [((), 0), (("something",), 1)], ids=["met", "missed"])
def test_the_command_fails_where_something_is_missed(monkeypatch, capsys, missed, code):
    monkeypatch.setattr(command, "reports", lambda options: [report.Report("Title", "a table", missed)])
    assert command.main(["planted"]) == code
    assert "a table" in capsys.readouterr().out


def test_the_command_knows_its_parts(capsys):
    with pytest.raises(SystemExit):
        command.parsed(["plants"])
    assert "must be one of planted, healthy" in capsys.readouterr().err
