"""A grid of cells, the fuller the larger the number: profiles of groups, transitions between states, loadings."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import numpy as np

from unveil.core.arrays import Floats
from unveil.estimation.html.svg import BOTTOM, HEIGHT, PALETTE, RIGHT, TOP, WIDTH, number, text

MOST_ROWS, MOST_COLUMNS = 12, 30
MOST_NAMED = 16  # columns that have room for a name, or a number
LETTER = 5.4  # pixels that a letter takes
FULL = 0.55  # from which letters on a cell are white
FEW_CELLS = 40  # that tell their number to a pointer
SIDE = 68  # pixels that the names of rows have
FAINTEST = 0.04


@dataclass(frozen=True, eq=False)
class Grid:
    """Drawing data of cells; `values` lie in [-1, 1], the negative ones in another colour."""

    said: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: Floats  # (rows, columns)
    written: bool = False  # are the numbers themselves of use, and few?

    @property
    def words(self) -> str:
        """What is to be seen."""
        return f"Grid of {len(self.rows)} by {len(self.columns)}: {self.said}"

    def drawn(self) -> str:
        """Cells, names of rows before them, names of columns above where there is room."""
        values = np.clip(np.nan_to_num(self.values), -1.0, 1.0)[:MOST_ROWS, :MOST_COLUMNS]
        count, across = values.shape
        width, head = (RIGHT - SIDE) / max(across, 1), 12 if across <= MOST_NAMED else 0
        height = min((BOTTOM - TOP - head) / max(count, 1), 44)
        parts = self._heads(width, across) if head else []
        for row, name in enumerate(self.rows[:count]):
            y = TOP + head + row * height
            parts.append(text(SIDE - 4, y + height / 2 + 3, name, anchor="end", longest=13))
            for column, value in enumerate(values[row].tolist()):
                said = f"{name}, {self.columns[column]}: {value:.2f}" if values.size <= FEW_CELLS else ""
                parts.append(self._cell((SIDE + column * width, y, width - 1, height - 1), value, said))
        return "".join([*parts, text(WIDTH / 2, HEIGHT - 6, self.said, anchor="middle", longest=46)])

    def _heads(self, width: float, across: int) -> list[str]:
        """Names of the columns; their numbers where these are too long."""
        names, letters = self.columns[:across], int(width // LETTER)
        if max(map(len, names), default=0) > letters:
            names = tuple(str(number + 1) for number in range(across))
        return [text(SIDE + (place + 0.5) * width, TOP + 7, n, anchor="middle") for place, n in enumerate(names)]

    def _cell(self, box: tuple[float, float, float, float], value: float, said: str) -> str:
        """A cell: x, y, width and height, with its number where that is of use."""
        paint, full = PALETTE[0] if value >= 0 else PALETTE[1], max(abs(value), FAINTEST)
        x, y, width, height = box
        place = f'x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}"'
        title = f"<title>{escape(said)}</title>" if said else ""
        cell = f'<rect {place} fill="{paint}" fill-opacity="{full:.2f}">{title}</rect>'
        if not self.written or width < 25 or height < 11:
            return cell
        ink = "#fff" if full > FULL else "currentColor"
        return cell + text(x + width / 2, y + height / 2 + 3, f"{value:.2f}", anchor="middle", ink=ink)
