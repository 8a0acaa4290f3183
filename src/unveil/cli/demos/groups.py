"""Tables of numbers: two kinds of eruption, three species of which two overlap, four clouds of points, and noise."""

from __future__ import annotations

from typing import Any

from unveil.cli.demos.demo import Demo, DemoFindings, Table, bundled, matched, numbers


def _mixture(X: Any, sizes: range) -> Any:
    import unveil

    grid = {"n_components": sizes, "covariance_type": ["full", "tied", "diag", "spherical"]}
    return unveil.select(unveil.GaussianMixture(random_state=0), X, grid)


def _how_many(outcome: Any) -> str:
    """Components and groups of a comparison, in a sentence."""
    groups = {None: "not clear", 1: "none (all rows are one group)"}.get(outcome.n_clusters, str(outcome.n_clusters))
    size = f"{outcome.n_components} component{'' if outcome.n_components == 1 else 's'}"
    return f"Best by BIC: {size}. Groups: {groups}."


def _geyser(table: Table) -> DemoFindings:
    X = numbers(table)
    outcome = _mixture(X, range(1, 7))
    best = outcome.best_estimator_
    means = sorted(
        X[best.clusters_[best.predict(X)] == cluster].mean(axis=0).tolist() for cluster in set(best.clusters_.tolist())
    )
    each = "; ".join(f"eruptions of {length:.1f} minutes, then {wait:.0f} minutes to wait" for length, wait in means)
    agrees = outcome.n_clusters == 2
    verdict = "Both say two kinds." if agrees else f"Two were expected, {outcome.n_clusters} found."
    return DemoFindings([_how_many(outcome), f"Their means: {each}."], agrees, verdict)


def _iris(table: Table) -> DemoFindings:
    X, species = numbers(table, *list(table)[:4]), table["Species"]
    outcome = _mixture(X, range(1, 6))
    best = outcome.best_estimator_
    labels = best.clusters_[best.predict(X)]
    setosa = [label for label, name in zip(labels.tolist(), species, strict=True) if name == "setosa"]
    others = [label for label, name in zip(labels.tolist(), species, strict=True) if name != "setosa"]
    apart = not set(setosa) & set(others)
    words = [_how_many(outcome), f"{'None' if apart else 'Some'} of the setosas lie in a group with other flowers."]
    verdict = (
        "Setosa is a group of its own; the two that overlap are one group, as measurements alone cannot part them."
    )
    return DemoFindings(
        words,
        apart and outcome.n_clusters == 2,
        verdict if apart else "Setosa was expected to stand apart, and does not.",
    )


def _ruspini(table: Table) -> DemoFindings:
    import numpy as np

    import unveil

    X = numbers(table)
    outcome = unveil.select(unveil.KMeans(n_init=5, random_state=0), X, {"n_clusters": range(1, 9)})
    truth = np.repeat([0, 1, 2, 3], [20, 23, 17, 15])  # the file has them in order
    share = matched(truth, outcome.best_estimator_.labels_)
    agrees = outcome.n_clusters == 4
    words = [outcome.verdict(), f"{share:.0%} of the points are in the cloud that they belong to."]
    return DemoFindings(
        words, agrees, "Both say four." if agrees else f"Four were expected, {outcome.n_clusters} found."
    )


def _clouds_of_noise() -> Table:
    import numpy as np

    X = np.random.default_rng(7).multivariate_normal(
        [0.0, 0.0, 0.0], [[1.0, 0.6, 0.0], [0.6, 1.0, 0.0], [0.0, 0.0, 1.0]], size=300
    )
    return {name: X[:, place].round(4).tolist() for place, name in enumerate(("a", "b", "c"))}


def _noise(table: Table) -> DemoFindings:
    outcome = _mixture(numbers(table), range(1, 6))
    agrees = outcome.n_clusters == 1
    verdict = "No groups, and none is claimed." if agrees else "There are none, yet groups were claimed."
    return DemoFindings([_how_many(outcome)], agrees, verdict)


BY_BIC = "Mixtures of one to several Gaussians are compared by BIC, and the best is asked whether its groups are real."
DEMOS = {
    "geyser": Demo(
        "272 eruptions of Old Faithful: length, and minutes to the next (two kinds of eruption)",
        "Eruptions are short or long, with few in between, and after a long one the next takes longer to come.",
        lambda: bundled("geyser"),
        _geyser,
        BY_BIC,
        ("unveil report FILE -o report.html", "unveil select gaussian-mixture FILE -k 1-6 -o model.unveil"),
    ),
    "iris": Demo(
        "150 irises, four lengths each (three species, two of which overlap)",
        "The flowers are of three species. Setosa is small and apart; versicolor and virginica overlap, and botanists "
        "tell them apart by more than these four lengths.",
        lambda: bundled("iris"),
        _iris,
        BY_BIC + " It does not see the species.",
        (
            "unveil select gaussian-mixture FILE -k 1-5 --drop LABEL_COLUMN",
            "unveil fit discriminant FILE --label LABEL_COLUMN -o model.unveil",
        ),
    ),
    "ruspini": Demo(
        "75 points in the plane (four clouds)",
        "Ruspini drew them in 1970 as four clouds of 23, 20, 17 and 15 points, to try out clusterings.",
        lambda: bundled("ruspini"),
        _ruspini,
        "K-means with 1 to 8 clusters; elbow, silhouette, gap and others vote on how many.",
        ("unveil select kmeans FILE -k 1-8 -o model.unveil", "unveil predict model.unveil FILE -o groups.csv"),
    ),
    "noise": Demo(
        "300 rows drawn from one Gaussian (no groups at all)",
        "There are no groups: the rows come from one Gaussian in which two columns go together.",
        _clouds_of_noise,
        _noise,
        BY_BIC,
        ("unveil report FILE -o report.html", "unveil select gaussian-mixture FILE -k 1-5"),
    ),
}
