r"""nltk's notation of grammars, read and written.

    %start S                                  # else the parent of the first rule
    S -> NP VP [1.0]
    NP -> Det N [0.5] | 'stars' [0.3]         # alternatives; words in single or double quotes
    NP -> [0.2]                               # an empty right side

A line that ends in \ goes on in the next. A parent none of whose rules has a probability gets even ones, so plain
grammars are read as well. Probabilities are often rounded: a parent's may sum to 1 within 0.01, as in nltk, and are
normalised. The same rule twice is one rule with the sum.

Two things go beyond nltk. A word with both kinds of quotes or a line break is written in three quotes, with Python's
escapes. Names of nonterminals may hold any character, with \ before a quote and | [ ] \ # %, before the > of an arrow,
and a space as \u0020.
"""

from __future__ import annotations

import ast
import math
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from unveil.grammar.language.rules import Grammar, Nonterminal, Rule, Symbol, normalised

ROUNDED_SUM_TOLERANCE = 0.01  # probabilities in texts are rounded; the same as in nltk
GRAMMAR_TOKEN = re.compile(
    r"""\s*(?:
    (?P<comment>\#.*) | (?P<arrow>->) | (?P<bar>\|) | \[(?P<probability>[^\]]*)\]
    | (?P<long>'''(?:[^\\]|\\.)*?''') | '(?P<single>[^']*)' | "(?P<double>[^"]*)"
    | (?P<name>(?:(?!->)[^\s'"|\[\]\\]|\\.)+)
    )""",
    re.VERBOSE,
)
ESCAPED_CHARACTER = re.compile(r"""[\s'"|\[\]\\#%]|(?<=-)>""")


class _Line(NamedTuple):
    """What a line says."""

    number: int
    text: str

    def error(self, expected: str, position: int) -> ValueError:
        """An error that names the line, what was expected and what came."""
        rest = self.text[position:].strip()
        return ValueError(
            f"line {self.number}: expected {expected}, got {rest!r}"
            if rest
            else f"line {self.number}: expected {expected}, got the end of the line"
        )


class _Alternative(NamedTuple):
    """One right side."""

    rule: Rule
    probability: float | None
    line: _Line


def read_grammar(text: str) -> Grammar:
    """A grammar from nltk's notation.

    Examples
    --------
    >>> from unveil.grammar import read_grammar
    >>> grammar = read_grammar("S -> 'so' S [0.25] | 'it' 'goes' [0.75]")
    >>> print(grammar)
    S -> 'so' S [0.25]
    S -> 'it' 'goes' [0.75]
    """
    start: Nonterminal | None = None
    alternatives: list[_Alternative] = []
    for line in _lines(text):
        if line.text.startswith("%"):
            start = _directive(line)
        elif not line.text.startswith("#"):
            alternatives += _alternatives(line)
    if not alternatives:
        raise ValueError("text must hold at least one rule such as S -> NP VP [1.0]")
    _check_symbols(alternatives, start)
    weights = _weights(alternatives)
    return normalised(start or alternatives[0].rule.parent, tuple(weights), list(weights.values()))


def read_rule(text: str) -> Rule:
    """One rule without a probability, from nltk's notation."""
    line = _Line(1, text.strip())
    alternatives = list(_alternatives(line))
    if len(alternatives) != 1 or alternatives[0].probability is not None:
        raise line.error("one rule, without a probability", 0)
    return alternatives[0].rule


def write_rule(rule: Rule) -> str:
    """One rule in nltk's notation, which `read_rule` reads."""
    return " ".join([_written(rule.parent), "->", *map(_written, rule.children)])


def write_grammar(grammar: Grammar) -> str:
    """A grammar in nltk's notation: a line for each rule, all digits of its probability, no exponents.

    Reading the text gives the same grammar, to the last bit.
    """
    lines = [] if grammar.start == grammar.rules[0].parent else [f"%start {_written(grammar.start)}"]
    for rule, probability in zip(grammar.rules, grammar.probabilities, strict=True):
        digits = np.format_float_positional(probability, trim="0")
        lines.append(f"{write_rule(rule)} [{digits}]")
    return "\n".join(lines) + "\n"


def _written(symbol: Symbol) -> str:
    """A nonterminal or a word."""
    if isinstance(symbol, Nonterminal):
        return ESCAPED_CHARACTER.sub(
            lambda match: f"\\u{ord(match[0]):04x}" if match[0].isspace() else "\\" + match[0], symbol.name
        )
    if "\n" not in symbol and not ("'" in symbol and '"' in symbol):
        quote = '"' if "'" in symbol else "'"
        return quote + symbol + quote
    body = symbol.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    return f"'''{body}'''"


def _lines(text: str) -> Iterator[_Line]:
    """Lines that say something, joined where one ends in a backslash, with the number of the first."""
    begun, first = "", 0
    for number, raw in enumerate(text.split("\n"), 1):
        part = raw.strip()
        first = first if begun else number
        if re.search(r"(?<!\\)(?:\\\\)*\\$", part) and not part.startswith("#"):  # not an escaped backslash
            begun += part[:-1].rstrip() + " "
            continue
        if begun + part:
            yield _Line(first, begun + part)
        begun = ""
    if begun:
        yield _Line(first, begun)


def _directive(line: _Line) -> Nonterminal:
    """The symbol of %start."""
    match = re.fullmatch(r"%start\s+(\S.*)", line.text)
    tokens = list(_tokens(line, match.start(1))) if match else []
    if len(tokens) != 1 or tokens[0][1] != "name":
        raise line.error("%start and one nonterminal", 0)
    return Nonterminal(_name(tokens[0][2]))


def _tokens(line: _Line, position: int = 0) -> Iterator[tuple[int, str, str]]:
    """Position, kind and text of each token; comments are left out."""
    while position < len(line.text):
        match = GRAMMAR_TOKEN.match(line.text, position)
        if match is None:
            if not line.text[position:].strip():
                return
            raise line.error("a nonterminal, a word in quotes, a probability in [ ] or |", position)
        kind = str(match.lastgroup)
        if kind != "comment":
            yield match.end() - len(match[0].lstrip()), kind, match[kind]
        position = match.end()


def _alternatives(line: _Line) -> Iterator[_Alternative]:
    """The right sides of a line."""
    tokens = list(_tokens(line))
    if not tokens or tokens[0][1] != "name":
        raise line.error("a nonterminal", tokens[0][0] if tokens else 0)
    if len(tokens) < 2 or tokens[1][1] != "arrow":
        raise line.error("->", tokens[1][0] if len(tokens) > 1 else len(line.text))
    parent = Nonterminal(_name(tokens[0][2]))
    children: list[Symbol] = []
    probability: float | None = None
    for position, kind, token in tokens[2:]:
        if kind == "bar":
            yield _Alternative(Rule(parent, tuple(children)), probability, line)
            children, probability = [], None
        elif probability is not None or kind == "arrow":
            raise line.error("| or the end of the line", position)
        elif kind == "probability":
            probability = _probability(line, position, token)
        else:
            children.append(_symbol(line, position, kind, token))
    yield _Alternative(Rule(parent, tuple(children)), probability, line)


def _name(token: str) -> str:
    """The name of a nonterminal without its escapes."""
    return re.sub(r"\\(?:u([0-9a-f]{4})|(.))", lambda match: chr(int(match[1], 16)) if match[1] else match[2], token)


def _symbol(line: _Line, position: int, kind: str, token: str) -> Symbol:
    """A nonterminal or a word."""
    if kind == "name":
        return Nonterminal(_name(token))
    word = ast.literal_eval(token) if kind == "long" else token
    if not word:
        raise line.error("a word of at least one letter in the quotes", position)
    return str(word)


def _probability(line: _Line, position: int, token: str) -> float:
    """The number in square brackets."""
    try:
        value = float(token)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise line.error("a probability of at least 0 in [ ]", position)
    return value


def _check_symbols(alternatives: list[_Alternative], start: Nonterminal | None) -> None:
    """Complain of nonterminals without rules."""
    parents = {alternative.rule.parent for alternative in alternatives}
    if start is not None and start not in parents:
        raise ValueError(f"%start must name the parent of a rule, got {start}")
    for rule, _, line in alternatives:
        for child in rule.children:
            if isinstance(child, Nonterminal) and child not in parents:
                raise ValueError(f"line {line.number}: {child} has no rules; if it is a word, it needs quotes")


def _weights(alternatives: list[_Alternative]) -> dict[Rule, float]:
    """The probability of each rule, in order of appearance; a parent's must be given for all of its rules or none."""
    groups: dict[Nonterminal, list[_Alternative]] = defaultdict(list)
    weights: dict[Rule, float] = {}
    for alternative in alternatives:
        groups[alternative.rule.parent].append(alternative)
        weights.setdefault(alternative.rule, 0.0)
    for parent, group in groups.items():
        missing = [alternative for alternative in group if alternative.probability is None]
        if missing and len(missing) < len(group):
            raise ValueError(
                f"line {missing[0].line.number}: expected a probability such as [0.5] after {missing[0].rule}, "
                f"as other rules of {parent} have one"
            )
        total = math.fsum(alternative.probability or 0.0 for alternative in group)
        if not missing and not abs(total - 1) < ROUNDED_SUM_TOLERANCE:
            where = group[-1].line.number
            raise ValueError(f"line {where}: expected the probabilities of {parent} to sum to 1, got {total!r}")
        for alternative in group:
            weights[alternative.rule] += 1 / len(group) if alternative.probability is None else alternative.probability
    return weights
