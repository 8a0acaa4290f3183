import json

import numpy as np
import pytest


@pytest.fixture
def tables(tmp_path):
    """Last year and this year: x moves, one group shrinks, a town is new, a column comes and one goes."""
    random = np.random.default_rng(5)
    for name, share, shift, rows in (("old.csv", 0.5, 0.0, 300), ("new.csv", 0.2, 1.0, 250)):
        far = random.random(rows) < share
        x, y = random.normal(shift, 1.0, rows), random.normal(8.0 * far, 1.0)
        towns = np.where(far, "York", "Bath").astype(object)
        towns[: rows // 50] = "Hull" if shift else "York"
        extra = "gone" if name == "old.csv" else "come"
        y[3] += 30.0 * shift
        lines = [f"k{n:04d},{a:.4f},{b:.4f},{t},{n % 7}.5" for n, (a, b, t) in enumerate(zip(x, y, towns, strict=True))]
        (tmp_path / name).write_text(f"key,x,y,town,{extra}\n" + "\n".join(lines) + "\n")
    return tmp_path


def test_what_changed_on_a_page(run, tables):
    done = run("compare", "old.csv", "new.csv", "--max-components", 3)
    assert done.exit_code == 0, done.output
    page = " ".join(done.stdout.split())
    for words in (
        "300 rows then, 250 now The tables differ.",
        "x (large)",
        "Columns that are new: come. Columns that are gone: gone.",
        "new: Hull (5 rows)",
        "higher: median",
    ):
        assert words in page, words


def test_json_for_machines(run, tables):
    done = run("compare", "old.csv", "new.csv", "--columns", "x,y", "--max-components", 3, "--json")
    plain = json.loads(done.stdout)
    assert {column["name"]: column["size"] for column in plain["columns"]} == {"x": "large", "y": "clear"}
    assert plain["misfits"]["rows"][0] == 4
    assert sorted(group["changed"] for group in plain["groups"]) == [True, True]


def test_tables_that_cannot_be_compared(refused, tables):
    assert "gone.csv: no such file" in refused("compare", "old.csv", "gone.csv")
    assert "did you mean 'town'?" in refused("compare", "old.csv", "new.csv", "--roles", "twon=category")
