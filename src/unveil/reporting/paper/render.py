"""`render`: one HTML page with everything inside: styles, plotting library, figures. It asks the network for nothing.

Text from the data reaches the page on two ways. In the markup jinja escapes it, and characters that turn the direction
of the text around them are shown as such. In figures it is compressed, and so has no meaning to a reader of markup. A
content security policy admits by hash the scripts written here and the plotting library, and nothing else: even a
markup that slipped through could run nothing and load nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from unveil.certificate import Certificate
from unveil.certificate.certificate import LIGHTS, QUESTIONS, SEVERITIES
from unveil.plot.style import PALETTE
from unveil.reporting.paper.check import all_blocks, checked
from unveil.reporting.paper.figures import height_of, plain_figure, steps_of
from unveil.reporting.paper.marks import full_cell, share, spark_path
from unveil.reporting.paper.packing import digest, library, packed, page_script, resource
from unveil.reporting.paper.shelf import shelved
from unveil.reporting.parts import Block, Columns, FigureBlock, Fold, Listing, Page, Replay, TableBlock, Text, Verdicts

if TYPE_CHECKING:
    from jinja2 import Environment

_MACROS: dict[type, str] = {
    Text: "text",
    FigureBlock: "figure",
    TableBlock: "table",
    Columns: "columns",
    Replay: "replay",
    Verdicts: "verdicts",
    Listing: "listing",
    Fold: "fold",
}
_EARLY = "document.documentElement.classList.add('js');"  # before anything is drawn, so that nothing jumps
_UNSEEN = "\N{REPLACEMENT CHARACTER}"
_TURNING = [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]  # embeddings, overrides and isolates of direction
_UNPRINTABLE = [*range(9), 11, 12, *range(14, 32), 127, *range(0xD800, 0xE000)]
_SHOWN = dict.fromkeys([*_TURNING, *_UNPRINTABLE], _UNSEEN) | {0x2028: " ", 0x2029: " "}


def render(page: Page) -> str:
    """The page as text.

    Raises
    ------
    ValueError
        If an anchor is not one or is taken twice, a table is not rectangular, or a figure has traces that the page
        cannot draw.
    """
    drawn = [block for block in all_blocks(checked(page)) if isinstance(block, FigureBlock | Replay)]
    figures = {block.name: plain_figure(block.plot) for block in drawn}
    environment = _environment(page, figures)
    scripts = {"early": _EARLY, "page": page_script()}
    hashes = [digest(script) for script in scripts.values()] + ([library().digest] if figures else [])
    return environment.get_template("template.html.j2").render(
        page=page,
        lights=verdicts(page.lights),
        examined=any(isinstance(block, Verdicts) and block.certificate is page.lights for block in all_blocks(page)),
        library=library().text if figures else "",
        figures=packed(shelved(figures)) if figures else "",
        policy=" ".join(f"'{name}'" for name in hashes),
        scripts=scripts,
        style=resource("style.css") + _group_colours(),
    )


def verdicts(certificate: Certificate) -> list[dict[str, Any]]:
    """For each question its answer, the answer's colour, what speaks against it and what was fine."""
    found = []
    for name, question in QUESTIONS.items():
        about = [finding for finding in certificate.findings if finding.question == name]
        about.sort(key=lambda finding: SEVERITIES.index(finding.severity))
        answer = certificate.verdicts[name]
        light = {"name": name, "question": question, "answer": answer, "colour": LIGHTS[answer]}
        told = [finding for finding in about if finding.severity != "fine"]
        found.append(light | {"told": told, "fine": [finding for finding in about if finding.severity == "fine"]})
    return found


def shown_text(value: Any) -> Any:
    """What a template writes: text whose characters cannot turn or hide what stands around them.

    >>> shown_text("a\\u202eb\\x00c\\td")
    'a\ufffdb\ufffdc\\td'
    """
    return value.translate(_SHOWN) if isinstance(value, str) and not isinstance(value, Markup) else value


def _environment(page: Page, figures: dict[str, dict[str, Any]]) -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("unveil.reporting.paper", "."),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown_text,
        trim_blocks=True,
        lstrip_blocks=True,
    )

    def draw(block: Block) -> Markup:
        """A block by the macro for its class."""
        macros = environment.get_template("blocks.html.j2").module
        made: Markup = getattr(macros, _MACROS[type(block)])(block)
        return made

    environment.globals |= {
        "draw": draw,
        "judged": verdicts,
        "main_certificate": page.lights,
        "n_colours": len(PALETTE),
        "height": lambda name: height_of(figures[name]),
        "steps": lambda replay: replay.steps or steps_of(figures[replay.name]),
        "n_frames": lambda name: len(figures[name].get("frames", ())),
    }
    environment.filters |= {"full": full_cell, "share": share, "spark": spark_path}
    return environment


def _group_colours() -> str:
    """Colours of groups as figures have them; `style.css` has that of the first on dark paper."""
    return "".join(f".c{number} {{ --group: {colour}; }}\n" for number, colour in enumerate(PALETTE))
