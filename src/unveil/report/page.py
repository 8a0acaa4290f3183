"""One HTML page with everything inside: styles, plotly.js, figures. It opens offline and asks the network for nothing.

Text from the data reaches the page on two ways. In the markup jinja escapes it. In figures it is JSON inside
<script type="application/json">, where every <, > and & is written as a \\u escape, so no name can end the element.
A content security policy admits by hash the two scripts written here, and nothing else: even a markup that slipped
through could run nothing and load nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
from importlib import resources
from typing import Any

from unveil.report.sections import Figure

_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def render(content: dict[str, Any]) -> str:
    """The page as text."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from plotly.offline import get_plotlyjs

    environment = Environment(
        loader=PackageLoader("unveil.report", "."), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.lstrip_blocks = True
    environment.globals["figure_json"] = figure_json
    scripts = {"plotly": _script(get_plotlyjs()), "starter": _script(_resource("figures.js"))}
    hashes = " ".join(f"'{_hash(script)}'" for script in scripts.values())
    template = environment.get_template("template.html.j2")
    return template.render(**content, scripts=scripts, hashes=hashes, style=_resource("style.css"))


def figure_json(figure: Figure) -> str:
    """Data and layout of a figure for a script element; title and caption stand in the page."""
    plain = json.loads(figure.plot.to_json(validate=False))
    layout = plain["layout"]
    for name in ("title", "meta", "template"):
        layout.pop(name, None)
    layout["margin"] = {"l": 60, "r": 16, "t": 24, "b": 55}
    return safe_json({"data": plain["data"], "layout": layout})


def safe_json(value: Any) -> str:
    """JSON that can stand inside a script element whatever its strings hold.

    >>> safe_json(["</script><!--"])
    '["\\\\u003c/script\\\\u003e\\\\u003c!--"]'
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for letter, escape in _ESCAPES.items():
        text = text.replace(letter, escape)
    return text


def _script(text: str) -> str:
    """Code that can stand in a script element and hashes as browsers read it."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _hash(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _resource(name: str) -> str:
    return resources.files("unveil.report").joinpath(name).read_text(encoding="utf-8")
