from unveil.judgement.criteria.opinions import Opinion
from unveil.selection.weighing import best_known, follow, weigh


def told(*answers):
    names = ["elbow", "bic", "silhouette", "gap", "stability"]
    return [
        Opinion(name, name, abs(size) if size else None, f"{name} says", structure=size != 0)
        for name, size in zip(names, answers, strict=True)
    ]


LINE = [{"n_clusters": size} for size in range(1, 9)]


def test_agreement_is_clear():
    choice = weigh(told(4, 4, 4, 4, 4), LINE)
    assert (choice.size, choice.clear, choice.votes[4]) == (4, True, 5.0)
    assert choice.words.startswith("4 clusters. For it: elbow says; bic says")


def test_a_majority_is_clear_and_the_others_are_named():
    choice = weigh(told(4, 6, 4, 4, None), LINE)
    assert (choice.size, choice.clear) == (4, True)
    assert "For 6 clusters: bic says." in choice.words
    assert "Undecided: stability says." in choice.words


def test_everyone_for_another_number_is_no_clear_answer():
    choice = weigh(told(None, 7, 2, 3, 4), LINE)
    assert (choice.size, choice.clear) == (2, False)
    assert choice.words.startswith("No clear answer: as much is to be said for 2, 3, 4 and 7. Kept: 2 clusters.")


def test_one_voice_alone_is_no_clear_answer():
    choice = weigh(told(None, None, 3, None, None), LINE)
    assert (choice.size, choice.clear) == (3, False)
    assert choice.words.startswith("No clear answer; most is to be said for 3 clusters.")


def test_no_clusters():
    choice = weigh(told(0, 1, 0, 1, 0), LINE)
    assert (choice.size, choice.clear, choice.votes[1]) == (1, True, 3.5)
    assert choice.words.startswith("No clusters: one group says as much as several.")


def test_seeing_no_clusters_alone_is_not_enough():
    choice = weigh(told(0, None, 0, None, 0), LINE)
    assert (choice.size, choice.clear) == (1, False)
    assert "no criterion is for any number" in choice.words


def test_without_one_cluster_in_the_grid_nothing_votes_for_it():
    choice = weigh(told(0, None, 0, None, 0), LINE[1:])
    assert (choice.size, choice.clear) == (2, False)
    assert set(choice.votes.values()) == {0.0}


def test_without_a_voice_there_is_no_vote():
    silent = Opinion("penalised_aic", "cost + 2Kd", 7, "", voice=False)
    choice = weigh([*told(4, 4, 4, 4, 4), silent], LINE)
    assert choice.votes[7] == 0.0
    assert "change with the units of the columns: cost + 2Kd to 7." in choice.words


def test_one_criterion_decides_if_it_is_named():
    choice = follow("gap", told(4, 4, 4, 2, None), LINE, fallback=8)
    assert (choice.size, choice.clear) == (2, True)
    assert choice.words == (
        "2 clusters. Chosen by gap says. Otherwise: elbow is for 4, bic is for 4, silhouette is for 4."
    )
    unsure = follow("stability", told(4, 4, 4, 2, None), LINE, fallback=8)
    assert (unsure.size, unsure.clear) == (8, False)
    assert unsure.words.startswith("No clear answer: stability says. Kept: 8 clusters.")


def test_the_best_known_value():
    line = [{"n_clusters": 2, "gap": None}, {"n_clusters": 3, "gap": 0.5}, {"n_clusters": 4, "gap": 0.2}]
    assert best_known(line, "gap", 1) == 3
    assert best_known(line, "gap", -1) == 4
    assert best_known(line, "bic", 1) == 2
