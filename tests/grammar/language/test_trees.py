"""Trees as objects and as text; Penn brackets of every sort."""

import copy
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unveil.grammar import Bracketed, Span, Tree, read_bracketed, read_trees

LABELS = st.sampled_from(["S", "NP", "-LRB-", "PRP$", "NP-SBJ=1", "'"])
NAMES = st.text("abé()'*", min_size=1, max_size=4)
TREES = st.recursive(
    st.builds(Tree, LABELS, st.lists(NAMES, max_size=2).map(tuple)),
    lambda inner: st.builds(Tree, LABELS, st.lists(inner | NAMES, max_size=4).map(tuple)),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(st.lists(TREES, max_size=3))
def test_brackets_there_and_back(trees):
    assert read_trees(" ".join(map(str, trees))) == tuple(trees)
    assert read_trees("\n".join(tree.pretty(20) for tree in trees)) == tuple(trees)


@settings(max_examples=50, deadline=None)
@given(TREES, TREES)
def test_equal_trees_are_equal(one, two):
    assert (one == two) == (str(one) == str(two) and one.leaves == two.leaves)
    assert pickle.loads(pickle.dumps(one)) == copy.deepcopy(one) == one
    assert hash(copy.deepcopy(one)) == hash(one)


def test_what_a_tree_knows():
    (tree,) = read_trees("(S (NP (DT the) (NN cat)) (E) (VP slept (ADV well)))")
    assert tree.leaves == ("the", "cat", "slept", "well")
    assert tree.depth == 3
    assert [(s.first, s.last, s.label) for s in tree.spans()] == [
        (0, 4, "S"), (0, 2, "NP"), (0, 1, "DT"), (1, 2, "NN"), (2, 2, "E"), (2, 4, "VP"), (3, 4, "ADV"),
    ]  # fmt: skip
    assert [str(rule) for rule in tree.rules()] == [
        "S -> NP E VP", "NP -> DT NN", "DT -> 'the'", "NN -> 'cat'", "E ->", "VP -> 'slept' ADV", "ADV -> 'well'",
    ]  # fmt: skip
    assert repr(tree) == "Tree('(S (NP (DT the) (NN cat)) (E) (VP slept (ADV well)))')"
    assert tree != str(tree)


def test_pretty():
    (tree,) = read_trees("(S (NP (DT the) (NN cat)) (VP slept (ADV well)))")
    assert tree.pretty() == str(tree)
    assert tree.pretty(30) == "(S\n  (NP (DT the) (NN cat))\n  (VP slept (ADV well)))"
    assert tree.pretty(20) == "(S\n  (NP\n    (DT the)\n    (NN cat))\n  (VP\n    slept\n    (ADV well)))"


def test_trees_deeper_than_pythons_stack():
    tree = Tree("S", ("a",))
    for _ in range(5_000):
        tree = Tree("S", ("a", tree))
    assert tree.depth == 5_001
    assert len(tree.leaves) == 5_001
    assert read_trees(str(tree)) == (tree,)
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert tree.spans()[-1] == Span(5_000, 5_001, "S")
    assert len(tree.rules()) == 5_001


def test_the_treebank():
    text = """
    ( (S
        (NP-SBJ-1 (DT The) (NN cat) )
        (VP (VBD wanted)
          (S (NP-SBJ (-NONE- *-1) )
            (VP (TO to) (VP (VB sleep) (NP (-NONE- *T*) ) (-LRB- -LRB-) (RB well) (-RRB- -RRB-) ))))
        (. .) ))
    ( (FRAG (NN done)))
    """
    tree, done = read_trees(text)
    assert tree.leaves == ("The", "cat", "wanted", "to", "sleep", "(", "well", ")", ".")
    assert "-NONE-" not in str(tree)
    assert "(S (VP (TO to) (VP (VB sleep) (-LRB- -LRB-)" in str(tree)
    assert done == Tree("FRAG", (Tree("NN", ("done",)),))
    kept, _ = read_trees(text, keep_empty=True)
    assert kept.leaves == tree.leaves
    assert "(NP-SBJ (-NONE-))" in str(kept)


def test_a_tree_of_nothing_else_stays_as_an_empty_one():
    assert read_trees("(S (NP (-NONE- *)))") == (Tree("S", ()),)
    assert read_trees("( (S (-NONE- *)) )") == (Tree("S", ()),)
    assert read_trees("") == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S a", "line 1, column 1: this bracket is never closed"),
        ("(S (NP a)\n  (VP b)", "line 1, column 1: this bracket is never closed"),
        ("(S a))", r"line 1, column 6: expected a bracket that opens, got '\)'"),
        ("the cat", "line 1, column 1: expected a bracket that opens, got 'the'"),
        ("(S a)\n (  )", "line 2, column 2: expected a label after the bracket"),
        ("((S a) (S b))", "line 1, column 1: expected a label"),
    ],
)
def test_errors_name_the_place(text, message):
    with pytest.raises(ValueError, match=message):
        read_trees(text)


def test_partly_bracketed_sentences():
    sentence = read_bracketed("(the cat) (saw (the dog))")
    assert sentence.words == ("the", "cat", "saw", "the", "dog")
    assert sentence.spans == (Span(0, 2), Span(2, 5), Span(3, 5))
    assert read_bracketed("the cat sat") == Bracketed(("the", "cat", "sat"), ())
    assert read_bracketed("") == Bracketed((), ())
    assert read_bracketed("a -LRB- b").words == ("a", "(", "b")


def test_labels_of_brackets():
    labels = {"NP", "S"}
    assert read_bracketed("(NP the cat) ( NP sat)", labels).spans == (Span(0, 2, "NP"), Span(2, 4))
    assert read_bracketed("(NP the cat)").words == ("NP", "the", "cat")
    assert read_bracketed("(S (NP (-NONE- *)) (NP a) b)", labels) == Bracketed(
        ("a", "b"), (Span(0, 2, "S"), Span(0, 1, "NP"))
    )
    (tree,) = read_trees("(S (NP the cat) (E) (VP sat))")
    assert Bracketed.from_tree(tree).spans == (Span(0, 3, "S"), Span(0, 2, "NP"), Span(2, 3, "VP"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a (b", "column 3: this bracket is never closed"),
        ("a b)", "column 4: this bracket was never opened"),
        ("a () b", "column 3: expected words between brackets, got none"),
    ],
)
def test_errors_of_partly_bracketed_sentences(text, message):
    with pytest.raises(ValueError, match=message):
        read_bracketed(text)
