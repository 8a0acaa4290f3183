"""Arrays that figures share, stored once.

The rows of a plane are in the figure of the plane, in that of the mixture and in every step of a replay. So arrays are
looked up by their text, from the inside out; those that occur again are put on a shelf, and ``{"@": 3}`` stands where
array 3 was. A key that begins with @ itself gets a second one, so nothing in a figure can pass for a reference.
"""

from __future__ import annotations

import json
from typing import Any, final

MARK = "@"
_SHORTEST = 24  # characters; a reference to what is shorter would save nothing


def shelved(value: Any) -> dict[str, Any]:
    """The value, and the arrays that occur more than once in it; an array may refer to those before it on the shelf.

    >>> x = [0.125, 0.25, 0.375, 0.5, 0.625]
    >>> shelved([{"x": x}, {"x": x, "y": [1]}])
    {'value': [{'x': {'@': 0}}, {'x': {'@': 0}, 'y': [1]}], 'shelf': [[0.125, 0.25, 0.375, 0.5, 0.625]]}
    """
    arrays = _Arrays()
    noted = arrays.note(value)
    shared = [number for number, uses in enumerate(arrays.uses) if uses > 1]
    places = {number: place for place, number in enumerate(shared)}
    return {
        "value": arrays.settle(noted, places),
        "shelf": [[arrays.settle(part, places) for part in arrays.contents[number]] for number in shared],
    }


@final
class _Arrays:
    """Every different array that is not short, in the order in which they end, and how often it occurs."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.contents: list[list[Any]] = []
        self.uses: list[int] = []

    def note(self, value: Any) -> Any:
        """The value with a number in place of each array."""
        if isinstance(value, dict):
            return {MARK + key if key.startswith(MARK) else key: self.note(part) for key, part in value.items()}
        if not isinstance(value, list):
            return value
        content = [self.note(part) if isinstance(part, list | dict) else part for part in value]
        text = json.dumps(content)
        if len(text) < _SHORTEST:
            return content
        number = self.numbers.setdefault(text, len(self.contents))
        if number == len(self.contents):
            self.contents.append(content)
            self.uses.append(0)
        self.uses[number] += 1
        return {MARK: number}

    def settle(self, noted: Any, places: dict[int, int]) -> Any:
        """The value with references to what is on the shelf, and all other arrays where they were."""
        if isinstance(noted, list):
            return [self.settle(part, places) if isinstance(part, list | dict) else part for part in noted]
        if not isinstance(noted, dict):
            return noted
        if MARK not in noted:
            return {key: self.settle(part, places) for key, part in noted.items()}
        number = noted[MARK]
        return {MARK: places[number]} if number in places else self.settle(self.contents[number], places)
