"""``unveil transform``: the rows of a table in a model's own coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unveil.cli.options import Data, Force, MemoryLimit, Model, Output, Sequence, Threads, reads_tables, use_memory
from unveil.cli.predict import write_answers
from unveil.cli.rows.answers import coordinates_of

if TYPE_CHECKING:
    from unveil.sources.files.reading import ReadingOptions


@reads_tables
def transform(
    model: Model,
    data: Data,
    output: Output = "-",
    sequence: Sequence = None,
    threads: Threads = None,
    memory_limit: MemoryLimit = None,
    force: Force = False,
    *,
    reading: ReadingOptions,
) -> None:
    """Write the rows of DATA in the coordinates of MODEL: fewer columns, or new ones.

    Projections: the scores pc1, pc2 and so on (factor1, source1, axis1 for factors, sources and discriminants), the
    place on a curve or map. Clusters: the distance to each centre. Mixtures and hidden Markov models: the probability
    of each component or state. The row number and columns that identify a row come first.
    """
    use_memory(memory_limit)
    write_answers(model, data, output, coordinates_of, sequence, threads, force, reading)
