"""Who examines what, by the folder that a model's class is defined in; the first that fits."""

from __future__ import annotations

from unveil.judgement.examine import Subject

SUBJECTS: dict[str, Subject] = {
    "mixtures.": Subject(),
    "chains.": Subject(),
    "clusters.": Subject(),
    "projections.": Subject(),
    "grammar.": Subject(),
}
