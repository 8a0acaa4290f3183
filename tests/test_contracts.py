"""Contracts between the rooms that import-linter cannot say, read from the source itself.

Contract 3: no module outside `families/` asks which family it has; what differs is a method of the family.
Contract 4: no string names a module of a higher layer; `unveil/__init__` alone holds the list of public names.
And one meaning, one name: no class name is defined twice.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "unveil"
PATH = re.compile(r"unveil(\.\w+)+(:\w+)?")


@cache
def modules() -> list[tuple[str, ast.Module]]:
    """Every file of the package, by its path below it."""
    paths = sorted(SOURCE.rglob("*.py"))
    return [(path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text(encoding="utf-8"))) for path in paths]


def family_classes() -> frozenset[str]:
    """Names of all families but the base of them all, which anything may be asked for."""
    bases = {
        node.name: {base.id for base in node.bases if isinstance(base, ast.Name)}
        for path, tree in modules()
        if path.startswith("families/")
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    found = {"Family"}
    while more := {name for name, own in bases.items() if own & found} - found:
        found |= more
    return frozenset(found - {"Family"})


FAMILIES = family_classes()


def imported(tree: ast.AST) -> set[str]:
    """The families that a module imports: another room may mean something else by a name (`information.Gaussian`)."""
    sources = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    found = (alias for node in sources if (node.module or "").startswith("unveil.families") for alias in node.names)
    return {alias.asname or alias.name for alias in found if alias.name in FAMILIES}


def names(node: ast.AST) -> set[str]:
    """All names and attributes in an expression."""
    return {child.id for child in ast.walk(node) if isinstance(child, ast.Name)} | {
        child.attr for child in ast.walk(node) if isinstance(child, ast.Attribute)
    }


def is_one_of(known: set[str], node: ast.AST | None) -> bool:
    """Whether an expression names a family, as a class."""
    return node is not None and bool(names(node) & known)


def questions(tree: ast.AST) -> Iterator[int]:
    """Lines that ask what kind of family something is."""
    is_family = partial(is_one_of, imported(tree))
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, kinds]) if is_family(kinds):
                yield node.lineno
            case ast.Compare() if any(map(is_type_name, ast.walk(node))) and not is_of_estimators(node):
                yield node.lineno
            case ast.Compare() if any(isinstance(op, ast.Is | ast.IsNot | ast.Eq | ast.NotEq) for op in node.ops):
                if any(isinstance(side, ast.Name) and is_family(side) for side in (node.left, *node.comparators)):
                    yield node.lineno
            case ast.Dict(keys=keys) if any(is_key(key) for key in keys):
                yield node.lineno
            case ast.MatchClass(cls=kind) if is_family(kind):
                yield kind.lineno
            case ast.FunctionDef(args=arguments) if any("register" in names(one) for one in node.decorator_list):
                first = arguments.args[0].annotation if arguments.args else None
                if is_family(first) or any(is_family(one) for one in node.decorator_list):
                    yield node.lineno


def is_type_name(node: ast.AST) -> bool:
    """``type(x).__name__``"""
    match node:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="type")), attr="__name__"):
            return True
    return False


def is_of_estimators(node: ast.Compare) -> bool:
    """Whether the names that are compared are written out, and none is that of a family."""
    words = {child.value for child in ast.walk(node) if isinstance(child, ast.Constant)}
    return bool(words) and not words & FAMILIES


def is_key(node: ast.expr | None) -> bool:
    """Whether a key of a table is a family or the name of one."""
    match node:
        case ast.Name(id=word) | ast.Constant(value=str(word)):
            return word in FAMILIES
    return False


def test_the_questions_are_recognised() -> None:
    asked = [
        "isinstance(family, Gaussian)",
        "isinstance(family, (int, gaussian.Gaussian))",
        "isinstance(family, Product | Compound)",
        "issubclass(kind, ExponentialFamily)",
        "type(family).__name__ == 'Gaussian'",
        "type(family).__name__ in MAKERS",
        "type(family) is Gaussian",
        "TABLE = {'Gaussian': 1, 'Student': 2}",
        "TABLE = {Gaussian: 1}",
        "@law.register\ndef _(family: Gaussian, x: int): ...",
        "@law.register(Gaussian)\ndef _(family, x): ...",
        "match family:\n    case Gaussian(): ...",
    ]
    head = "from unveil.families.all import Gaussian, Product, Compound, ExponentialFamily\n"
    assert [len(list(questions(ast.parse(head + text)))) for text in asked] == [1] * len(asked)
    fine = ["isinstance(family, Family)", "isinstance(x, int)", "made = Gaussian()", "TABLE = {'number': Gaussian}"]
    assert not any(list(questions(ast.parse(head + text))) for text in fine)
    assert not list(questions(ast.parse("isinstance(family, Gaussian)")))  # of another room


def test_nobody_outside_asks_which_family_it_has() -> None:
    found = {
        f"{path}:{line}" for path, tree in modules() if not path.startswith("families/") for line in questions(tree)
    }
    assert found == set()


def layers() -> dict[str, int]:
    """The height of each room, from the contract of import-linter."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    rows = next(one["layers"] for one in contracts if one["type"] == "layers")
    return {room.strip(): -height for height, row in enumerate(rows) for room in row.split("|")}


def strings(tree: ast.AST) -> Iterator[ast.Constant]:
    """All strings but those that stand alone, which are documentation."""
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node


def upward(heights: dict[str, int]) -> Iterator[str]:
    """Strings that name a module of a room above their own."""
    for path, tree in modules():
        own = heights.get(f"unveil.{path.split('/')[0]}")
        for node in strings(tree) if own is not None else ():
            if PATH.fullmatch(node.value):
                named = heights.get(".".join(re.split(r"[.:]", node.value)[:2]))
                if named is not None and named > own:
                    yield f"{path}:{node.lineno} {node.value}"


def test_no_string_names_a_higher_room() -> None:
    assert list(upward(layers())) == []


def test_strings_that_point_up_are_recognised() -> None:
    heights = layers()
    assert heights["unveil.cli"] > heights["unveil.chains"] == heights["unveil.grammar"] > heights["unveil.core"]
    assert PATH.fullmatch("unveil.chains.gaussian:GaussianHMM")
    assert not PATH.fullmatch("unveil.chains has no attribute")
    assert [node.value for node in strings(ast.parse("'a'\nx = 'b'\nf('c')"))] == ["b", "c"]


def test_no_class_name_is_defined_twice() -> None:
    homes = defaultdict(list)
    for path, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(f"{path}:{node.lineno}")
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}
