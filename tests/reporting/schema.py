"""As much of JSON Schema as docs/summary.schema.json needs: what is wrong with a value, by its place."""

import re

TYPES = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "null": lambda value: value is None,
}
KNOWN = {"$schema", "title", "description", "type", "const", "enum", "minimum", "maximum", "pattern"}
KNOWN |= {"properties", "required", "additionalProperties", "items"}


def mistakes(value, schema, place="summary"):
    """One sentence for each."""
    assert set(schema) <= KNOWN, set(schema) - KNOWN
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(TYPES[kind](value) for kind in kinds):
        return [f"{place} is {value!r}, not {' or '.join(kinds)}"]
    found = []
    if value not in schema.get("enum", [value]) or value != schema.get("const", value):
        found.append(f"{place} is {value!r}")
    if TYPES["number"](value) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        found.append(f"{place} is {value!r}, out of bounds")
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        found.append(f"{place} is {value!r}, not {schema['pattern']}")
    if isinstance(value, list):
        for number, item in enumerate(value):
            found += mistakes(item, schema.get("items", {}), f"{place}[{number}]")
    if isinstance(value, dict):
        below = schema.get("properties", {})
        found += [f"{place} has no {name}" for name in schema.get("required", ()) if name not in value]
        if not schema.get("additionalProperties", True):
            found += [f"{place} has {name}" for name in value if name not in below]
        for name, item in value.items():
            found += mistakes(item, below.get(name, {}), f"{place}.{name}")
    return found
