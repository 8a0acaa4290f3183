"""What a notebook is told of clusters: how many, how large, how tight, and where they lie."""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.core.arrays import Floats
from unveil.estimation.html.bars import Bars
from unveil.estimation.html.card import Card, ended, listed, names_of
from unveil.estimation.html.ovals import Ovals
from unveil.estimation.html.svg import Picture


def card(model: Any) -> Card:
    """Clusters with their sizes; centres over the two columns in which they are furthest apart."""
    labels = np.asarray(getattr(model, "labels_", ()), dtype=np.intp)
    sizes = np.bincount(labels[labels >= 0], minlength=1)
    centres = getattr(model, "cluster_centers_", None)
    count = len(sizes) if centres is None else len(centres)
    sizes = np.pad(sizes, (0, max(count - len(sizes), 0)))
    results = [
        ("clusters", f"{count}, of {listed(sizes, ',')} rows"),
        ("cost", f"{float(model.inertia_):,.6g} in all, {float(model.inertia_) / max(sizes.sum(), 1):.4g} a row"),
        *ended(model),
    ]
    return Card(results, _picture(model, centres, sizes / max(sizes.sum(), 1)))


def _picture(model: Any, centres: Any, shares: Floats) -> Picture:
    """Centres, or sizes where there are no centres, or a single column."""
    places = None if centres is None or isinstance(centres, list) else np.asarray(centres)
    if places is None or places.dtype.kind not in "fiub" or places.ndim != 2 or places.shape[1] < 2:
        return Bars("rows of each cluster", shares, each_its_colour=True)
    middle = shares @ places
    with np.errstate(over="ignore", invalid="ignore"):  # of centres near the largest numbers that there are
        apart = shares @ (places - middle) ** 2  # what a column adds to the distances between clusters
    first, second = np.sort(np.argsort(-apart, kind="stable")[:2])
    names, labels = names_of(model, places.shape[1]), tuple(f"{share:.0%}" for share in shares)
    both = places[:, [first, second]].astype(np.float64)
    return Ovals((names[first], names[second]), both, None, shares, labels)
