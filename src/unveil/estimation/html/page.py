"""A card as HTML: the class and what differs from its defaults, results, picture, verdicts. No script; all is escaped.

Colours are those of the page around it, light or dark: nothing has a background, lines are half transparent.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from unveil.certificate.certificate import LIGHTS, QUESTIONS, Certificate
from unveil.estimation.html.card import Card
from unveil.estimation.html.svg import image
from unveil.estimation.registry import lookup
from unveil.sources.errors import one_line

LONGEST, LONGEST_CALL = 160, 400  # characters of a result, and of the class with its arguments
SHEET = """<style>
.unveil-card{display:inline-block;max-width:44em;padding:.6em .9em;border:1px solid rgba(128,128,128,.45);\
border-radius:6px;font:13px/1.45 system-ui,sans-serif;color:inherit}
.unveil-card code{display:block;margin-bottom:.5em;white-space:pre-wrap;font-size:12px;background:none;color:inherit}
.unveil-card .both{display:flex;flex-wrap:wrap;gap:.4em 1.4em;align-items:flex-start}
.unveil-card table{border-collapse:collapse;margin:0;background:none;color:inherit;font-size:13px;line-height:1.4}
.unveil-card th,.unveil-card td{border:0;padding:.1em .9em .1em 0;text-align:left;vertical-align:top;\
background:none;color:inherit;white-space:normal;max-width:15em}
.unveil-card th{font-weight:normal;opacity:.75}
.unveil-card p,.unveil-card ul{margin:.35em 0 0}.unveil-card ul{padding-left:1.6em}
.unveil-card details{margin-top:.4em}.unveil-card summary{cursor:pointer;opacity:.75}
@media (prefers-color-scheme:dark){.unveil-card .light{filter:brightness(1.7)}}
</style>"""


def html_of(estimator: Any) -> str | None:
    """What a notebook shows of a fitted estimator; None where it is not fitted, or has nothing of its own to show."""
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return None
    if not estimator._card_from:
        return None
    make: Callable[[Any], Card] = lookup(estimator._card_from)
    card = make(estimator)
    picture = "" if card.picture is None else image(card.picture)
    call = escape(one_line(repr(estimator), LONGEST_CALL, end="…"))
    both = f'<div class="both">{_table(card)}{picture}</div>'
    verdicts = _verdicts(getattr(estimator, "certificate_", None))
    return f'{SHEET}<div class="unveil-card"><code>{call}</code>{both}{verdicts}</div>'


def _table(card: Card) -> str:
    rows = ((escape(name), escape(one_line(words, LONGEST, end="…"))) for name, words in card.results)
    return "<table>" + "".join(f'<tr><th scope="row">{n}</th><td>{w}</td></tr>' for n, w in rows) + "</table>"


def _verdicts(certificate: Certificate | None) -> str:
    """The answers, what speaks against a yes, and below a fold all that was looked at."""
    if certificate is None or not certificate.findings:
        return ""
    parts = []
    for question, asked in QUESTIONS.items():
        answer = certificate.verdicts[question]
        light = f'<span class="light" style="color:{LIGHTS[answer]}">\N{BLACK CIRCLE}</span>'
        parts.append(f"<p>{light} {escape(asked)} <b>{escape(answer.capitalize())}.</b></p>")
        reasons = "".join(f"<li>{escape(found.words)}</li>" for found in certificate.reasons(question))
        parts.append(f"<ul>{reasons}</ul>" if reasons else "")
    whole = certificate._repr_html_()
    return "".join(parts) + f"<details><summary>All that was looked at</summary>{whole}</details>"
