"""Tables in files, read a partition at a time while a thread reads ahead, so that they may be larger than memory."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from unveil.core.fingerprint import of_file
from unveil.core.memory import reading_room
from unveil.core.once import cached_property
from unveil.core.partition import chosen_partitions, partition_count, partition_rows
from unveil.core.protocols import Block
from unveil.sources.cut import Chunk, Wanted, cut
from unveil.sources.errors import DataError as DataError
from unveil.sources.files.ahead import read_ahead
from unveil.sources.files.cache import AUTO, CacheWriter, RowCache
from unveil.sources.files.formats import Header, ReadRequest
from unveil.sources.files.options import GUESSED, ReadingOptions
from unveil.sources.files.paths import PathLike, find_files
from unveil.sources.files.plan import File, ScanPlan, make_plan
from unveil.sources.files.runs import cut_into_runs
from unveil.sources.files.unchanged import FilesAsFound
from unveil.sources.weighted import checked_weights

if TYPE_CHECKING:
    from unveil.sources.files.text.bad import BadCells, CellTally

MOST_IN_RUN = 32  # partitions
PAGES_BYTES, READER_BYTES = 9 << 19, 1 << 24  # of a column (compressed and not, a dictionary), and of lines and blocks
PARTITIONS_AHEAD = 2  # partitions that wait, finished, for whoever reads


def scan(
    path: PathLike | Sequence[PathLike],
    columns: Sequence[str] | None = None,
    weight: str | None = None,
    *,
    encoding: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    missing: Sequence[str] | None = None,
    cache: PathLike | None = AUTO,
) -> Scan:
    """A table in one or more files, to be given to any ``fit`` in place of an array. Nothing is loaded yet.

    Parameters
    ----------
    path : path or list of paths
        A file, a list of files, a pattern such as ``"part-*.parquet"``, or a folder with files of one format: text
        (``.csv``, ``.tsv``, ``.txt``, ``.dat``, also with ``.gz`` or ``.zst``), Parquet, Feather or Arrow, JSON
        records (``.jsonl``, ``.json``), ``.npy`` and ``.xlsx``. Other endings are recognised by the first bytes, and
        ``"-"`` is standard input. Files follow each other as listed, or by name.
    columns : list of str, optional
        Columns to read, in this order. By default all that hold numbers or yes/no; the others are listed in
        ``skipped``. The columns of an ``.npy`` file are called ``x0``, ``x1`` and so on.
    weight : str, optional
        A column that says how often each row counts. It is then not one of the columns.
    encoding : str, optional
        Of a text file, such as ``"latin-1"``. This and what follows is guessed from a sample by default.
    separator : str, optional
        The character between cells; ``" "`` for runs of spaces, ``"  "`` (two) where cells hold single ones.
    decimal : str, optional
        ``"."`` or ``","``.
    header : bool, optional
        Whether the first line holds names. Without names, columns are called ``x1``, ``x2`` and so on.
    missing : list of str, optional
        Words that mean missing, besides the usual ones such as NA.
    cache : "auto", path or None, default="auto"
        Where rows are kept once they have been decoded, for later passes. "auto": those of text, JSON and Excel in a
        private temporary folder, if that is on a disk of which they take no more than half of what is free, until the
        scan is let go of. A folder: there, for later processes too. None: nowhere; every pass decodes the files.

    Returns
    -------
    Scan
        A source. Cells are float64, or float32 where every column is; missing ones are NaN.

    Examples
    --------
    >>> import pathlib, tempfile, unveil
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name, "people.csv")
    >>> _ = file.write_text("height,age,name\\n1.5,30,Ann\\n1.8,NA,Bob\\n")
    >>> people = unveil.scan(file)
    >>> people.n_rows, people.names, people.skipped
    (2, ('height', 'age'), ('name',))
    >>> folder.cleanup()
    """
    words = None if missing is None else (missing,) if isinstance(missing, str) else tuple(missing)
    if not isinstance(cache, (str, os.PathLike, type(None))):
        raise DataError(f"cache must be 'auto', a folder or None, got {cache!r}")
    table = Scan(path, columns, weight, ReadingOptions(encoding, separator, decimal, header, words), cache)
    _ = table.dtype  # look at the files now, so that what is wrong with them is said here
    return table


@final
class Scan:
    """A table in files; made by `unveil.scan`. Pickles as paths, options and what is known of heads and lines."""

    def __init__(
        self,
        path: PathLike | Sequence[PathLike],
        columns: Sequence[str] | None = None,
        weight: str | None = None,
        options: ReadingOptions = GUESSED,
        cache: PathLike | None = AUTO,
    ) -> None:
        if isinstance(columns, str):
            raise DataError(f"columns must be a list of names, got the string {columns!r}")
        self._shown = _shown(path)
        self._paths = find_files(path)
        self._as_found = FilesAsFound()
        self._columns = None if columns is None else tuple(columns)
        self._weight = weight
        self._options = options.checked()
        self._place = None if cache is None else os.fspath(cache)
        self._counts: dict[int, int] = {}  # rows of those files that have been counted
        self._indexed: dict[int, Header] = {}  # heads of those whose rows were looked for
        self._loose: dict[Path, set[str]] = {}  # columns in which a cell did not fit, by file
        self._bad: dict[str, BadCells] = {}
        self._footers: dict[Path, list[str]] = {}
        self._seen = False  # all rows, once: codes such as 007 need not be looked for again

    @cached_property
    def _plan(self) -> ScanPlan:
        self._as_found.note(self._paths)
        return make_plan(self._paths, self._columns, self._weight, self._options)

    @cached_property
    def _cache(self) -> RowCache:
        """Where rows are kept that take long to decode; what an earlier process kept there is taken over."""
        plan, place = self._plan, self._place
        slow = any(file.header.layout is not None for file in plan.files)
        asked = repr((plan.names, self._weight, plan.dtype.str, self._options))
        cache = RowCache(place if slow else None, tuple(map(of_file, self._paths)) if slow else (), asked)
        cache.look(len(plan.names))
        if cache.said is not None:
            self._counts = dict(enumerate(cache.said["counts"]))
            self._bad = _bad_from(cache.said["bad"])
            self._footers = {Path(path): lines for path, lines in cache.said["footers"].items()}
            self._seen = True
        return cache

    @property
    def n_rows(self) -> int:
        """Number of rows. A CSV file does not say: the first time, it is read through to count them."""
        return sum(self._count(number, file) for number, file in enumerate(self._plan.files))

    @property
    def n_columns(self) -> int:
        """Number of columns that are read."""
        return len(self._plan.names)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the cells, float32 or float64."""
        return self._plan.dtype

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the columns that are read; None where the files have no names (``.npy``)."""
        return self._plan.names if self._plan.files[0].format.named else None

    @property
    def skipped(self) -> tuple[str, ...]:
        """Names of the columns that were left out because they hold no numbers."""
        return self._plan.skipped

    @property
    def files(self) -> tuple[Path, ...]:
        """The files, in the order of their rows."""
        return self._paths

    @property
    def said(self) -> tuple[str, ...]:
        """How the files are read, a sentence each: what was guessed of the first, and columns that have a unit.

        Lines below a table that are no rows are said after a pass over all rows.
        """
        from unveil.sources.files.text.footers import footer_words

        below = [footer_words(lines, path.name) for path, lines in self._footers.items() if lines]
        return (*self._plan.files[0].header.said, *below)

    @property
    def bad(self) -> dict[str, BadCells]:
        """Cells that did not fit their column and were read as missing, by column, in the last pass over all rows."""
        return dict(self._bad)

    def schema(self) -> list[tuple[str, str]]:
        """Name and kind of every column in the files, read or not.

        Kinds are ``number``, ``integer``, ``yes/no``, ``text``, ``category``, ``date``, ``empty`` and ``other``.
        """
        return [(column.name, column.word) for column in self._plan.columns]

    def read(self, partitions: Sequence[int] | None = None) -> Iterator[Block]:
        """Blocks in increasing order of partition; all of them by default. May be called again and again."""
        chosen = None if partitions is None else chosen_partitions(partitions, self.n_rows, self.n_columns)
        if chosen == []:
            return
        wanted = Wanted(chosen, partition_rows(self.n_columns))
        block = max(wanted.size * self.n_columns * self.dtype.itemsize, 1)
        ahead = max(min(PARTITIONS_AHEAD, int(reading_room() / (2 * block))), 1)  # of wide tables a single one
        yield from read_ahead(lambda: self._blocks(wanted), ahead)

    def fetch(self, partitions: Sequence[int]) -> Iterator[Block]:
        """Blocks as `read` gives them, decoded on the thread that asks for them, which may be one of many."""
        chosen = chosen_partitions(partitions, self.n_rows, self.n_columns)
        return self._blocks(Wanted(chosen, partition_rows(self.n_columns))) if chosen else iter(())

    def runs(self, partitions: Sequence[int] | None = None, most: int = MOST_IN_RUN) -> list[tuple[int, ...]]:
        """Into which runs an engine should cut `partitions` that several threads or machines are to `fetch`.

        Together the runs are the `partitions` in increasing order, each once, all of them by default. A run begins
        where decoding can begin, or less than a partition later: at a row group, a record batch, a block of lines. So
        no row group is decoded by two of them, but for the one in which a partition lies across the end of a run: the
        run decodes the first rows of the next one's row group. A run has at most `most` partitions, unless a single row
        group has more, or a file cannot be entered in its middle (packed text): then that is one run. What is cut
        depends on the files and the arguments alone, and no bit of any statistics depends on the cuts.
        """
        every = range(partition_count(self.n_rows, self.n_columns))
        chosen = every if partitions is None else chosen_partitions(partitions, self.n_rows, self.n_columns)
        entries: list[tuple[int, Sequence[int]]] = []
        first = 0
        if self._cache.kept is not None:
            entries.append((0, range(self.n_rows)))
        for number, file in enumerate(self._plan.files if not entries else ()):
            entries.append((first, self._header(number, file).entries))
            first += self._count(number, file)
        return cut_into_runs(chosen, partition_rows(self.n_columns), max(int(most), 1), entries)

    @property
    def reader_bytes(self) -> int:
        """What one who decodes may hold at a time: pages and dictionaries of all columns, or lines, and a block."""
        return (PAGES_BYTES if self._cache.kept is None else 0) * self.n_columns + READER_BYTES

    @property
    def side_by_side(self) -> bool:
        """Whether several threads may `fetch` runs: a text table is read through once first, which judges its cells."""
        return self._seen or all(file.header.layout is None for file in self._plan.files)

    def fingerprinted(self) -> Any:
        """What tells it from other tables, for checkpoints: the files as they are now, and how they are read."""
        return [of_file(path) for path in self._paths], self._columns, self._weight, self._options

    def ship(self, run: Sequence[int]) -> tuple[Any, Scan]:
        """How a worker of a cluster gets rows: it opens the files itself, at the same paths."""
        return Scan.fetch, self

    def _blocks(self, wanted: Wanted) -> Generator[Block, None, None]:
        """What the thread that reads ahead runs."""
        from unveil.sources.files.text.bad import CellTally

        kept = self._cache.kept
        for path in self._paths if kept is not None else ():
            self._as_found.check(path)
        if kept is not None and kept.is_whole():
            yield from kept.blocks(wanted)
            return
        tally = CellTally(self._loose, () if self._seen else self._plan.names)
        writer = self._writer() if wanted.everything else None
        try:
            for block in cut(self._chunks(wanted, tally), wanted):
                if writer is not None:
                    writer.add(block)
                yield block
            if wanted.everything:
                self._judge(tally)
            if writer is not None and writer.finish():
                self._cache.keep(writer, self._found())
                writer = None
        finally:
            if writer is not None:
                writer.discard()

    def _writer(self) -> CacheWriter | None:
        """What keeps the rows of a whole pass, if they are to be kept."""
        row = self.n_columns * self.dtype.itemsize + 8 * (self._weight is not None)
        counts = [self._known(number, file) for number, file in enumerate(self._plan.files)]
        text = sum(size for _, size, _ in self._cache.stamps)  # a cell takes some more bytes as a number
        n_bytes = 2 * text if None in counts else row * sum(filter(None, counts))
        return self._cache.writer(self.n_columns, self.dtype) if self._cache.is_worth(n_bytes) else None

    def _found(self) -> dict[str, Any]:
        """What the first pass over all rows found out, as JSON values."""
        counts = [self._counts.get(number, file.header.n_rows) for number, file in enumerate(self._plan.files)]
        footers = {str(path): lines for path, lines in self._footers.items()}
        return {"counts": counts, "bad": {name: asdict(cells) for name, cells in self._bad.items()}, "footers": footers}

    def _judge(self, tally: CellTally) -> None:
        """Keep what a whole pass found; an error where a column has so many cells that do not fit that it is none."""
        self._seen = True
        self._bad, self._footers = tally.bad(), tally.footers
        for name, cells in self._bad.items():
            if not cells.tolerable:
                row, text = cells.first[0]
                raise DataError(
                    f"{self._paths[0].parent / cells.files[0]}: column {name!r} holds {cells.count:,} cells of"
                    f" {cells.of:,} that are not {_said(self._word(name))}, the first in row {row:,}: {text!r};"
                    f" leave the column out, correct it, or say missing=[{text!r}] if that stands for a missing cell"
                )

    def _word(self, name: str) -> str:
        return dict(self.schema())[name]

    def _chunks(self, wanted: Wanted, tally: CellTally) -> Iterator[Chunk]:
        """Rows of all files, one after the other, numbered through; files that nobody needs are not opened."""
        first = 0  # row of the table that is the file's first
        for number, file in enumerate(self._plan.files):
            count = self._known(number, file)
            if count is None or wanted.any_row(first, first + count):
                for chunk in self._file(number, file, first, wanted, tally):
                    yield chunk
                    if wanted.ends_before(chunk.start + len(chunk.rows)):
                        return
            first += self._count(number, file)

    def _file(self, number: int, file: File, first: int, wanted: Wanted, tally: CellTally) -> Iterator[Chunk]:
        """Rows of one file, which the scan counts on the way where it does not know their number yet."""
        known = self._known(number, file)
        seen = 0

        def needs(start: int, stop: int) -> bool:
            return wanted.any_row(first + start, first + stop)

        self._as_found.check(file.path)
        tally.first_row = first
        plan, header = self._plan, self._indexed.get(number, file.header)
        all_of_it = wanted.everything and not self._seen
        request = ReadRequest(plan.names, self._weight, plan.dtype, wanted.size, needs, tally, all_of_it)
        for chunk in file.format.chunks(file.path, header, request):
            seen = chunk.start + len(chunk.rows)
            if known is not None and seen > known:
                break
            if chunk.weights is not None:
                _check_weights(chunk, file.path, self._weight)
            yield chunk._replace(start=first + chunk.start)
        if known is not None and seen != known and (seen > known or needs(seen, known)):
            raise DataError(f"{file.path}: the file changed while it was in use: it had {known:,} rows")
        self._as_found.check(file.path)
        if known is None:
            self._counts[number] = seen

    def _known(self, number: int, file: File) -> int | None:
        """Rows of a file, if that is known without reading it."""
        _ = self._cache  # an earlier process may have counted them
        return self._counts.get(number, file.header.n_rows)

    def _count(self, number: int, file: File) -> int:
        """Rows of a file, counted if need be, once."""
        known = self._known(number, file)
        return self._header(number, file).n_rows or 0 if known is None else known

    def _header(self, number: int, file: File) -> Header:
        """What is known of a file once its rows have been counted."""
        if file.header.n_rows is not None:
            return file.header
        if number not in self._indexed:
            header = self._indexed[number] = file.format.counted(file.path, file.header)
            self._counts.setdefault(number, header.n_rows or 0)
        return self._indexed[number]

    def __repr__(self) -> str:
        counts = [self._known(number, file) for number, file in enumerate(self._plan.files)]
        rows = "" if None in counts else f"{sum(filter(None, counts)):,} rows x "
        columns = "1 column" if self.n_columns == 1 else f"{self.n_columns:,} columns"
        return f"Scan({self._shown}, {rows}{columns})"


def _bad_from(said: dict[str, Any]) -> dict[str, BadCells]:
    """Cells that did not fit, as they were noted."""
    from unveil.sources.files.text.bad import BadCells

    return {
        name: BadCells(cells["count"], cells["of"], tuple(map(tuple, cells["first"])), tuple(cells["files"]))
        for name, cells in said.items()
    }


def _said(word: str) -> str:
    return "true or false" if word == "yes/no" else "numbers"


def _shown(path: PathLike | Sequence[PathLike]) -> str:
    """The path as the user gave it, long lists cut short."""
    if isinstance(path, (str, os.PathLike)):
        return repr(os.fspath(path))
    shown = [repr(os.fspath(entry)) for entry in path]
    return f"[{', '.join(shown)}]" if len(shown) <= 3 else f"[{shown[0]}, ... {len(shown):,} files]"


def _check_weights(chunk: Chunk, path: Path, weight: str | None) -> None:
    """An error that names the file for a weight that cannot be one."""
    try:
        checked_weights(chunk.weights if chunk.weights is not None else (), len(chunk.rows), f"weight {weight!r}")
    except ValueError as error:
        raise DataError(f"{path}: {error} of those from row {chunk.start:,} on") from error
