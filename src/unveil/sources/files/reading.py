"""A table in any file, with typed columns and with words on how it was read.

>>> import pathlib, tempfile
>>> folder = tempfile.TemporaryDirectory()
>>> file = pathlib.Path(folder.name, "prices.csv")
>>> _ = file.write_text("item;price\\nbread;2,50 €\\nmilk;1,20 €\\n")
>>> reading = open_reading(file)
>>> reading.kinds, reading.units
({'item': 'text', 'price': 'number'}, {'price': '€'})
>>> next(reading.batches()).to_pydict()
{'item': ['bread', 'milk'], 'price': [2.5, 1.2]}
>>> folder.cleanup()
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, final

import pyarrow as pa

from unveil.sources.errors import DataError, blame
from unveil.sources.files.csv import dialect_words
from unveil.sources.files.formats import format_of
from unveil.sources.files.options import GUESSED
from unveil.sources.files.options import ReadingOptions as ReadingOptions
from unveil.sources.files.paths import PathLike, find_files
from unveil.sources.files.plan import File, reject_extras
from unveil.sources.files.settle import Settled
from unveil.sources.files.text.bad import BadCells as BadCells
from unveil.sources.files.text.bad import CellTally
from unveil.sources.files.text.dialect import MISSING_WORDS
from unveil.sources.files.text.dialect import Dialect as Dialect
from unveil.sources.files.text.footers import footer_words
from unveil.sources.files.text.parse import parse
from unveil.sources.files.text.said import layout_words
from unveil.sources.files.text.style import ColumnStyle, merged, with_own_marks
from unveil.sources.files.types import fitted, is_unparsed, kind_of, usual_type, wider_type

RECIPE_VERSION = 1


def open_reading(
    path: PathLike | Sequence[PathLike],
    options: ReadingOptions = GUESSED,
    recipe: dict[str, Any] | None = None,
) -> Reading:
    """A table in one or more files of the same columns; "-" is standard input.

    Text is read through once here, so that the kind of every column is settled by all of its cells. With a `recipe`,
    made by `Reading.recipe`, columns are read as they were there: units, marks, words for missing cells and the order
    of dates by name of column; how the file itself is written is guessed anew.
    """
    options = _with_recipe(options.checked(), recipe)
    paths = find_files(path)
    formats = [format_of(file, options) for file in paths]
    files = [File(file, kind, kind.header(file)) for file, kind in zip(paths, formats, strict=True)]
    _check_columns(files)
    styles = _styles(files, recipe)
    if all(file.header.layout is not None for file in files):
        files = [_with_styles(file, styles, recipe) for file in files]
        fixed = frozenset(name for name in styles if name in (recipe or {}).get("columns", {}))
        settled = Settled(files, dict(styles), fixed, options.encoding is None).settle()
        return Reading(settled.files, settled.styles, options, settled)
    return Reading(files, styles, options, None)


@final
class Reading:
    """A table in files; made by `open_reading`."""

    def __init__(
        self, files: Sequence[File], styles: dict[str, ColumnStyle], options: ReadingOptions, settled: Settled | None
    ) -> None:
        self._files, self._styles, self._options = tuple(files), styles, options
        self._loose = {} if settled is None else settled.loose
        self._footers = {} if settled is None else settled.footers
        self._missing = self.dialect.missing if self.dialect else options.missing or ()
        self._types = {name: _type(name, files, styles) for name in _names(files)}
        self.bad: dict[str, BadCells] = {} if settled is None else settled.bad  # of the last pass
        self.n_rows: int | None = settled.n_rows if settled else _sum(file.header.n_rows for file in files)

    @property
    def files(self) -> tuple[Path, ...]:
        """The files, in the order of their rows."""
        return tuple(file.path for file in self._files)

    @property
    def title(self) -> str:
        """A short name for the table."""
        first = self.files[0].name
        return first if len(self.files) == 1 else f"{first} and {len(self.files) - 1} more"

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns."""
        return tuple(self._types)

    @property
    def kinds(self) -> dict[str, str]:
        """Of every column: number, integer, yes/no, text, category, date or empty."""
        return {name: kind_of(kind) for name, kind in self._types.items()}

    @property
    def schema(self) -> Any:
        """Arrow's types of the columns, as `batches` hands them out."""
        return pa.schema(list(self._types.items()))

    @property
    def units(self) -> dict[str, str]:
        """Of the columns that have one, such as $ or %."""
        return {name: style.unit for name, style in self._styles.items() if style.unit}

    @property
    def dialect(self) -> Dialect | None:
        """How the first file is written, if it is text."""
        layout = self._files[0].header.layout
        return None if layout is None else layout.dialect

    @property
    def flagged(self) -> dict[str, str]:
        """Columns of numbers or dates that had to stay text, and why."""
        return {name: style.why for name, style in self._styles.items() if style.kind == "text" and style.why}

    @property
    def said(self) -> tuple[str, ...]:
        """How the table was read, a sentence each; one short one where there is nothing to say."""
        header = self._files[0].header
        if header.layout is None:
            return header.said
        own = dialect_words(header.layout, header.said[0] if getattr(self._files[0].format, "convert", None) else "")
        kinds = self.kinds
        bad = [cells.words(name, kinds[name]) for name, cells in self.bad.items()]
        columns = layout_words(header.layout._replace(styles=self._styles))
        below = [footer_words(lines, path.name) for path, lines in self._footers.items() if lines]
        return (*own, *_other_dialects(self._files), *below, *columns, *bad)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """All rows, typed; may be called again and again. At the end of a pass `bad` is what it found."""
        names = list(self.names if columns is None else columns)
        strange = next((name for name in names if name not in self._types), None)
        if strange is not None:
            raise DataError(f"{self.files[0]}: no column {strange!r}; the columns are {', '.join(self.names[:10])}")
        tally = CellTally(self._loose)
        for file in self._files:
            rows = 0
            for batch in file.format.batches(file.path, file.header, names, tally):
                yield self._typed(batch, names, file.path, tally)
                tally.first_row += 0 if file.header.layout else batch.num_rows
                rows += batch.num_rows
            tally.first_row += rows if file.header.layout else 0
        found = tally.bad()
        self.bad = {name: cells for name, cells in self.bad.items() if name not in names} | found

    def _typed(self, batch: Any, names: list[str], path: Path, tally: CellTally) -> pa.RecordBatch:
        with blame(path, "a table"):
            cells = [self._cells(batch.column(name), name, path, tally) for name in names]
        return pa.RecordBatch.from_arrays(cells, schema=pa.schema([(name, self._types[name]) for name in names]))

    def _cells(self, cells: Any, name: str, path: Path, tally: CellTally) -> Any:
        """Cells of the column's type; text in a file that has types is parsed as the recipe says."""
        kind = self._types[name]
        if name in self._styles and is_unparsed(cells, kind):
            text = cells.cast(pa.string())
            parsed = parse(text, self._styles[name], pa.array([*MISSING_WORDS, *self._missing]))
            if parsed.bad is not None:
                tally.column(name).add(text, parsed.bad, tally.first_row, path.name)
            cells = parsed.values
        return fitted(cells, kind)

    def recipe(self) -> dict[str, Any]:
        """How to read another file of these columns the same way, as JSON values."""
        told = {name: value for name, value in self._options._asdict().items() if value is not None}
        kinds = self.kinds
        typed = {name: {"kind": kinds[name], "typed": True} for name in self.names if name not in self._styles}
        columns = {name: typed[name] if name in typed else self._styles[name].to_dict() for name in self.names}
        missing = list(self._missing)
        if "missing" in told:
            told["missing"] = list(told["missing"])
        return {"version": RECIPE_VERSION, "options": told, "missing": missing, "columns": columns}

    def __repr__(self) -> str:
        return f"Reading({self.title!r}, {len(self.names):,} columns)"


def _other_dialects(files: Sequence[File]) -> list[str]:
    """Files that are written otherwise than the first."""
    (_, first), *others = [(file.path.name, file.header.layout.dialect.words()) for file in files if file.header.layout]
    new = [(name, [sentence for sentence in words if sentence not in first]) for name, words in others]
    said = [f"{name}: {' '.join(words)}" for name, words in new if words]
    return said if len(said) <= 3 else [*said[:2], f"{len(said) - 2} more files are written otherwise than the first."]


def _sum(counts: Any) -> int | None:
    known = list(counts)
    return None if None in known else sum(known)


def _with_recipe(options: ReadingOptions, recipe: dict[str, Any] | None) -> ReadingOptions:
    """What the user says now, else what the user said then."""
    if recipe is None:
        return options
    if recipe.get("version") != RECIPE_VERSION:
        raise DataError(f"recipe must be of version {RECIPE_VERSION}, got {recipe.get('version')!r}")
    then = {name: value for name, value in recipe["options"].items() if name in ReadingOptions._fields}
    now = {name: value for name, value in options._asdict().items() if value is not None}
    return ReadingOptions(**(then | now)).checked()


def _names(files: Sequence[File]) -> list[str]:
    return [column.name for column in files[0].header.columns]


def _check_columns(files: Sequence[File]) -> None:
    """All files must have the columns of the first."""
    known = {column.name: column for column in files[0].header.columns}
    if not known:
        raise DataError(f"{files[0].path}: no columns")
    reject_extras(files, known)
    for file in files[1:]:
        names = {column.name for column in file.header.columns}
        lacking = next((name for name in known if name not in names), None)
        if lacking is not None:
            raise DataError(f"{file.path}: no column {lacking!r}, which {files[0].path.name} has")


def _styles(files: Sequence[File], recipe: dict[str, Any] | None) -> dict[str, ColumnStyle]:
    """The style of every column of text tables, by all files; that of a recipe where it has the column."""
    told = (recipe or {}).get("columns", {})
    styles: dict[str, ColumnStyle] = {}
    for file in files:
        for name, style in (file.header.layout.styles if file.header.layout else {}).items():
            styles[name] = merged(styles[name], style) if name in styles else style
    for name in _names(files):
        if name in told:
            styles |= _told_style(name, told[name], styles.get(name))
    return styles


def _told_style(name: str, told: dict[str, Any], guessed: ColumnStyle | None) -> dict[str, ColumnStyle]:
    """The style that a recipe has for a column. One that came from a file with types knows the kind alone."""
    kind = told["kind"]
    if not told.get("typed"):
        return {} if kind == "empty" else {name: replace(ColumnStyle.from_dict(told), why="")}
    alike = guessed is None or guessed.kind == kind or {guessed.kind, kind} <= {"number", "integer"}
    if alike or kind in ("empty", "date"):
        return {}
    return {name: ColumnStyle("text" if kind == "category" else kind)}


def _with_styles(file: File, styles: dict[str, ColumnStyle], recipe: dict[str, Any] | None) -> File:
    layout = file.header.layout
    assert layout is not None
    dialect = layout.dialect
    if recipe is not None and not dialect.missing_in_text:
        dialect = replace(dialect, missing=tuple(recipe.get("missing", ())))
    mark = layout.settled_decimal
    own = {name: with_own_marks(styles[name], style, mark) for name, style in layout.styles.items()}
    return file._replace(header=file.header._replace(layout=layout._replace(dialect=dialect, styles=own)))


def _type(name: str, files: Sequence[File], styles: dict[str, ColumnStyle]) -> Any:
    """Arrow's type of a column, wide enough for all files."""
    if name in styles:
        return styles[name].arrow
    types = [usual_type(column.arrow) for file in files for column in file.header.columns if column.name == name]
    return wider_type(types)
