"""What the name of a column says of it: a key, a count, a year, a code, a label.

>>> tokens("PassengerId"), tokens("n_children"), tokens("HTTPCode")
(('passenger', 'id'), ('n', 'children'), ('http', 'code'))
"""

from __future__ import annotations

import re

PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[^\W\d_A-Z]+|[A-Z]+|\d+")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


KEYS = _set(
    "id ids uid uuid guid key pk code codes no nr number sku isbn ean ssn iban ref reference serial barcode phone"
    " telephone mobile hash token pid pidnum idnum"
)
IDS = _set("id ids uid uuid guid pid pidnum idnum")
NUMBERS = _set("no nr number num")
UNNAMED = re.compile(r"|(column|unnamed:?) \d+|row[._ ]?(names?|id|num(ber)?)|index")
OWNERS = _set(
    "user customer passenger order client product item store shop member account session transaction employee patient"
    " subject student row record case device invoice movie person sample vendor seller buyer ticket game match"
)
JOINED = re.compile(rf"(?:{'|'.join(sorted(OWNERS))})(?:id|no|nr|key|code)")
POSTAL = _set("zip zipcode postcode postal plz")
COUNTED = _set("count counts cnt qty quantity freq frequency")
COUNTING = _set("n num nr no number count cnt")
THINGS = _set(
    "children kids siblings sibsp parch rooms bedrooms bathrooms visits purchases clicks goals events orders calls"
    " accidents claims pregnancies dependents persons people passengers doors cars complaints logins"
)
YEARS = _set("year years yr jahr annee ano")
TIMES = _set(
    "t time times step steps tick period day days hour hours week weeks month months minute minutes second seconds"
    " date frame round"
)
MEASURED = (
    _set(
        "dose dosage concentration conc temperature temp age weight height length width depth size distance speed price"
        " amount income salary level"
    )
    | TIMES
)
CALENDAR = {
    **dict.fromkeys(("year", "yr"), 0),
    **dict.fromkeys(("month", "quarter", "qtr"), 1),
    "week": 2,
    **dict.fromkeys(("day", "dayofyear", "dayofmonth", "doy", "yday", "mday"), 3),
    "hour": 4,
    "minute": 5,
}
FREQUENCIES = _set("freq frequency count counts n")
MOMENTS = _set("timestamp time epoch unix ts date datetime created updated at")
LABELS = _set("target class label labels species outcome diagnosis y churn")
RANKS = _set("rank ranking place position")


def tokens(name: str) -> tuple[str, ...]:
    """The words that a name is made of."""
    return tuple(part.lower() for part in PARTS.findall(name))


def says_key(name: str) -> bool:
    """Does it say that its values name rows or things? ``customer_id``, ``InvoiceNo``, ``key``."""
    words = tokens(name)
    if not words or says_count(name):
        return False
    return words[-1] in KEYS or JOINED.fullmatch(words[-1]) is not None


def says_postal(name: str) -> bool:
    """Does it say that its values are postal codes?"""
    return bool(POSTAL & set(tokens(name)))


def says_count(name: str) -> bool:
    """Does it say that its values count something? ``n_visits``, ``Number of rooms``, ``quantity``."""
    words = tokens(name)
    if not words:
        return False
    leads = words[0] in COUNTING and (len(words) > 1 or words[0] in ("n", "count", "cnt"))
    return leads or words[-1] in COUNTED or words[-1] in THINGS


def says_year(name: str) -> bool:
    """Does it say that its values are years?"""
    return bool(YEARS & set(tokens(name)))


def says_time(name: str) -> bool:
    """Does it say that its values count time? ``t``, ``hour``, ``step``."""
    words = tokens(name)
    return len(words) == 1 and words[0] in TIMES


def says_moment(name: str) -> bool:
    """Does it say that its values are moments? ``created_at``, ``timestamp``."""
    return bool(MOMENTS & set(tokens(name)))


def says_measured(name: str) -> bool:
    """Does it say that its values are measured, and so have an order? ``dose``, ``hour``."""
    words = tokens(name)
    return bool(words) and words[-1] in MEASURED | YEARS


def says_frequency(name: str) -> bool:
    """Does it say that its values are how often a row occurs? ``Freq``."""
    words = tokens(name)
    return len(words) == 1 and words[0] in FREQUENCIES


def says_id(name: str) -> bool:
    """Does it say so without a doubt? ``id``, ``patient_id``; not ``NO``, which may be an oxide."""
    words = tokens(name)
    return bool(words) and words[-1] in IDS


def says_number(name: str) -> bool:
    """Is it but a word for a number, of a thing or of things? ``number``, ``No``."""
    words = tokens(name)
    return len(words) == 1 and words[0] in NUMBERS


def says_row(name: str) -> bool:
    """Does it say that its values name the rows, as row names that were written beside a table do?"""
    return UNNAMED.fullmatch(name.strip().lower()) is not None


def says_owner(name: str) -> bool:
    """Does it say whose the row is? ``subject``, ``case``."""
    words = tokens(name)
    return len(words) == 1 and words[0] in OWNERS


def calendar_place(name: str) -> int | None:
    """Which unit of time it names: 0 for years, 1 for months and quarters, ...; None for other names.

    >>> calendar_place("Year"), calendar_place("day_of_year"), calendar_place("size")
    (0, 3, None)
    """
    return CALENDAR.get("".join(tokens(name)))


def says_rank(name: str) -> bool:
    """Does it say that its values are places in an order?"""
    return bool(RANKS & set(tokens(name)))


def says_label(name: str) -> bool:
    """Does it say that its values are what one would want to tell? ``target``, ``species``."""
    words = tokens(name)
    return bool(words) and words[-1] in LABELS and len(words) <= 2
