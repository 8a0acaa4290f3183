"""Who examines what, by the folder that a model's class is defined in; the first that fits."""

from __future__ import annotations

from unveil.judgement.examine import Subject
from unveil.judgement.sound import examine_soundness

SUBJECTS: dict[str, Subject] = {
    "mixtures.": Subject(sound=examine_soundness),
    "chains.": Subject(sound=examine_soundness),
    "clusters.": Subject(sound=examine_soundness),
    "projections.": Subject(sound=examine_soundness),
    "grammar.": Subject(sound=examine_soundness),
}
