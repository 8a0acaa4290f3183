"""A probabilistic context-free grammar: sentences are seen, the trees that they came from are hidden.

    p(tree) = product of the probabilities of the rules it uses,      p(sentence) = sum over its trees

E step: which trees (`unveil.grammar.pcfg.expectations`), summed up as the expected number of uses of every rule; for
the posterior that is inside-outside (Baker 1979; Lari & Young 1990). M step: the uses of a rule over those of all rules
of the same parent. A sentence that comes with its tree has nothing hidden, and its uses never change.

With a Dirichlet prior of concentration c per rule, c - 1 is added to its uses. Where that is negative (c < 1, a prior
in favour of few rules) the mode has rules at the edge: they are kept at a small `floor`, at which the log-prior is
finite and every sentence stays possible, so that the bound keeps its promise; a rule that stays there says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from unveil.core.arrays import Floats, Indices, Mask
from unveil.core.protocols import Block, Expectation, Memo, Model
from unveil.core.statistics import Statistics
from unveil.grammar.language.normal_form import NormalForm
from unveil.grammar.pcfg.expectations import (
    DEFAULT_TREE_SIZES,
    GrammarPlan,
    SentenceMemo,
    TreeSizes,
    choose,
    logs_of,
    planned,
    remember,
    spent,
)

PRIOR_FLOOR = 1e-12  # floor of a rule under a prior that would drive it to nothing
LEAST_SHARE = 1e-12  # of a rule, so that it has a logarithm and a scale
LEAST_USES = 1e-4  # of a parent per word, so that no coordinate has a scale of nothing


@dataclass(frozen=True)
class GrammarParams:
    """Probability of every rule, (n_rules,); and how often each parent is used per word, (n_parents,).

    The second is no part of the grammar: it sets the scale on which a gradient is measured.
    """

    probabilities: Floats
    uses: Floats


@dataclass(frozen=True)
class GrammarModel(Model):
    """Rules in normal form, and how their probabilities are re-estimated.

    Parameters
    ----------
    form : NormalForm
        The rules, as charts take them.
    parents : array of int of shape (n_rules,)
        Number of the parent of each rule, from 0 on; probabilities sum to 1 over the rules of a parent.
    concentration : array of shape (n_rules,) or float
        Parameters of the Dirichlet priors; 1 is flat.
    free : array of bool of shape (n_rules,), optional
        Rules that are re-estimated; the others keep their probability. All by default.
    floor : float
        Least probability of a free rule. Above 0 where the parameters move before all sentences were seen: a rule that
        a first batch did without would otherwise be ruled out for good.
    sizes : TreeSizes
        How trees are drawn and shaken.
    """

    recalls = False  # what blocks remember changes no bit

    form: NormalForm
    parents: Indices
    concentration: Floats | float = 1.0
    free: Mask | None = None
    floor: float = 0.0
    sizes: TreeSizes = DEFAULT_TREE_SIZES
    n_parents: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_parents", int(self.parents.max()) + 1)
        if np.any(np.asarray(self.concentration) < 1.0) and self.floor < PRIOR_FLOOR:
            object.__setattr__(self, "floor", PRIOR_FLOOR)

    def begin(self, probabilities: Floats) -> GrammarParams:
        """Parameters to start from."""
        return GrammarParams(np.asarray(probabilities, dtype=np.float64), np.ones(self.n_parents))

    def prepare(self, params: GrammarParams) -> GrammarPlan:
        """Weights of the normal form, and the sums over all chains of unary and empty rules."""
        return planned(self.form, params.probabilities)

    # -- E step --------------------------------------------------------------------------------------------------------

    def expect(
        self,
        plan: GrammarPlan,
        block: Block,
        expectation: Expectation,
        memo: SentenceMemo | None,
        random: Callable[[], np.random.Generator],
    ) -> tuple[Statistics, Memo]:
        """Expected uses of the rules in the sentences of a block."""
        memo = remember(self.form, block) if memo is None else memo
        counts, log_likelihood, free_energy, lists = choose(plan, memo, expectation, random, self.sizes)
        seen = float(spent(memo.derived, plan.log_probabilities))  # of sentences that came with their trees
        statistics = Statistics(
            weight=memo.weight,
            log_likelihood=log_likelihood + seen,
            free_energy=free_energy + seen,
            counts=counts + memo.derived,
        )
        return statistics, replace(memo, lists=lists)

    # -- M step --------------------------------------------------------------------------------------------------------

    def maximise(self, statistics: Statistics, params: GrammarParams) -> GrammarParams:
        """Uses over the uses of all rules of the parent; parents that nothing is known of keep their rules."""
        counts = np.maximum(statistics["counts"], 0.0)  # a subtraction may leave one a rounding below
        uses = self._totals(counts) / max(float(statistics["weight"]), 1e-300)
        free, old = self.moving, params.probabilities
        pulls = np.where(free, counts + (self.concentration - 1.0), 0.0)
        mass = 1.0 - self._totals(np.where(free, 0.0, old))  # what the rules that do not move leave to the others
        if self.floor == 0.0:
            shared = self._shared(np.maximum(pulls, 0.0), mass)
        else:
            shared = self._shared_above(np.where(free, pulls, 0.0), counts, mass, old)
        known = self._totals(np.where(free, np.maximum(pulls, 0.0) + counts, 0.0))[self.parents] > 0
        return GrammarParams(np.where(free & known, shared, old), uses)

    def _shared(self, pulls: Floats, mass: Floats) -> Floats:
        """`mass` of every parent, shared out in proportion."""
        totals = self._totals(pulls)
        scale = np.divide(mass, totals, out=np.zeros_like(mass), where=totals > 0)
        return pulls * scale[self.parents]

    def _shared_above(self, pulls: Floats, counts: Floats, mass: Floats, old: Floats) -> Floats:
        """The same where no share may be below the floor: the exact maximum of the sum of pull * log share."""
        free = self.moving
        pulls = self._with_one_above(pulls, free)
        held = free & (pulls <= 0)
        while True:
            rest = mass - self.floor * self._totals(held.astype(np.float64))
            shares = np.where(held, self.floor, self._shared(np.where(held, 0.0, pulls), rest))
            low = free & ~held & (shares < self.floor)
            if not low.any():
                break
            held |= low
        possible = rest > 0  # fixed rules may leave nothing to share out
        return np.where(possible[self.parents], shares, old)

    def _with_one_above(self, pulls: Floats, free: Mask) -> Floats:
        """Where every pull of a parent is down, the weakest of them takes what the others leave."""
        highest = np.full(self.n_parents, -np.inf)
        np.maximum.at(highest, self.parents[free], pulls[free])
        lost = free & (highest <= 0)[self.parents] & (pulls == highest[self.parents])
        first = np.zeros(len(pulls), dtype=bool)
        numbers = np.flatnonzero(lost)
        first[numbers[np.unique(self.parents[numbers], return_index=True)[1]]] = True
        return np.where(first, 1.0, pulls)

    # -- what schedules ask for ----------------------------------------------------------------------------------------

    def energy(self, statistics: Statistics, params: GrammarParams) -> float:
        """E_q[log p(sentence, tree)]: uses times log-probabilities."""
        return spent(statistics["counts"], logs_of(params.probabilities))

    def log_prior(self, params: GrammarParams) -> float:
        """Dirichlet on the rules of each parent; of those that move."""
        if np.all(np.asarray(self.concentration) == 1.0):
            return 0.0
        from scipy.special import gammaln

        free = self.moving
        alpha = np.broadcast_to(np.asarray(self.concentration, dtype=np.float64), free.shape)
        totals = self._totals(np.where(free, alpha, 0.0))
        normaliser = float(gammaln(totals[totals > 0]).sum() - gammaln(alpha[free]).sum())
        pulled = free & (alpha != 1.0)
        return normaliser + float((alpha[pulled] - 1.0) @ logs_of(params.probabilities[pulled]))

    def admissible(self, statistics: Statistics) -> bool:
        """Whether these could be uses of rules: what acceleration extrapolates may not be."""
        counts = statistics["counts"]
        return bool(np.all(np.isfinite(counts)) and np.all(counts >= 0.0))

    def dead(self, statistics: Statistics) -> Indices:
        """Parents that no tree has."""
        return np.flatnonzero(self._totals(statistics["counts"]) <= 0.0)

    def coordinates(self, params: GrammarParams) -> GrammarCoordinates:
        """Unconstrained coordinates around `params`."""
        return GrammarCoordinates(self, params)

    def events(self, statistics: Statistics, params: GrammarParams) -> Mapping[str, int]:
        """Rules at the floor."""
        if self.floor == 0.0:
            return {}
        return {"floored": int(np.any(self.moving & (params.probabilities <= self.floor)))}

    def n_parameters(self, probabilities: Floats) -> int:
        """Free parameters: rules that move and are not ruled out, less one for each parent of such."""
        moving = self.moving & (probabilities > self.floor)
        held = self._totals(moving.astype(np.float64))
        return int(np.maximum(held - 1.0, 0.0).sum())

    @property
    def moving(self) -> Mask:
        """Which rules are re-estimated."""
        return np.ones(len(self.parents), dtype=bool) if self.free is None else self.free

    def _totals(self, values: Floats) -> Floats:
        """Sums over the rules of each parent."""
        return np.bincount(self.parents, weights=values, minlength=self.n_parents).astype(np.float64)


class GrammarCoordinates:
    """Unconstrained coordinates around some probabilities: logits of the rules of each parent, in units that suit.

        share = exp(logit) / sum over the parent of exp(logit),   d energy / d logit = uses - share * uses of the parent

    with the pseudo-uses of the Dirichlet prior among the uses. Every coordinate is multiplied by the root of its
    information per word, share times the uses of the parent, so that gradient / weight is about a step of EM. Logits
    have one number too many for each parent; along it the gradient has no part. Rules ruled out are no part of it.
    """

    def __init__(self, model: GrammarModel, params: GrammarParams) -> None:
        self.model, self.start = model, params
        self.moving = np.flatnonzero(model.moving & (params.probabilities > 0))
        self.parents = model.parents[self.moving]
        mass = self._sums(params.probabilities[self.moving])
        self.mass = mass[self.parents]
        shares = np.maximum(params.probabilities[self.moving] / self.mass, LEAST_SHARE)
        self.units = np.sqrt(shares * np.maximum(params.uses, LEAST_USES)[self.parents])
        self.origin = self.units * np.log(shares)

    def params(self, vector: Floats) -> GrammarParams:
        """Probabilities by a softmax over the rules of each parent."""
        probabilities = self.start.probabilities.copy()
        probabilities[self.moving] = self.mass * self._shares(vector)
        return type(self.start)(probabilities, self.start.uses)

    def gradient(self, statistics: Statistics, vector: Floats) -> Floats:
        """Gradient of the energy and the log-prior."""
        pulls = (statistics["counts"] + (self.model.concentration - 1.0))[self.moving]
        found: Floats = (pulls - self._sums(pulls)[self.parents] * self._shares(vector)) / self.units
        return found

    def _shares(self, vector: Floats) -> Floats:
        logits = vector / self.units
        highest = np.full(self.model.n_parents, -np.inf)
        np.maximum.at(highest, self.parents, logits)
        positive = np.exp(logits - highest[self.parents])
        found: Floats = positive / self._sums(positive)[self.parents]
        return found

    def _sums(self, values: Floats) -> Floats:
        return np.bincount(self.parents, weights=values, minlength=self.model.n_parents).astype(np.float64)
