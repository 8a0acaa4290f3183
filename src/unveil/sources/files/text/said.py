"""What was guessed of the columns of a text table, in sentences; what is plain is not said."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from unveil.sources.files.text.clocks import CLOCK
from unveil.sources.files.text.layout import TextLayout
from unveil.sources.files.text.style import ColumnStyle

SHOWN = 5  # names in a sentence
_ORDERS = {"dmy": "day, month, year", "mdy": "month, day, year", "ymd": "year, month, day", "ym": "year, month"} | {
    "my": "month, year",
    "yq": "year and quarter, of which it is the first day",
    "qy": "quarter, of which it is the first day, and year",
}


def named(names: Sequence[str]) -> str:
    """Names of columns in a sentence, the first few of many."""
    shown = ", ".join(map(repr, names[:SHOWN]))
    return shown if len(names) <= SHOWN else f"{shown} and {len(names) - SHOWN} more"


def layout_words(layout: TextLayout) -> list[str]:
    """Sentences on units, dates, marks that could be read otherwise, and numbers that stay text."""
    said: dict[str, list[str]] = defaultdict(list)
    for name, style in layout.styles.items():
        if sentence := _sentence(style, layout.dialect.decimal):
            said[sentence].append(name)
    return [sentence.format(named(names)) for sentence, names in said.items()]


def _sentence(style: ColumnStyle, decimal: str) -> str:
    """What there is to say of a column, with a place for its name."""
    if style.kind == "date" and not style.iso:
        order = _ORDERS[style.order]
        doubt = " That is a guess: no date shows which number is the day." if style.ambiguous else ""
        return f"Dates in {{}} are read as {order}.{doubt}"
    if style.none:
        return "'None' in {} is taken for a word, as missing cells are written otherwise."
    if style.why:
        why = style.why.replace("{", "{{").replace("}", "}}")
        return f"{{}} stays text: {why}."
    if style.order == CLOCK:
        return "Times in {} are read in hours: 8:30 is 8.5."
    if style.unit:
        what = "the number before it" if style.unit == "%" else "the amount"
        unit = style.unit.replace("{", "{{").replace("}", "}}")
        return f"{{}} is in {unit}: read as {what}."
    if style.kind in ("number", "integer") and style.ambiguous:
        mark = "thousands" if style.thousands else "decimals"
        return f"The marks in {{}} are taken for {mark}, which is a guess."
    if style.kind == "number" and style.decimal != decimal:
        return f"Decimals in {{}} are written with a {'comma' if style.decimal == ',' else 'point'}."
    return ""
