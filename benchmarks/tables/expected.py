"""What is expected of a report: the role of every column, and facts of the summary.

Roles are the words of `summary.json`. Where a careful analyst could defend two, both are listed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

NUMBER, COUNT, YES_NO, CATEGORY, ORDERED = "number", "count", "yes/no", "category", "ordered category"
DATE, IDENTIFIER, ROW_NUMBER, CONSTANT = "date", "identifier", "row number", "constant"
NEAR_COPY, FREE_TEXT = "near-copy", "free text"
LABEL, TIME, WEIGHTS, DROPPED = "label", "time", "weights", "dropped"

MODELLED = frozenset({NUMBER, COUNT, YES_NO, CATEGORY, ORDERED})
LEFT_OUT = frozenset({IDENTIFIER, ROW_NUMBER, CONSTANT, NEAR_COPY, FREE_TEXT, LABEL, WEIGHTS, DROPPED})
"""Of dates it is not said whether they are "used": they make order, and are no feature."""

WHOLE = (NUMBER, COUNT)  # whole numbers of many values: from the digits alone nobody can tell what they measure
FEW = (COUNT, ORDERED)  # small whole numbers from nought that count something
CODE = (ORDERED, CATEGORY, COUNT)  # 1, 2, 3 for classes or answers
TWO = (YES_NO, CATEGORY)  # two words: female and male
KEY = (IDENTIFIER, ROW_NUMBER)  # 1, 2, 3, ... in the order of the file
WHEN = (DATE, TIME)
NOTES = (FREE_TEXT,)
NAMES = (IDENTIFIER, FREE_TEXT)  # one of its own for nearly every row, of several words

BAD_CELLS = "cell|fit|unread|not a number|could not|cannot"  # in an alert: some cells are no value of their column
HOLES = "missing|empty|hole"  # in an alert: much of the column is missing
SENTINEL = "999"  # in an alert: -999 stands for what was not measured

YES, DOUBTFUL, NO, NOT_EXAMINED = "yes", "doubtful", "no", "not examined"
ANSWERS = frozenset({YES, DOUBTFUL, NO, NOT_EXAMINED})
NOT_CLAIMED = ANSWERS - {YES}  # where there are no groups
SOME = frozenset({YES, DOUBTFUL})  # where there are groups that overlap, or that history disputes

GAUSSIANS = frozenset({"GaussianMixture", "StudentMixture"})
MIXED = frozenset({"MixedMixture"})
CATEGORIES = frozenset({"CategoricalMixture"})
BINARIES = CATEGORIES | {"BernoulliMixture"}
COUNTS = frozenset({"PoissonMixture"}) | MIXED
CHAINS = frozenset({"GaussianHMM", "MixedHMM", "PoissonHMM", "CategoricalHMM"})
OVER_TIME = GAUSSIANS | MIXED | CHAINS

EITHER = "either"  # of `used`: modelled or not, both are right
EXACT, BEGINS, ANY = "exact", "begins", "any"  # how the name of a column has to be the one in the file


@dataclass(frozen=True)
class Column:
    """What is expected of one column.

    Parameters
    ----------
    name : str
        As in the file; "" where it has none.
    roles : tuple of str
        Any of them is right.
    used : bool or "either", optional
        Whether it is modelled; without a word it follows from the roles, where they agree.
    alerts : tuple of str
        Regular expressions, each to be found in an alert of the column.
    named : str
        "exact", "begins" where a name has to be made unique, "any" where the file has none.
    """

    name: str
    roles: tuple[str, ...]
    used: bool | str | None = None
    alerts: tuple[str, ...] = ()
    named: str = EXACT

    @property
    def must_be_used(self) -> bool | None:
        """What is said, or what the roles have in common."""
        if isinstance(self.used, bool):
            return self.used
        if self.used == EITHER:
            return None
        if MODELLED.issuperset(self.roles):
            return True
        return False if LEFT_OUT.issuperset(self.roles) else None


def column(
    name: str, *roles: str, used: bool | str | None = None, alerts: tuple[str, ...] = (), named: str = EXACT
) -> Column:
    """``column("Age", *WHOLE)``."""
    return Column(name, roles, used, alerts, named)


def numbers(*names: str) -> tuple[Column, ...]:
    """Columns that are measurements and nothing else."""
    return tuple(column(name, NUMBER) for name in names)


@dataclass(frozen=True)
class Facts:
    """What is expected of the summary as a whole; a set holds all answers that are right, and None asks nothing.

    Parameters
    ----------
    rows : int
        Rows of the table, all of which are to be used unless `all_used` is false.
    groups : frozenset of int, optional
        Clusters.
    components : frozenset of int, optional
        Of the model.
    real : frozenset of str
        Answers to "are the groups real?".
    models : frozenset of str, optional
        Classes of the model.
    agreement : float, optional
        Least adjusted Rand index between planted groups and those of the rows file.
    one_of : tuple of pairs of str
        Columns that are copies of each other: one is used, the other is not.
    page_says, page_never : tuple of str
        Regular expressions over the visible text of the page.
    exit_codes : frozenset of int
        Of the command. Where it is not 0, one line says why and nothing else is asked.
    """

    rows: int
    groups: frozenset[int] | None = None
    components: frozenset[int] | None = None
    real: frozenset[str] = ANSWERS
    models: frozenset[str] | None = None
    agreement: float | None = None
    all_used: bool = True
    one_of: tuple[tuple[str, str], ...] = ()
    page_says: tuple[str, ...] = ()
    page_never: tuple[str, ...] = ()
    exit_codes: frozenset[int] = field(default=frozenset({0}))


def some(*groups: int) -> frozenset[int]:
    """Numbers of groups that are right."""
    return frozenset(groups)


SEVERAL = frozenset(range(2, 21))
