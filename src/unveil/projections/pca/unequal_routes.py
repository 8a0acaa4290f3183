"""Routes of PCA where not everything counts alike: cells with weights of their own, and rows that may be outliers.

Both take many passes, so both leave a history, and a certificate of how the passes went beside that of the plane.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from unveil.certificate import Certificate, examine
from unveil.core.arrays import Floats
from unveil.core.loop import Callback
from unveil.core.protocols import Engine, Source
from unveil.core.result import History
from unveil.projections.pca.certificate import certify
from unveil.projections.pca.robust import robust_pca
from unveil.projections.pca.routes import Spectrum
from unveil.projections.pca.weighted import weighted_pca, with_cell_weights


class Uneven(NamedTuple):
    """What was found, and how."""

    spectrum: Spectrum
    history: History
    certificate: Certificate
    outlier_weights: Floats | None = None  # (n,), from 0 for rows that do not count to 1 for those that do in full


def by_cells(
    engine: Engine, source: Source, cell_weight: Any, count: int, callbacks: tuple[Callback, ...] = ()
) -> Uneven:
    """The first `count` components under weights of cells, which may be 0 where a cell is NaN."""
    found = weighted_pca(engine, with_cell_weights(source, cell_weight), count, callbacks=callbacks)
    history = found.history
    return Uneven(found.spectrum, history, _certificate(history, found.spectrum, count, "residual"))


def by_outlyingness(
    engine: Engine, source: Source, count: int, seed: int, callbacks: tuple[Callback, ...] = ()
) -> Uneven:
    """All components, rows counting the less the further they lie off the plane of the first `count`."""
    found = robust_pca(engine, source, count, seed=seed, callbacks=callbacks)
    certificate = _certificate(found.history, found.spectrum, count)
    return Uneven(found.spectrum, found.history, certificate, found.outlier_weights)


def _certificate(history: History, spectrum: Spectrum, count: int, *without: str) -> Certificate:
    """Findings of the passes and of the plane. There are no restarts; `without` are those that do not apply."""
    passes = [found for found in examine(history).findings if found.name != "restarts"]
    plane = [found for found in certify(spectrum, count, approximate=False).findings if found.name not in without]
    return Certificate((*passes, *plane))
