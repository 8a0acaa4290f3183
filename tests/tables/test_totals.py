"""Rows of totals below a table, and rows that only look like one."""

import pytest

from unveil.tables import prepare

ROWS = "".join(f"shop {n},{n % 3 + 1},{100 + n}\n" for n in range(8))


@pytest.mark.parametrize("total", ["Total,15,828", "Summe:,,", ",,\nTotal,,828", "Average,1.875,103.5"])
def test_a_total_is_no_row(tmp_path, total):
    path = tmp_path / "shops.csv"
    path.write_text(f"shop,size,sales\n{ROWS}{total}\n")
    table = prepare(path).table
    assert table.n_rows == 8
    assert "The last row is one of totals" in table.said[-1]


@pytest.mark.parametrize("last", ["shop 9,15,828", "Total,2,100", "Totality,15,828", "15,828,1"])
def test_other_last_rows_are_rows(tmp_path, last):
    path = tmp_path / "shops.csv"
    path.write_text(f"shop,size,sales\n{ROWS}{last}\n")
    assert prepare(path).table.n_rows == 9


def test_subtotals_among_the_rows_stay(tmp_path):
    path = tmp_path / "shops.csv"
    path.write_text(f"shop,size,sales\nTotal,1,1\n{ROWS}Total,16,829\n")
    assert prepare(path).table.n_rows == 10
