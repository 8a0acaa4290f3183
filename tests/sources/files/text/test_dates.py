"""Dates with two digits of the year, and with months by name."""

from __future__ import annotations

from datetime import date, datetime

import pyarrow as pa
import pytest

from unveil.sources.files.text.dates import date_style
from unveil.sources.files.text.months import NUMBERS
from unveil.sources.files.text.parse import parse


@pytest.mark.parametrize("form", ["%d.%m.%y", "%m/%d/%y", "%d/%m/%y", "%d.%m.%y %H:%M", "%d-%b-%y"])
def test_short_years_as_in_strptime(form: str) -> None:
    texts = [datetime(year, 1 + year % 12, 13 + year % 16).strftime(form) for year in range(1969, 2069)]
    style = date_style(texts, 0, day_first=False)
    assert style is not None
    assert not style.ambiguous
    found = parse(pa.array(texts), style, pa.array([""])).values.to_pylist()
    assert [str(day)[:10] for day in found] == [str(datetime.strptime(text, form).date()) for text in texts]


@pytest.mark.parametrize(
    "codes", [["10.12.11", "01.02.03"], ["1.2.13", "1.10.4"], ["10.13.15", "10.14.15"], ["1.2.10", "3.0.11", "12.1.14"]]
)
def test_versions_are_no_dates(codes: list[str]) -> None:
    assert date_style(codes, 0, day_first=True) is None


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("3. M\u00e4rz 2020", date(2020, 3, 3)),
        ("24. DEZEMBER 2021", date(2021, 12, 24)),
        ("14 ao\u00fbt 2021", date(2021, 8, 14)),
        ("2 juil. 2020", date(2020, 7, 2)),
        ("25 de diciembre de 2020", date(2020, 12, 25)),
        ("1 gen 2020", date(2020, 1, 1)),
        ("Okt 2020", date(2020, 10, 1)),
        ("Sept. 5, 2021", date(2021, 9, 5)),
    ],
)
def test_names_of_months(text: str, day: date) -> None:
    style = date_style([text], 0, day_first=True)
    assert style is not None
    assert parse(pa.array([text]), style, pa.array([""])).values.to_pylist() == [day]


def test_every_name_is_of_one_month() -> None:
    assert set(NUMBERS.values()) == set(range(1, 13))
    texts = [f"7 {name} 2020" for name in NUMBERS]
    style = date_style(texts, 0, day_first=True)
    assert style is not None
    found = parse(pa.array(texts), style, pa.array([""])).values.to_pylist()
    assert found == [date(2020, month, 7) for month in NUMBERS.values()]
    assert date_style(["Marker 2020", "Marble 2021"], 0, day_first=True) is None
