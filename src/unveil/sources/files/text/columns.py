"""What the columns of a sample hold: numbers and their marks and units, dates, truth values, or text.

A column is taken for something when nearly all of its cells are: one in a hundred may be wrong, and a single one in a
column of twenty. Words for missing cells are found by looking at what else is in a column of numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from unveil.sources.files.text.cells import MONEY_FORM, NumberForm, is_address, number_form
from unveil.sources.files.text.clocks import clock_style
from unveil.sources.files.text.dates import date_style
from unveil.sources.files.text.style import ColumnStyle

MOST_BAD = 0.01  # share of a column's cells that may not fit it
ENOUGH_CELLS = 20  # of a column for a single cell that does not fit
_SIGNS = ("-", "--", "---", ".", "..", "*", "**", "?", "??")
_SHORT = (
    "n.a.",
    "n.a",
    "na",
    "n/a",
    "#n/a",
    "nan",
    "nil",
    "none",
    "null",
    "unk",
    "tbd",
    "tba",
    "void",
    "blank",
    "empty",
)
_WORDS = ("missing", "unknown", "undefined", "unavailable", "error", "not available", "not applicable", "not known")
_EXCEL = ("#value!", "#div/0!", "#ref!", "#name?", "#num!")
SOFT_WORDS = frozenset([*_SIGNS, *_SHORT, *_WORDS, *_EXCEL, "no data", "no answer", "no value", "not a number"])
LONGEST_WORD = 20  # of a word that stands for a missing cell
LEADING_ZEROS = "its numbers start with zeros, which numbers would lose"
INT64_DIGITS = 18  # whole numbers of so many digits fit int64


class ColumnsGuess(NamedTuple):
    """Styles of the columns, and what the table as a whole uses."""

    styles: tuple[ColumnStyle, ...]
    decimal: str
    thousands: str
    missing: tuple[str, ...]


def allowed_bad(n_cells: int) -> int:
    """How many of so many cells may not fit their column."""
    return max(int(n_cells * MOST_BAD), 1 if n_cells >= ENOUGH_CELLS else 0)


class _Column(NamedTuple):
    """Cells of a column that are not missing, and those of them that look like numbers."""

    cells: list[str]
    forms: list[NumberForm]
    others: Counter[str]  # cells that are no numbers


def guess_columns(
    columns: Sequence[Sequence[str]], usual: Iterable[str], decimal: str | None, comma_locale: bool
) -> ColumnsGuess:
    """Styles of `columns`, whose cells are text; `usual` are words for missing cells, `decimal` what the user said.

    `comma_locale` says that the table is separated as where decimals are written with commas.
    """
    words = frozenset(usual)
    looked = [_looked(cells, words) for cells in columns]
    found = [missing_word for column in looked for missing_word in _missing_words(column)]
    missing = tuple(dict.fromkeys(found))
    looked = [_without(column, frozenset(missing)) for column in looked]
    mark, sure = (decimal, True) if decimal else _decimal(looked, comma_locale)
    styles = tuple(_style(column, mark, sure, comma_locale or mark == ",") for column in looked)
    thousands = Counter(style.thousands for style in styles if style.thousands)
    return ColumnsGuess(styles, mark, thousands.most_common(1)[0][0] if thousands else "", missing)


def _looked(cells: Sequence[str], words: frozenset[str]) -> _Column:
    known = [cell for cell in (cell.strip() for cell in cells) if cell not in words]
    forms = [(cell, number_form(cell)) for cell in known]
    others = Counter(cell for cell, form in forms if form is None)
    return _Column(known, [form for _, form in forms if form is not None], others)


def _without(column: _Column, missing: frozenset[str]) -> _Column:
    """Without the words for missing cells, where the rest are numbers or dates."""
    if not missing.intersection(column.others):
        return column
    rest = _looked(column.cells, missing)
    return rest if _style(rest, ".", False, False).kind in ("number", "integer", "date") else column


def _missing_words(column: _Column) -> list[str]:
    """Words that stand for missing cells in a column whose other cells are numbers or dates."""
    if not column.others or len(column.others) > len(SOFT_WORDS):
        return []
    few = allowed_bad(len(column.cells))  # a few errors of a spreadsheet are listed, many are taken for its habit
    soft = [word for word, count in column.others.items() if is_soft(word, count > few)]
    rest = Counter({word: count for word, count in column.others.items() if word not in soft})
    if column.forms and (not rest or sum(rest.values()) <= allowed_bad(len(column.cells))):
        return soft
    if soft:
        known = [cell for cell in column.cells if cell not in soft]
        return soft if known and date_style(known, allowed_bad(len(known)), True) else []
    (word, count), *more = rest.most_common(2)
    lonely = sum(counted for _, counted in more) <= allowed_bad(len(column.cells)) and len(rest) <= 2
    often = count > max(1, allowed_bad(len(column.cells)))  # a few cells are listed as such, whatever they hold
    return [word] if lonely and often and _is_word(word) and len(column.forms) >= max(count, 5) else []


def is_soft(word: str, often: bool) -> bool:
    """Whether a word stands for a missing cell among numbers; errors of spreadsheets do where they come often."""
    return word.lower() in SOFT_WORDS and (often or word.lower() not in _EXCEL)


def _is_word(cell: str) -> bool:
    return len(cell) <= LONGEST_WORD and not any(letter.isdigit() for letter in cell)


def _decimal(columns: Sequence[_Column], comma_locale: bool) -> tuple[str, bool]:
    """The decimal mark of the table, by a vote of the columns, and whether any cell settles it."""
    columns = [column for column in columns if _is_of_numbers(column)]
    votes: Counter[str] = Counter()
    for column in columns:
        votes.update({mark for form in column.forms if (mark := _settled_mark(form))})
    if votes["."] or votes[","]:
        return ("," if votes[","] > votes["."] else "."), True
    commas = any(form.decimal == "," for column in columns for form in column.forms)
    points = any(form.decimal == "." for column in columns for form in column.forms)
    if commas and not points:
        grouped = any(_like_thousands(column.forms, ",") for column in columns)
        return (".", False) if grouped else (",", False)
    if points and comma_locale and any(_like_thousands(column.forms, ".") for column in columns):
        return ",", False
    return ".", False


def _is_of_numbers(column: _Column) -> bool:
    """Are most cells numbers, and not addresses of the internet, whose points are no marks?"""
    return 2 * len(column.forms) > len(column.cells) and not all(map(is_address, column.cells))


def _settled_mark(form: NumberForm) -> str:
    """The decimal mark that a cell shows beyond doubt, by its decimals or by its thousands."""
    if form.thousands in (".", ","):
        return "," if form.thousands == "." else "."
    return "" if form.ambiguous else form.decimal


def _like_thousands(forms: Sequence[NumberForm], mark: str) -> bool:
    """Do numbers with three digits behind the mark stand among whole numbers below a thousand, and none above?"""
    marked = [form for form in forms if form.decimal == mark]
    plain = [form for form in forms if form.whole and not form.thousands]
    return bool(marked and plain) and all(form.digits <= 3 for form in plain) and all(f.ambiguous for f in marked)


def _style(column: _Column, decimal: str, sure: bool, day_first: bool) -> ColumnStyle:
    """The style of one column."""
    n = len(column.cells)
    if n == 0:
        return ColumnStyle("empty")
    allowed = allowed_bad(n)
    if sum(cell.lower() in ("true", "false") for cell in column.cells) >= n - allowed:
        return ColumnStyle("yes/no")
    if len(column.forms) >= n - allowed and (style := _number_style(column, decimal, sure, allowed)):
        return style
    dates = date_style(column.cells, allowed, day_first)
    if dates is not None:
        return dates
    if times := clock_style(column.cells, allowed):
        return times
    share = len(column.forms) / n
    wrong = ", ".join(repr(word) for word, _ in column.others.most_common(3))
    why = f"{n - len(column.forms)} of {n} cells looked at are no numbers, such as {wrong}" if share >= 0.5 else ""
    return ColumnStyle("text", why=why)


def _number_style(column: _Column, decimal: str, sure: bool, allowed: int) -> ColumnStyle | None:
    """Numbers of one unit and one way of writing; None where the cells do not agree on that."""
    unit, wrong = _unit(column)
    if wrong > allowed:
        return None
    marks = Counter(mark for form in column.forms if (mark := _settled_mark(form)))
    own = marks.most_common(1)[0][0] if marks else decimal
    thousands = _thousands(column.forms, own)
    fits = sum(_fits(form, own, thousands) for form in column.forms)
    if len(column.cells) - fits > allowed:
        return None
    open_marks = not marks and not sure and any(form.ambiguous for form in column.forms)
    if thousands == "." and all(map(is_address, column.cells)):
        return ColumnStyle("text")
    whole = all(form.whole or (form.ambiguous and form.decimal == thousands) for form in column.forms)
    if whole and not unit and (why := _not_a_quantity(column.forms)):
        return ColumnStyle("text", why=why)
    return ColumnStyle("integer" if whole and not unit else "number", own, thousands, unit, ambiguous=open_marks)


def _not_a_quantity(forms: Sequence[NumberForm]) -> str:
    """Why whole numbers stay text, if they should."""
    if any(form.zero_led for form in forms):
        return LEADING_ZEROS
    if any(form.digits > INT64_DIGITS for form in forms):
        return "its numbers have more digits than a number can keep"
    return ""


def _thousands(forms: Sequence[NumberForm], decimal: str) -> str:
    """The mark between thousands, if there is one."""
    used = Counter(form.thousands for form in forms if form.thousands)
    used.update(form.decimal for form in forms if form.ambiguous and form.decimal != decimal)
    used.pop(decimal, None)
    return used.most_common(1)[0][0] if used else ""


def _fits(form: NumberForm, decimal: str, thousands: str) -> bool:
    if form.ambiguous and form.decimal == thousands:
        return True
    return form.decimal in ("", decimal) and form.thousands in ("", thousands)


def _unit(column: _Column) -> tuple[str, int]:
    """The unit of a column of numbers, and how many cells have another one."""
    units = Counter(form.before or form.after for form in column.forms)
    both = sum(bool(form.before and form.after) for form in column.forms)
    bare = units.pop("", 0)
    if not units:
        return "", both
    (unit, count), *_ = units.most_common(1)
    wrong = sum(units.values()) - count + both
    if unit in ("%", "‰") or MONEY_FORM.fullmatch(unit):
        return unit, wrong
    return unit, wrong + bare  # a word such as kg is a unit only where all cells have it
