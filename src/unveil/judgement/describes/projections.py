"""Who asks whether a projection describes the rows, by the folder of `unveil.projections` that defines it."""

from __future__ import annotations

import numpy as np

from unveil.judgement.case import Answer, Case, Examiner
from unveil.judgement.describes.curves import examine_curve, examine_map
from unveil.judgement.describes.discriminant import examine_discriminant
from unveil.judgement.describes.eigenvalues import beyond_chance, scale_of, separation, spectrum_of
from unveil.judgement.describes.factors import examine_factors
from unveil.judgement.describes.ica import examine_ica
from unveil.judgement.describes.rows import seen_rows
from unveil.judgement.describes.words import said


def examine_pca(case: Case) -> Answer:
    """Scale of the columns, eigenvalues at the cut, and what chance would make of them."""
    seen = seen_rows(case)
    if len(seen.rows) < 10 or np.all(seen.rows.std(axis=0) == 0):
        return Answer((said("description", "note", "too few complete rows to tell whether components mean anything"),))
    scaled = bool(getattr(case.model, "scale", False))
    spectrum = spectrum_of(case.model, seen, scaled)
    findings = [] if scaled else scale_of(case, seen)
    return Answer((*findings, *separation(spectrum), *beyond_chance(case, seen, spectrum)))


PROJECTIONS: dict[str, Examiner] = {
    "pca": examine_pca,
    "factors": examine_factors,
    "ica": examine_ica,
    "discriminant": examine_discriminant,
    "curves": examine_curve,
    "topographic": examine_map,
}


def examine_projection(case: Case) -> Answer:
    """What suits the kind of projection."""
    for kind in type(case.model).__mro__:
        folder = kind.__module__.removeprefix("unveil.projections.").split(".")[0]
        if folder in PROJECTIONS:
            return PROJECTIONS[folder](case)
    return Answer()
