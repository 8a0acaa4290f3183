"""From an analysis to a page: which sections there are, and in which order."""

from __future__ import annotations

from datetime import datetime

import unveil
from unveil.plot.labels import plain
from unveil.reporting.headline import headline, naming, rests_on
from unveil.reporting.parts import Page, Section
from unveil.reporting.reproduce import ReportRequest
from unveil.reporting.sections.data import data
from unveil.reporting.sections.dimensions import dimensions
from unveil.reporting.sections.groups import groups
from unveil.reporting.sections.how_many import how_many
from unveil.reporting.sections.label import label
from unveil.reporting.sections.missing import missing
from unveil.reporting.sections.outliers import outliers
from unveil.reporting.sections.plane import plane
from unveil.reporting.sections.replay import replay
from unveil.reporting.sections.reproduce import reproduce
from unveil.reporting.sections.time import time
from unveil.reporting.sections.together import together
from unveil.reporting.sections.verdicts import verdicts
from unveil.reporting.study.analysis import Analysis

SECTIONS = (data, together, missing, dimensions, plane, how_many, groups, outliers, label, time, replay)
"""In the order of the page, before the verdicts. One that has nothing to say of a table returns None."""

TITLE_LENGTH = 80


def page_of(analysis: Analysis, request: ReportRequest) -> Page:
    """The whole page."""
    found: list[Section | None] = [write(analysis) for write in SECTIONS]
    lights = naming(analysis).certificate(analysis.found.judged.certificate)
    sections = [*(section for section in found if section is not None), verdicts(analysis, lights)]
    return Page(
        title=plain(analysis.prepared.table.title, TITLE_LENGTH),
        headline=headline(analysis),
        rests_on=rests_on(analysis),
        lights=lights,
        sections=[*sections, reproduce(analysis, request)],
        seed=analysis.settings.seed,
        meta={"version": unveil.__version__, "date": datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z")},
    )
