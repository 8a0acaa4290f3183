"""The roles that a column may have, the words for them, and what a user may call them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import NamedTuple

ROLES: dict[str, str] = {
    "number": "number",
    "count": "count",
    "yes/no": "yes/no",
    "category": "category",
    "ordered category": "category",
    "date": "",
    "identifier": "",
    "row number": "",
    "constant": "",
    "near-copy": "",
    "free text": "",
    "label": "",
    "time": "",
    "weights": "",
    "dropped": "",
}
"""Every role, and what a model takes its columns for; nothing where they are not modelled."""

SYNONYMS: dict[str, str] = {
    **dict.fromkeys(("numeric", "numerical", "float", "continuous", "real", "integer", "int"), "number"),
    **dict.fromkeys(("counts", "poisson"), "count"),
    **dict.fromkeys(("yesno", "yes-no", "bool", "boolean", "binary", "flag"), "yes/no"),
    **dict.fromkeys(("categorical", "categories", "nominal", "factor", "word", "words"), "category"),
    **dict.fromkeys(("ordered", "ordinal", "ordered-category", "rating", "scale"), "ordered category"),
    **dict.fromkeys(("dates", "datetime", "timestamp"), "date"),
    **dict.fromkeys(("id", "ids", "key", "name", "uuid"), "identifier"),
    **dict.fromkeys(("row", "index", "rownumber", "row-number"), "row number"),
    **dict.fromkeys(("copy", "duplicate", "near copy"), "near-copy"),
    **dict.fromkeys(("text", "free-text", "comment", "string"), "free text"),
    **dict.fromkeys(("target", "class", "outcome"), "label"),
    **dict.fromkeys(("order",), "time"),
    **dict.fromkeys(("weight", "sample_weight"), "weights"),
    **dict.fromkeys(("drop", "ignore", "skip", "none", "unused"), "dropped"),
}


class ColumnRole(NamedTuple):
    """What a column is taken for, and why."""

    name: str
    role: str  # a word of `ROLES`
    used: bool  # is it modelled?
    why: str  # a sentence
    alerts: tuple[str, ...] = ()
    kind: str = ""  # what the model takes it for: "number", "count", "yes/no", "category", or nothing
    levels: tuple[str, ...] = ()  # of yes/no (no first), categories and ordered categories (in their order)
    sentinels: tuple[float, ...] = ()
    copy_of: str = ""
    unit: str = ""
    rest: str = ""  # the level that joins rare values, one of `levels`


def as_role(name: str, role: str, why: str, levels: Iterable[str] = (), rest: str = "") -> ColumnRole:
    """A column in a role, used if a model takes such columns."""
    kind = ROLES[role]
    return ColumnRole(name, role, bool(kind), why, kind=kind, levels=tuple(levels), rest=rest)


def role_word(word: str, column: str) -> str:
    """The role that a user means by a word; ValueError with the nearest for one that is none.

    >>> role_word("id", "PassengerId")
    'identifier'
    """
    plain = " ".join(str(word).lower().replace("_", " ").split())
    for form in (plain, plain.replace(" ", "-"), plain.replace(" ", "_")):
        if form in ROLES:
            return form
        if form in SYNONYMS:
            return SYNONYMS[form]
    near = get_close_matches(plain, [*ROLES, *SYNONYMS], n=1)
    meant = f"; did you mean {near[0]!r}?" if near else "."
    raise ValueError(f"roles: {column!r} cannot be {word!r}{meant} A role is one of {', '.join(ROLES)}")


def column_name(name: object, names: Iterable[str], argument: str) -> str:
    """`name`, if it is one of the columns; ValueError with the nearest if not."""
    known = list(names)
    if isinstance(name, str) and name in known:
        return name
    lower: Mapping[str, str] = {one.lower(): one for one in known}
    close = get_close_matches(str(name).lower(), list(lower), n=1)
    meant = f"; did you mean {lower[close[0]]!r}?" if close else "."
    shown = ", ".join(map(repr, known[:10])) + (f" and {len(known) - 10} more" if len(known) > 10 else "")
    raise ValueError(f"{argument}: there is no column {name!r}{meant} The table has {shown}")
