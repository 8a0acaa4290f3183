"""Names of months in English, German, French, Spanish and Italian, full and short, as numbers."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

_NAMES = (
    "jan january januar j\u00e4n j\u00e4nner janv janvier ene enero gen gennaio",
    "feb february februar f\u00e9v f\u00e9vr f\u00e9vrier fev fevr fevrier febrero febbraio",
    "mar march m\u00e4r m\u00e4rz mrz mars marzo",
    "apr april avr avril abr abril aprile",
    "may mai mayo mag maggio",
    "jun june juni juin junio giu giugno",
    "jul july juli juil juillet julio lug luglio",
    "aug august ao\u00fbt aout ago agosto",
    "sep sept september septembre septiembre setiembre set settembre",
    "oct october okt oktober octobre octubre ott ottobre",
    "nov november novembre noviembre",
    "dec december dez dezember d\u00e9c d\u00e9cembre decembre dic diciembre dicembre",
)
NUMBERS = {name: number for number, names in enumerate(_NAMES, start=1) for name in names.split()}
PATTERN = rf"(?i:{'|'.join(sorted(NUMBERS, key=len, reverse=True))})"
_KEYS = pa.array(list(NUMBERS))
_DIGITS = pa.array([f"{number:02}" for number in NUMBERS.values()])


def two_digits(months: pa.Array) -> pa.Array:
    """Numbers of two digits from digits or names."""
    named = _DIGITS.take(pc.index_in(pc.utf8_lower(months), _KEYS))
    return pc.coalesce(named, pc.utf8_lpad(months, 2, "0"))
