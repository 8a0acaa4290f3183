from tests.reporting.study.made import analysed, blobs, visits
from unveil.reporting.parts import FigureBlock
from unveil.reporting.sections.missing import missing


def test_a_table_without_holes_has_no_such_section():
    assert missing(analysed(blobs(60), max_components=1)) is None


def test_holes_are_counted_and_the_worst_column_is_named():
    frame, _ = visits(120)
    section = missing(analysed(frame, max_components=1))
    assert section is not None
    holes = frame["spent"].isna()
    assert section.lead.startswith(f"{holes.sum()} of 120 rows miss at least one cell")
    assert f"spent misses most ({holes.mean():.0%})" in section.lead
    assert any(isinstance(block, FigureBlock) for block in section.blocks)
