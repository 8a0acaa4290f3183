"""Objects of known classes as the name of the class and its fields: ``{"part": "Stepwise", "fields": {"decay": 0.6}}``.

Which classes are known is a closed table, name to class or to "module:Class", that whoever stores brings along. A file
says names; what stands for a name, the table alone says.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from unveil.storage.values import Arrays, decode, encode


class StorableParts(NamedTuple):
    """The classes that may be stored.

    Examples
    --------
    >>> from unveil.schedules import Stepwise
    >>> parts = StorableParts({"Stepwise": "unveil.schedules:Stepwise"})
    >>> stored = parts.encode(Stepwise(decay=0.6), "schedule", {})
    >>> stored
    {'part': 'Stepwise', 'fields': {'decay': 0.6, 'batch_rows': 2048}}
    >>> parts.decode(stored, {})
    Stepwise(decay=0.6, batch_rows=2048)
    """

    table: Mapping[str, str | type]

    def encode(self, value: Any, name: str, arrays: Arrays) -> Any:
        """An object of a known class by its fields; all else as the value it is."""
        part = self._name(type(value))
        if part is None:
            return encode(value, name, arrays, self.encode)
        fields = {key: self.encode(item, f"{name}.{key}", arrays) for key, item in _fields(value).items()}
        return {"part": part, "fields": fields}

    def decode(self, stored: Any, arrays: Arrays) -> Any:
        """What `encode` was given. ValueError, or what the class itself raises, for what it cannot have written."""
        if not (isinstance(stored, dict) and "part" in stored):
            return decode(stored, arrays, self.decode)
        name, fields = stored["part"], stored.get("fields")
        if not isinstance(name, str) or name not in self.table:
            raise ValueError(f"part {name!r:.60} is not known; unveil has {', '.join(self.table)}")
        if not isinstance(fields, dict):
            raise ValueError(f"part {name!r} has no fields")
        return _made(self._class(name), {key: self.decode(item, arrays) for key, item in fields.items()})

    def _name(self, kind: type) -> str | None:
        """What files call a class; None for one that is not known."""
        if kind.__module__ == "builtins":  # most values: told at once
            return None
        ending = f":{kind.__name__}"
        alike = (name for name, home in self.table.items() if home is kind or str(home).endswith(ending))
        return next((name for name in alike if self._class(name) is kind), None)

    def _class(self, name: str) -> Any:
        home = self.table[name]
        if not isinstance(home, str):
            return home
        module, _, attribute = home.partition(":")
        return getattr(importlib.import_module(module), attribute)


def _fields(value: Any) -> Mapping[str, Any]:
    """What an object is made of: as it says itself, or as its kind of class has it."""
    if hasattr(value, "to_dict"):
        return dict(value.to_dict())
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
    return dict(value._asdict() if hasattr(value, "_asdict") else value)


def _made(kind: Any, fields: dict[str, Any]) -> Any:
    """The object made of `fields`."""
    return kind.from_dict(fields) if hasattr(kind, "from_dict") else kind(**fields)
