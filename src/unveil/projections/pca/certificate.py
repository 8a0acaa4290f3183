"""The certificate of a fit that is an eigenproblem: does S u = lambda u hold, and are the directions orthonormal?"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from unveil.certificate import Certificate, Finding, examine
from unveil.core.result import History
from unveil.projections.pca.routes import FLOAT_EPSILON, Spectrum

EXACT_RESIDUAL = 1e-9  # of the largest variance: a residual below this share moves no variance in its first nine digits
MOST_COMPARED = 256  # directions that are compared with each other


def certify(spectrum: Spectrum, kept: int, approximate: bool, asked: bool = False, stream: bool = False) -> Certificate:
    """Findings of a spectrum of which the first `kept` components are used, a number that the user `asked` for or not.

    Where the route is meant to be `approximate`, a residual that is not rounding is a note, else a warning. Where all
    is LAPACK's, which hardly ever fails without a word, it is looked at when somebody asks.
    """
    at_once = *_convergence(spectrum), *_rounding(spectrum, kept, asked, stream)
    later = partial(_exactness, spectrum, kept, approximate)
    return Certificate(at_once, later) if callable(spectrum.off) else Certificate((*at_once, *later()))


def _exactness(spectrum: Spectrum, kept: int, approximate: bool) -> tuple[Finding, ...]:
    return *_residual(spectrum, approximate), *_orthonormality(spectrum, kept)


def certify_passes(history: History, spectrum: Spectrum, kept: int, *without: str) -> Certificate:
    """Findings of the passes to a plane, and of the plane; `without` are those of it that do not apply."""
    plane = [found for found in certify(spectrum, kept, approximate=False).findings if found.name not in without]
    return Certificate((*findings_of(history), *plane))


def findings_of(history: History) -> list[Finding]:
    """Findings of passes that were made once: there are no restarts."""
    return [found for found in examine(history).findings if found.name != "restarts"]


def _convergence(spectrum: Spectrum) -> Iterator[Finding]:
    passes = f"{spectrum.passes} passes"
    if spectrum.converged is True:
        yield Finding("converged", "fine", f"converged after {passes} over the rows", float(spectrum.passes))
    elif spectrum.converged is False:
        message = f"not converged: stopped at the limit of {passes} over the rows"
        count = float(spectrum.passes)
        yield Finding("converged", "warning", message, count, kind="not_converged", remedy="raise tol")


def _residual(spectrum: Spectrum, approximate: bool) -> Iterator[Finding]:
    residual = spectrum.residual
    said = f"S u = lambda u holds to {residual:.1e} of the largest variance"
    if residual <= EXACT_RESIDUAL:
        yield Finding("residual", "fine", said, residual)
    elif approximate:
        way = "raise iterated_power or take svd_solver='arpack' for more digits"
        yield Finding("residual", "note", f"{said}: {way}", residual)
    else:
        yield Finding("residual", "warning" if spectrum.converged is None else "note", said, residual)


def _orthonormality(spectrum: Spectrum, kept: int) -> Iterator[Finding]:
    some = spectrum.components[: min(kept, MOST_COMPARED)]
    worst = float(np.abs(some @ some.T - np.eye(len(some))).max(initial=0.0))
    severity = "fine" if worst <= EXACT_RESIDUAL else "warning"
    yield Finding("orthonormality", severity, f"components are orthonormal to {worst:.1e}", worst)


def _rounding(spectrum: Spectrum, kept: int, asked: bool, stream: bool) -> Iterator[Finding]:
    """Variances that are there in name alone: the covariance of so many columns is not known better."""
    values = spectrum.values[:kept]
    if not spectrum.total > 0:
        message = "the rows do not differ: there is no variance to find directions for"
        severity = "doubt" if stream or spectrum.weight <= 1 else "warning"  # more rows may come
        yield Finding("variance", severity, message, 0.0, kind="point", remedy="look at the columns that were read")
        return
    floor = FLOAT_EPSILON * spectrum.components.shape[1] * float(spectrum.values.max(initial=0.0))
    lost = int(np.count_nonzero(values <= floor))
    if lost:
        message = f"variances of {lost} of {kept} components are rounding: the rows lie in fewer directions"
        severity, remedy = ("doubt", "ask for fewer components") if asked else ("note", "")
        yield Finding("rounding", severity, message, float(lost), kind="line", remedy=remedy)
