"""Tables drawn anew: groups or none, columns of all kinds, troubles and formats at random, and the truth about them.

``drawn(7, 20)`` are tables 7 to 26, each a function of its number alone. They are for after roles and thresholds were
chosen: nobody has looked at them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.tables.case import STREAM, Case, Made
from benchmarks.tables.draws import Labels, clouds, days, holes, keys, labels_of, people, sentences, words, words_by
from benchmarks.tables.expected import (
    BAD_CELLS,
    CATEGORIES,
    CATEGORY,
    CONSTANT,
    COUNT,
    DATE,
    FEW,
    GAUSSIANS,
    IDENTIFIER,
    KEY,
    MIXED,
    NAMES,
    NEAR_COPY,
    NOT_CLAIMED,
    NOTES,
    NUMBER,
    SENTINEL,
    YES,
    YES_NO,
    Column,
    Facts,
    column,
    some,
)
from benchmarks.tables.writing import write_arrow, write_json_lines, write_text, write_xlsx
from benchmarks.trust.clustered import centres

SEPARATION = 7.0  # standard deviations between the closest two groups
CLARITY = 0.85  # of categories that tell groups apart
QUESTIONS = 10
AGREEMENT = 0.85
SHARES = (0.3, 0.3, 0.25, 0.15)  # of tables with 1, 2, 3 and 4 groups
TROUBLE = 0.3  # how likely each is


@dataclass
class Draft:
    """A table in the making."""

    random: np.random.Generator
    labels: Labels
    cells: dict[str, list[Any]] = field(default_factory=dict)
    columns: dict[str, Column] = field(default_factory=dict)
    copies: list[tuple[str, str]] = field(default_factory=list)
    text_only: bool = False  # whether a cell is in it that no typed format could hold

    @property
    def n(self) -> int:
        return len(self.labels)

    def add(self, name: str, values: Any, *roles: str, **more: Any) -> None:
        self.cells[name] = values.tolist() if isinstance(values, np.ndarray) else list(values)
        self.columns[name] = column(name, *roles, **more)

    def numbers(self) -> list[str]:
        """Columns of plain numbers that nothing was done to."""
        return [name for name, told in self.columns.items() if told.roles == (NUMBER,) and not told.alerts]


Part = Callable[[Draft], None]


def number_groups(draft: Draft) -> None:
    k, d = int(draft.labels.max()) + 1, int(draft.random.integers(2, 5))
    places = centres(draft.random, k, d, SEPARATION) if k > 1 else np.zeros((1, d))
    rows = clouds(draft.random, draft.labels, places.tolist())
    for at in range(d):
        scale = 10 ** draft.random.uniform(-1, 2)
        draft.add(f"measure_{at}", (scale * (20 + rows[:, at])).round(4), NUMBER)


def category_groups(draft: Draft) -> None:
    k = int(draft.labels.max()) + 1
    for at in range(QUESTIONS):
        likely = (np.arange(k) + at) % 4 if at < QUESTIONS // 2 else draft.random.integers(0, 4, k)
        levels = ("ash", "birch", "cedar", "fir")
        chosen = words_by(draft.random, draft.labels, levels, tuple(likely), CLARITY if k > 1 else 0.4)
        draft.add(f"answer_{at}", chosen, CATEGORY)


def noise_number(draft: Draft) -> None:
    draft.add("noise", (5 + 2 * draft.random.standard_normal(draft.n)).round(4), NUMBER)


def skewed(draft: Draft) -> None:
    draft.add("skewed", draft.random.lognormal(3, 0.5, draft.n).round(3), NUMBER)


def count(draft: Draft) -> None:
    draft.add("events", draft.random.poisson(2.5, draft.n), *FEW)


def flag(draft: Draft) -> None:
    words_for = (("no", "yes"), (0, 1), ("N", "Y"), ("False", "True"))[draft.random.integers(4)]
    draft.add("flag", words(draft.random, draft.n, words_for, (0.6, 0.4)), YES_NO)


def kind(draft: Draft) -> None:
    draft.add("kind", words(draft.random, draft.n, ("copper", "iron", "lead", "tin", "zinc")), CATEGORY)


def telling_category(draft: Draft) -> None:
    k = int(draft.labels.max()) + 1
    levels = ("apple", "banana", "cherry", "date palm")
    likely = tuple(range(k)) if k > 1 else (0,)
    draft.add("fruit", words_by(draft.random, draft.labels, levels, likely, 0.8 if k > 1 else 0.4), CATEGORY)


def telling_count(draft: Draft) -> None:
    k = int(draft.labels.max()) + 1
    rates = 2.0 * 2.0 ** draft.random.permutation(k) if k > 1 else np.array([3.0])
    draft.add("orders", draft.random.poisson(rates[draft.labels]), COUNT, NUMBER, *FEW)


def row_number(draft: Draft) -> None:
    draft.add("row", np.arange(draft.n) + draft.random.integers(0, 2), *KEY)


def key(draft: Draft) -> None:
    draft.add("uid", keys(draft.random, draft.n), IDENTIFIER)


def person(draft: Draft) -> None:
    draft.add("person", people(draft.random, draft.n), *NAMES)


def note(draft: Draft) -> None:
    draft.add("remarks", holes(draft.random, sentences(draft.random, draft.n), 0.2), *NOTES)


def constant(draft: Draft) -> None:
    draft.add("unit", ["metric"] * draft.n, CONSTANT)


def day(draft: Draft) -> None:
    listed = days(draft.n)
    draft.add("day", [listed[at] for at in draft.random.permutation(draft.n)], DATE)


def copy(draft: Draft) -> None:
    """In another unit, rounded a little."""
    for name in draft.numbers()[:1]:
        values = np.array(draft.cells[name])
        draft.add(f"{name}_again", (values / 2.54 + 3).round(4), NUMBER, NEAR_COPY)
        draft.columns[name] = column(name, NUMBER, NEAR_COPY)
        draft.copies.append((name, f"{name}_again"))


def gaps(draft: Draft) -> None:
    for name in draft.numbers()[:2]:
        draft.cells[name] = holes(draft.random, draft.cells[name], 0.1)


def sentinel(draft: Draft) -> None:
    for name in draft.numbers()[-1:]:
        gone = draft.random.random(draft.n) < 0.07
        draft.cells[name] = [-999 if out else value for value, out in zip(draft.cells[name], gone, strict=True)]
        draft.columns[name] = column(name, NUMBER, alerts=(SENTINEL,))


def bad_cell(draft: Draft) -> None:
    for name in draft.numbers()[-1:]:
        draft.cells[name][int(draft.random.integers(draft.n))] = "broken"
        draft.columns[name] = column(name, NUMBER, alerts=(BAD_CELLS,))
        draft.text_only = True


HONEST: tuple[Part, ...] = (noise_number, skewed, count, flag, kind, telling_category, telling_count)
TROUBLES: tuple[Part, ...] = (row_number, key, person, note, constant, day, copy, gaps, sentinel, bad_cell)


def drafted(random: np.random.Generator) -> Draft:
    """Groups or none, then honest columns, then troubles; columns in any order."""
    k = int(random.choice(4, p=SHARES)) + 1
    draft = Draft(random, labels_of(random, *map(int, random.integers(130, 200, k))))
    words_only = random.random() < 0.2
    (category_groups if words_only else number_groups)(draft)
    for part in () if words_only else HONEST:
        if random.random() < TROUBLE:
            part(draft)
    for part in TROUBLES:
        if random.random() < TROUBLE:
            part(draft)
    order = random.permutation(len(draft.cells))
    names = list(draft.cells)
    draft.cells = {names[at]: draft.cells[names[at]] for at in order}
    return draft


def facts_of(draft: Draft) -> Facts:
    k = int(draft.labels.max()) + 1
    kinds = {role for told in draft.columns.values() if told.must_be_used is not False for role in told.roles}
    kinds -= {NEAR_COPY, DATE}
    models = GAUSSIANS | MIXED if kinds == {NUMBER} else CATEGORIES if kinds == {CATEGORY} else MIXED
    asked = {"groups": some(k), "real": frozenset({YES}), "agreement": AGREEMENT} if k > 1 else {"real": NOT_CLAIMED}
    return Facts(draft.n, models=models, one_of=tuple(draft.copies), **asked)  # type: ignore[arg-type]


TEXTS: dict[str, tuple[str, dict[str, Any]]] = {
    "commas": (".csv", {}),
    "semicolons, decimal commas, latin-1": (".csv", {"separator": ";", "decimal": ",", "encoding": "latin-1"}),
    "tabs": (".tsv", {"separator": "\t"}),
    "gzipped": (".csv.gz", {}),
    "UTF-16": (".csv", {"encoding": "utf-16"}),
    "bars": (".txt", {"separator": "|"}),
    "a mark of UTF-8, Windows line ends": (".csv", {"encoding": "utf-8-sig", "line_end": "\r\n"}),
    "comments above": (".csv", {"above": ("# made by a script", "# second, line")}),
}
TYPED = ("JSON lines", "Parquet", "Excel")


def _write(path: Path, cells: dict[str, list[Any]], how: str) -> Path:
    if how in TEXTS:
        suffix, options = TEXTS[how]
        return write_text(path.with_name(path.name + suffix), cells, **options)
    if how == "Excel":
        return write_xlsx(path.with_name(path.name + ".xlsx"), cells)
    if how == "Parquet":
        return write_arrow(path.with_name(path.name + ".parquet"), pa.table(cells))
    plain = {name: [v.isoformat() if hasattr(v, "isoformat") else v for v in values] for name, values in cells.items()}
    return write_json_lines(path.with_name(path.name + ".jsonl"), plain)


def table(number: int) -> Case:
    """The table of a number."""
    random = np.random.default_rng([STREAM, 1, number])
    draft = drafted(random)
    formats = [*TEXTS] if draft.text_only else [*TEXTS, *TYPED]
    how = formats[int(random.integers(len(formats)))]
    name = f"held_out_{number}"

    def make(folder: Path, _: np.random.Generator) -> Made:
        return Made(_write(folder / name, draft.cells, how), draft.labels)

    k = int(draft.labels.max()) + 1
    special = f"{how}; {k} group{'s' * (k > 1)}; {', '.join(draft.cells)}"
    return Case(name, special, make, [draft.columns[column] for column in draft.cells], facts_of(draft))


def drawn(seed: int, count: int) -> list[Case]:
    """So many, from this number on."""
    return [table(number) for number in range(seed, seed + count)]
