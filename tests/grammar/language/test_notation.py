"""nltk's notation: the same grammars as nltk reads, there and back to the last bit, and errors that name the line."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.grammars import grammars
from unveil.grammar import Grammar, Nonterminal, Rule, read_grammar, write_grammar
from unveil.grammar.language.notation import read_rule
from unveil.grammar.language.rules import normalised

# Texts, and what nltk 3 reads: start, then parent, children (words with a ' before), probability.
READ_BY_NLTK = [
    (
        "\n"
        "    S -> NP VP [1.0]\n"
        "    PP -> P NP [1.0]\n"
        "    VP -> V NP [0.7] | VP PP [0.3]\n"
        "    P -> 'with' [1.0]\n"
        "    V -> 'saw' [1.0]\n"
        "    NP -> NP PP [0.4] | 'astronomers' [0.1] | 'ears' [0.18] | 'saw' [0.04] | 'stars' [0.18] | 'telescopes' "
        "[0.1]\n",
        "S",
        [
            ("S", ("NP", "VP"), 1.0),
            ("PP", ("P", "NP"), 1.0),
            ("VP", ("V", "NP"), 0.7),
            ("VP", ("VP", "PP"), 0.3),
            ("P", ("'with",), 1.0),
            ("V", ("'saw",), 1.0),
            ("NP", ("NP", "PP"), 0.4),
            ("NP", ("'astronomers",), 0.1),
            ("NP", ("'ears",), 0.18),
            ("NP", ("'saw",), 0.04),
            ("NP", ("'stars",), 0.18),
            ("NP", ("'telescopes",), 0.1),
        ],
    ),
    (
        "\n"
        "    S -> NP VP [1.0]\n"
        "    NP -> Det N [0.5] | NP PP [0.25] | 'John' [0.1] | 'I' [0.15]\n"
        "    Det -> 'the' [0.8] | 'my' [0.2]\n"
        "    N -> 'man' [0.5] | 'telescope' [0.5]\n"
        "    VP -> VP PP [0.1] | V NP [0.7] | V [0.2]\n"
        "    V -> 'ate' [0.35] | 'saw' [0.65]\n"
        "    PP -> P NP [1.0]\n"
        "    P -> 'with' [0.61] | 'under' [0.39]\n",
        "S",
        [
            ("S", ("NP", "VP"), 1.0),
            ("NP", ("Det", "N"), 0.5),
            ("NP", ("NP", "PP"), 0.25),
            ("NP", ("'John",), 0.1),
            ("NP", ("'I",), 0.15),
            ("Det", ("'the",), 0.8),
            ("Det", ("'my",), 0.2),
            ("N", ("'man",), 0.5),
            ("N", ("'telescope",), 0.5),
            ("VP", ("VP", "PP"), 0.1),
            ("VP", ("V", "NP"), 0.7),
            ("VP", ("V",), 0.2),
            ("V", ("'ate",), 0.35),
            ("V", ("'saw",), 0.65),
            ("PP", ("P", "NP"), 1.0),
            ("P", ("'with",), 0.61),
            ("P", ("'under",), 0.39),
        ],
    ),
    (
        '\n# a comment\n%start B\nA -> B \'x\' B [.25]|[.75]\nB -> "it\'s" [0.5] \\\n   | \'say "x"\' "b" [0.50]\n',
        "B",
        [("A", ("B", "'x", "B"), 0.25), ("A", (), 0.75), ("B", ("'it's",), 0.5), ("B", ('\'say "x"', "'b"), 0.5)],
    ),
    (
        "S -> [0.5] | S S [.125] | 'a' S \"b\" [.375]\n"
        "  \n"
        "S2/NP -> S^1 [1.]\n"
        "S^1 -> S<x>-y [1]\n"
        "S<x>-y -> 'back\\slash' [1.0]\n",
        "S",
        [
            ("S", (), 0.5),
            ("S", ("S", "S"), 0.125),
            ("S", ("'a", "S", "'b"), 0.375),
            ("S2/NP", ("S^1",), 1.0),
            ("S^1", ("S<x>-y",), 1.0),
            ("S<x>-y", ("'back\\slash",), 1.0),
        ],
    ),
    (
        "S -> 'a b' [0.25]\n  S -> 'a''b' [0.25]\nS -> '[0.3]' [0.25] | '->|#%' [0.25]",
        "S",
        [("S", ("'a b",), 0.25), ("S", ("'a", "'b"), 0.25), ("S", ("'[0.3]",), 0.25), ("S", ("'->|#%",), 0.25)],
    ),
    (
        "%start S\nA -> S [1.0]\nS -> 'a' [0.1] | 'b' [0.2] | 'c' [0.3] | 'd' [0.4]\n%start A",
        "A",
        [("A", ("S",), 1.0), ("S", ("'a",), 0.1), ("S", ("'b",), 0.2), ("S", ("'c",), 0.3), ("S", ("'d",), 0.4)],
    ),
]


def described(grammar):
    """A grammar in the form of the cases."""
    rows = [
        (
            rule.parent.name,
            tuple(child.name if isinstance(child, Nonterminal) else "'" + child for child in rule.children),
            float(p),
        )
        for rule, p in zip(grammar.rules, grammar.probabilities, strict=True)
    ]
    return grammar.start.name, rows


@pytest.mark.parametrize("number", range(len(READ_BY_NLTK)))
def test_the_same_as_nltk(number):
    text, start, rows = READ_BY_NLTK[number]
    found_start, found = described(read_grammar(text))
    assert found_start == start
    assert [row[:2] for row in found] == [tuple(row[:2]) for row in rows]
    assert [row[2] for row in found] == [row[2] for row in rows]


ANY_WORD = st.text(min_size=1, max_size=5) | st.text("'\"\\\n\r #|[]->a", min_size=1, max_size=6)
ANY_NAME = st.text("S'\"\\\n #|[]->%a$.,é\t", min_size=1, max_size=5)


@settings(max_examples=200, deadline=None)
@given(
    ANY_NAME,
    st.lists(
        st.lists(ANY_WORD | st.just(Nonterminal("S")), max_size=3).map(tuple), min_size=1, max_size=4, unique=True
    ),
    st.lists(st.floats(1e-30, 1.0), min_size=5, max_size=5),
    st.booleans(),
)
def test_there_and_back_to_the_last_bit(name, rights, weights, backwards):
    odd, s = Nonterminal(name), Nonterminal("S")
    rules = dict.fromkeys([*(Rule(odd, right) for right in rights), Rule(s, (odd, odd))])
    grammar = normalised(odd if backwards else s, tuple(rules)[:: -1 if backwards else 1], weights[: len(rules)])
    assert read_grammar(write_grammar(grammar)) == grammar


@settings(max_examples=50, deadline=None)
@given(grammars())
def test_random_grammars_there_and_back(grammar):
    assert read_grammar(str(grammar)) == grammar


def test_written_as_nltk_reads():
    grammar = read_grammar(
        "%start S\nA -> 'it\\'s' [1.0]".replace("'it\\'s'", '"it\'s"') + "\nS -> A [.00001] | 'a' [.99999]"
    )
    assert write_grammar(grammar) == ("%start S\nA -> \"it's\" [1.0]\nS -> A [0.00001]\nS -> 'a' [0.99999]\n")


def test_no_probabilities_are_even_ones():
    grammar = read_grammar("S -> A | 'b' | \nA -> 'a' [1.0]")
    assert grammar.probabilities.tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3, 1.0])
    assert grammar.rules[2] == Rule(Nonterminal("S"), ())


def test_rounded_sums_are_normalised():
    grammar = read_grammar("S -> 'a' [.333] | 'b' [.333] | 'c' [.333]")
    assert grammar.probabilities.tolist() == [1 / 3] * 3


def test_the_same_rule_twice_is_one_with_the_sum():
    grammar = read_grammar("S -> 'a' [.25] | 'b' [.5]\nS -> 'a' [.25]")
    assert [str(rule) for rule in grammar.rules] == ["S -> 'a'", "S -> 'b'"]
    assert grammar.probabilities.tolist() == [0.5, 0.5]


def test_comments_arrows_without_space_and_exponents():
    grammar = read_grammar("# a comment\n\nS->A '#' [1e-2]|'|' [0.99] # and more\nA -> '->' # [7]\n")
    assert [str(rule) for rule in grammar.rules] == ["S -> A '#'", "S -> '|'", "A -> '->'"]
    assert grammar.probabilities.tolist() == [0.01, 0.99, 1.0]


def test_treebank_labels():
    names = ["''", "``", "#", "$", ".", ",", ":", "-NONE-", "PRP$", "NP-SBJ=1", "S|<A-B>", "%"]
    top = Nonterminal("TOP")
    rules = [Rule(top, (Nonterminal(name),)) for name in names] + [Rule(Nonterminal(name), (name,)) for name in names]
    grammar = normalised(top, rules, np.ones(len(rules)))
    assert read_grammar(write_grammar(grammar)) == grammar


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "text must hold at least one rule"),
        ("# nothing", "at least one rule"),
        ("S -> 'a' [1.0]\nS 'b'", "line 2: expected ->, got \"'b'\""),
        ("S", "line 1: expected ->, got the end of the line"),
        ("'a' -> S", "line 1: expected a nonterminal, got"),
        ("S -> 'a [1.0]", r"line 1: expected a nonterminal, a word in quotes, a probability in \[ \] or \|, got"),
        ("S -> 'a' [x]", r"line 1: expected a probability of at least 0 in \[ \], got '\[x\]'"),
        ("S -> 'a' [-1]", "line 1: expected a probability"),
        ("S -> 'a' [nan]", "line 1: expected a probability"),
        ("S -> 'a' [.5] 'b' [.5]", r"line 1: expected \| or the end of the line, got"),
        ("S -> 'a' -> 'b'", "line 1: expected . or the end"),
        ("S -> '' [1.0]", "line 1: expected a word of at least one letter"),
        ("S -> 'a' [.5] | 'b'", r"line 1: expected a probability such as \[0.5\] after S -> 'b'"),
        ("S -> 'a' [.5]\nS -> 'b' [.4]", "line 2: expected the probabilities of S to sum to 1, got 0.9"),
        ("S -> NP VP\nNP -> 'a'", "line 1: VP has no rules; if it is a word, it needs quotes"),
        ("%start\nS -> 'a'", "line 1: expected %start and one nonterminal"),
        ("%start S T\nS -> 'a'", "line 1: expected %start and one nonterminal"),
        ("%begin S\nS -> 'a'", "line 1: expected %start and one nonterminal, got '%begin S'"),
        ("%start T\nS -> 'a'", "%start must name the parent of a rule, got T"),
        ("S -> 'a' \\\n | 'b' [1", "line 1: expected"),
    ],
)
def test_errors_name_the_line(text, message):
    with pytest.raises(ValueError, match=message):
        read_grammar(text)


def test_writing_is_the_string_of_a_grammar():
    grammar = Grammar(Nonterminal("S"), [Rule(Nonterminal("S"), ("a",))], [1.0])
    assert str(grammar) == "S -> 'a' [1.0]"


@given(grammars())
def test_rules_as_text_there_and_back(grammar):
    for rule in grammar.rules:
        assert read_rule(str(rule)) == rule


@pytest.mark.parametrize(
    "word", ["it's", '"', "a\\b", "c\u00a0d", "\u65e5\u672c", "a\nb", "'\"", "->", "#", "[0.5]", "|"]
)
def test_strange_words_in_a_rule(word):
    rule = Rule(Nonterminal("S"), (word, Nonterminal("a b")))
    assert read_rule(str(rule)) == rule


@pytest.mark.parametrize("text", ["S", "S -> 'a' | 'b'", "S -> 'a' [0.5]", ""])
def test_what_is_not_one_rule(text):
    with pytest.raises(ValueError, match="line 1: expected"):
        read_rule(text)
