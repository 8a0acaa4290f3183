"""A mixed table with holes, a series with regimes, and sentences of a small grammar: all drawn from a seed."""

from __future__ import annotations

from unveil.cli.demos.demo import Demo, DemoFindings, Table, matched, numbers

KINDS = ("crew", "family", "emigrant")
RULES = """\
S -> NP VP [1.0]
NP -> 'cats' [0.3] | 'dogs' [0.3] | 'birds' [0.2] | NP PP [0.2]
VP -> V NP [0.7] | VP PP [0.3]
PP -> 'with' NP [1.0]
V -> 'chase' [0.6] | 'see' [0.4]
"""
EVEN = """\
S -> NP VP [1.0]
NP -> 'cats' [0.25] | 'dogs' [0.25] | 'birds' [0.25] | NP PP [0.25]
VP -> V NP [0.5] | VP PP [0.5]
PP -> 'with' NP [1.0]
V -> 'chase' [0.5] | 'see' [0.5]
"""


def passengers() -> Table:
    """Passengers of an invented ship: three kinds of people, told by numbers, counts, yes/no and words, with holes."""
    import numpy as np

    random = np.random.default_rng(1912)
    kind = random.choice(3, size=450, p=[0.3, 0.35, 0.35])
    age = random.normal(np.array([31.0, 38.0, 24.0])[kind], 6.0).round(0)
    fare = np.exp(random.normal(np.array([1.2, 4.2, 2.2])[kind], 0.35)).round(2)
    relatives = random.poisson(np.array([0.1, 2.5, 0.4])[kind])
    ports = np.array(["Southampton", "Cherbourg", "Queenstown"])
    port = [str(random.choice(ports, p=share)) for share in np.array([[1, 0, 0], [0.4, 0.6, 0], [0.2, 0.1, 0.7]])[kind]]
    cabin = random.random(450) < np.array([0.05, 0.9, 0.15])[kind]
    cells = {
        "passenger": list(range(1, 451)),
        "age": age.tolist(),
        "fare": fare.tolist(),
        "relatives": relatives.tolist(),
        "port": port,
        "cabin": ["yes" if has else "no" for has in cabin],
    }
    for name, share in {"age": 0.2, "port": 0.02, "cabin": 0.1}.items():
        cells[name] = [None if random.random() < share else cell for cell in cells[name]]
    return {**cells, "kind": [KINDS[one] for one in kind]}


def _mixed(table: Table) -> DemoFindings:
    import numpy as np

    import unveil

    X = np.empty((len(table["age"]), 5), dtype=object)
    for place, name in enumerate(("age", "fare", "relatives", "port", "cabin")):
        X[:, place] = table[name]
    X[:, 1] = np.log(numbers(table, "fare")[:, 0])  # fares are multiples of each other: equal steps on a log scale
    kinds = {0: "number", 1: "number", 2: "count", 3: "category", 4: "category"}
    mixture = unveil.MixedMixture(families=kinds, covariance_type="diag", n_init=3, random_state=0)
    outcome = unveil.select(mixture, X, {"n_components": range(1, 6)})
    labels = outcome.best_estimator_.predict(X)
    share, holes = matched(table["kind"], labels), sum(cell is None for column in table.values() for cell in column)
    words = [
        f"Best by BIC: {outcome.n_components} components; all rows were used, with {holes} cells missing.",
        f"{share:.0%} of the passengers are in the group that they were drawn from.",
    ]
    agrees = outcome.n_components == len(KINDS) and share > 0.9
    return DemoFindings(words, agrees, "Both say three kinds." if agrees else "Three kinds were expected.")


def weeks() -> Table:
    """A series that is calm or wild for a while, in turn; which of them is written beside it."""
    import numpy as np

    random = np.random.default_rng(11)
    state = np.repeat([0, 1, 0, 1, 0], [120, 40, 140, 60, 140])
    change = random.normal(np.array([0.3, -0.6])[state], np.array([0.8, 2.6])[state])
    return {
        "week": list(range(1, len(state) + 1)),
        "change": change.round(3).tolist(),
        "regime": [("calm", "wild")[one] for one in state],
    }


def _regimes(table: Table) -> DemoFindings:
    import numpy as np

    import unveil

    X = numbers(table, "change")
    chain = unveil.GaussianHMM(2, n_init=3, random_state=0).fit(X)
    states = np.asarray(chain.predict(X))
    share, switches = matched(table["regime"], states), int(np.sum(states[1:] != states[:-1]))
    stay = ", ".join(f"{1 / (1 - chance):.0f} weeks" for chance in np.diag(chain.transmat_))
    words = [f"Two states, which last {stay} on average; {switches} switches.", f"{share:.0%} of the weeks are right."]
    agrees = share > 0.9 and switches <= 8
    return DemoFindings(words, agrees, "The regimes are found." if agrees else "The regimes were not found.")


def sentences() -> Table:
    """Sentences drawn from a small grammar in which phrases may hang in two places; long ones are left out."""
    import numpy as np

    from unveil.grammar import read_grammar
    from unveil.grammar.pcfg.fitted import grow_trees

    trees = grow_trees(read_grammar(RULES), 450, np.random.RandomState(3))
    return {"sentence": [" ".join(tree.leaves) for tree in trees if len(tree.leaves) <= 15][:400]}


def _grammar(table: Table) -> DemoFindings:
    import unveil
    from unveil.grammar import read_grammar

    truth = read_grammar(RULES)
    found = unveil.PCFG(EVEN, random_state=0).fit(list(table["sentence"]))
    learnt = dict(zip(map(str, found.grammar_.rules), found.grammar_.probabilities, strict=True))
    known = dict(zip(map(str, truth.rules), truth.probabilities, strict=True))
    off = max(abs(learnt.get(rule, 0.0) - chance) for rule, chance in known.items())
    tree = found.parse(["cats see dogs with birds"])[0].tree
    words = [
        "The probabilities of the rules, which began as even, come "
        f"within {off:.2f} of those that the sentences were drawn with.",
        f'The likeliest tree of "cats see dogs with birds": {tree}.',
    ]
    agrees = bool(off < 0.1)
    return DemoFindings(words, agrees, "The rules are found again." if agrees else "The rules were not found again.")


DEMOS = {
    "passengers": Demo(
        "450 passengers of an invented ship: numbers, counts, words and holes (three kinds of people)",
        "The rows were drawn from three kinds of people: crew, families, emigrants. One age in five is missing.",
        passengers,
        _mixed,
        "Mixtures of columns of different kinds are compared by BIC; missing cells are left out of the sums, not rows. "
        "The column 'kind', the answer, is not looked at.",
        ("unveil report FILE -o report.html", "unveil select mixed-mixture FILE -k 1-5 -o model.unveil"),
    ),
    "weeks": Demo(
        "500 weeks of a series that is calm or wild in turn (two regimes)",
        "The series was drawn calm, wild, calm, wild, calm: two regimes and four switches.",
        weeks,
        _regimes,
        "A hidden Markov model with two states is fitted, and the likeliest path of states read off.",
        (
            "unveil fit gaussian-hmm FILE -k 2 --columns A,B -o model.unveil",
            "unveil predict model.unveil FILE -o states.csv",
        ),
    ),
    "sentences": Demo(
        "400 sentences about cats and dogs (drawn from a grammar of ten rules)",
        "They were drawn from a grammar whose rules and probabilities are known.",
        sentences,
        _grammar,
        "The probabilities of the rules are learnt from the sentences alone, no tree given (inside-outside).",
        (
            "unveil fit grammar FILE --grammar RULES_FILE -o model.unveil",
            'unveil parse model.unveil "cats see dogs with birds"',
        ),
        text=True,
    ),
}
