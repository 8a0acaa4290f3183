"""What a comparison of models leaves behind: a table, the best of it, and a verdict in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from unveil.certificate import Certificate
from unveil.judgement.criteria.criteria import CLEAR_LEAD, Criterion
from unveil.judgement.criteria.opinions import SIZE, Choice
from unveil.selection.judged import NOT_JUDGED, Judged, number_of_groups
from unveil.selection.verdict import Naming, Standing, caveats, combination, decisive, say


@final
@dataclass(frozen=True, repr=False)
class Selection:
    """The outcome of `unveil.select`.

    Attributes
    ----------
    table : list of dict
        One row per combination: its parameters, every criterion that the estimator has, ``converged``, ``seconds``
        until it was done (of a large table, while others were under way); ``degenerate`` and ``error`` say why it was
        passed over or could not be fitted, ``same_as`` which other combination is the same model (only that one is
        compared), or are None. ``pandas.DataFrame(selection.table)`` works.
    best_estimator_, best_params_, best_score_
        The winner, fitted; its combination; its value of the criterion.
    criterion : str
        What decided; ``"votes"`` where all criteria did together.
    choice : Choice or None
        For clusterings: what each criterion says about their number, and what follows.
    undone : int
        Combinations that were not reached, where the comparison was interrupted.
    n_components : int or None
        For mixtures and chains: how many components describe the density.
    n_clusters : int or None
        How many groups there are: 1 where there are none, None where there is no clear answer.
    certificate : Certificate
        What `unveil.examine` says of the winner; `verdicts` are its three answers. A mixture that won has
        ``clusters_``, the cluster of each component.
    alternatives : list of dict
        Where the winning mixture does not describe the rows: other models, and by how much their BIC is lower.

    Examples
    --------
    >>> import numpy as np, unveil
    >>> X = np.concatenate([np.linspace(0, 1, 50), np.linspace(9, 10, 50)])[:, None]
    >>> selection = unveil.select(unveil.GaussianMixture(random_state=0), X, {"n_components": [1, 2, 3]})
    >>> selection.best_params_
    {'n_components': 2}
    >>> selection.to_dict()["n_components"]
    [1, 2, 3]
    """

    table: list[dict[str, Any]]
    best_estimator_: Any
    grid: Mapping[str, tuple[Any, ...]]
    rule: Criterion
    best_index_: int
    choice: Choice | None = None
    undone: int = 0
    judged: Judged = NOT_JUDGED

    @property
    def certificate(self) -> Certificate:
        """What the winner was examined for."""
        return self.judged.certificate

    def verdicts(self) -> dict[str, str]:
        """Is the winner sound, does it describe the rows, are its groups real?"""
        return self.certificate.verdicts

    @property
    def n_components(self) -> int | None:
        """How many components describe the density."""
        size = getattr(self.best_estimator_, "n_components", None)
        return None if size is None else int(size)

    @property
    def n_clusters(self) -> int | None:
        """How many groups there are; 1 where there are none, None where there is no clear answer."""
        if self.choice is not None:
            return self.choice.size if self.choice.clear else None
        return self.judged.n_clusters

    @property
    def alternatives(self) -> list[dict[str, Any]]:
        """Other models of the rows, the best first."""
        return [one.to_dict() for one in self.judged.alternatives]

    @property
    def criterion(self) -> str:
        """Name of the criterion that decided."""
        return self.rule.name

    @property
    def best_params_(self) -> dict[str, Any]:
        """The winning combination."""
        return {name: self.table[self.best_index_][name] for name in self.grid}

    @property
    def best_score_(self) -> float:
        """The winner's value of the criterion."""
        return worth(self.table[self.best_index_][self.criterion])

    @property
    def standing(self) -> Standing:
        """How the winner stands against the rest, as numbers."""
        rule, table = self.rule, self.table
        best = table[self.best_index_]
        fitted = [row for row in table if row["error"] is None and (best["degenerate"] or not row["degenerate"])]
        others = [row for row in fitted if row is not best and not row.get("same_as")]
        others = [row for row in others if not _same_model(rule, row, best)]
        runner_up = max(others, key=lambda row: merit(rule, row), default=None)
        edges = tuple(name for name in self.grid if _at_edge(best[name], [row[name] for row in fitted]))
        return Standing(
            best=self.best_params_,
            score=worth(best[rule.name]),
            runner_up=None if runner_up is None else {name: runner_up[name] for name in self.grid},
            lead=np.inf if runner_up is None else abs(worth(best[rule.name]) - worth(runner_up[rule.name])),
            edges=edges,
            failed=sum(row["error"] is not None for row in table),
            passed_over=sum(row["error"] is None for row in table) - len(fitted),
            degenerate=best["degenerate"] or "",
            unconverged=best["converged"] is False,
            undone=self.undone,
        )

    @property
    def decisive(self) -> bool:
        """Is there a clear answer: a lead worth mentioning, and not at the edge of the grid?"""
        return decisive(self.rule, self.standing) if self.choice is None else self.choice.clear

    def verdict(self, name: Naming | None = None) -> str:
        """The outcome in plain words, and how clear it is; `name` puts a combination into words of its own."""
        if self.choice is None:
            return " ".join([say(self.rule, self.standing, name), *groups_said(self)])
        others = {name: value for name, value in self.best_params_.items() if name != SIZE}
        best = [f"Best with {combination(others)}."] if others else []
        return " ".join([self.choice.words, *best, *caveats(self.standing)])

    def to_dict(self) -> dict[str, list[Any]]:
        """The table by columns: ``pandas.DataFrame(selection.to_dict())``, ``polars.DataFrame(...)``."""
        return {name: [row[name] for row in self.table] for name in self.table[0]}

    def __repr__(self) -> str:
        chosen = ", ".join(f"{name}={value!r}" for name, value in self.best_params_.items())
        clear = "" if self.decisive else ", no clear answer"
        return f"Selection({chosen}; {self.rule.title} {self.best_score_:.6g} among {len(self.table)}{clear})"


def merit(rule: Criterion, row: Mapping[str, Any]) -> tuple[bool, float]:
    """What the best has most of: sound fits before degenerate ones, then the criterion."""
    value = worth(row[rule.name])
    return not row["degenerate"], -np.inf if np.isnan(value) else rule.sign * value


def worth(value: Any) -> float:
    """A value of the table as a number; NaN where there is none."""
    return np.nan if value is None else float(value)


def _same_model(rule: Criterion, row: Mapping[str, Any], best: Mapping[str, Any]) -> bool:
    """Are two rows one model, as a full and a tied covariance of one component are? It is no rival to itself."""
    if "log_likelihood" not in best or row.get("n_components") != best.get("n_components"):
        return False
    return all(np.isclose(worth(row[name]), worth(best[name]), 1e-9, 0.0) for name in (rule.name, "log_likelihood"))


def _at_edge(value: Any, tried: list[Any]) -> bool:
    """Might a value outside those tried be better still? One component is a natural end; there are no fewer."""
    numbers = [other for other in tried if isinstance(other, (int, float, np.number)) and not isinstance(other, bool)]
    if len(numbers) < len(tried) or min(numbers) == max(numbers):
        return False
    return bool(value == max(numbers) or (value == min(numbers) and value > 1))


def groups_said(selection: Selection) -> list[str]:
    """How many groups the components of the winner form, and which other model describes the rows better."""
    if selection.certificate.clusters is None:
        return []
    own, clusters = number_of_groups(selection.certificate), selection.n_clusters
    k = len(selection.certificate.clusters)
    if clusters is None:
        parts = ["How many groups there are is not clear."]
    elif k > 1 and own == clusters != k:
        formed = "one cluster" if clusters == 1 else f"{clusters} clusters"
        parts = [f"{k} components describe the density; they form {formed}."]
    else:
        parts = ["There is one group." if clusters == 1 else f"There are {clusters} groups."]
    if selection.alternatives and selection.alternatives[0]["gain"] > CLEAR_LEAD:
        other = selection.alternatives[0]
        size = f"{other['n_components']} component{'' if other['n_components'] == 1 else 's'}"
        parts += [
            f"With {other['model']}, {size} would describe the rows better: BIC is lower by {other['gain']:,.1f}."
        ]
    return parts
