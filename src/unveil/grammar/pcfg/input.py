"""What users hand in as sentences, turned into what the grammar model reads.

A sentence is a string (split at white space) or a list of words; or, where more is known of it, an object of
`unveil.grammar`: `Bracketed` (some of its constituents) or `Tree` (all of them; a tree of nltk will do). All kinds may
be mixed. Words become codes, one row of a table each; brackets and trees travel along as marks of their sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from unveil.core.arrays import Floats, Indices, Integers
from unveil.grammar import Grammar, Nonterminal, NormalForm, Rule, Span, Tree
from unveil.grammar.pcfg.expectations import Derivation
from unveil.sources.array import ArraySource
from unveil.sources.sequences import Sequences
from unveil.sources.weighted import checked_weights

PARTITION_WORDS = 512  # the work grows with the cube of a sentence's length and with the rules of a grammar
SENTENCES_TAKEN = "a list of sentences, each a string, a list of words, a Bracketed or a Tree"


class Sentence(NamedTuple):
    """Words, the constituents that are known, and the tree if all are."""

    words: tuple[str, ...]
    spans: tuple[Span, ...] = ()
    tree: Tree | None = None


def read_sentences(X: Any, name: str = "X") -> list[Sentence]:
    """All sentences of `X`.

    >>> from unveil.grammar.pcfg.input import read_sentences
    >>> [sentence.words for sentence in read_sentences(["stars shine", ["stars", "shine", "on"], ""])]
    [('stars', 'shine'), ('stars', 'shine', 'on'), ()]
    """
    if isinstance(X, str | bytes | Mapping | Tree) or _is_single(X) or not isinstance(X, Iterable):
        raise ValueError(f"{name} must be {SENTENCES_TAKEN}; got {X!r:.80}, a single {type(X).__name__}")
    shape = getattr(X, "shape", (0,))
    if len(shape) != 1:
        raise ValueError(f"{name} must be {SENTENCES_TAKEN}; got an array of shape {shape}")
    sentences = [read_sentence(item, f"sentence {number} of {name}") for number, item in enumerate(X)]
    if not sentences:
        raise ValueError(f"{name} must hold at least one sentence, got none")
    return sentences


def read_sentence(item: Any, name: str = "sentence") -> Sentence:
    """One sentence of any kind."""
    if isinstance(item, str):
        return Sentence(tuple(item.split()))
    if isinstance(item, Tree):
        return Sentence(item.leaves, tree=item)
    if _is_foreign_tree(item):
        return read_sentence(_adopted(item), name)
    if hasattr(item, "words") and hasattr(item, "spans"):
        return read_sentence(tuple(item.words), name)._replace(spans=_checked_spans(item, name))
    if not isinstance(item, Iterable) or isinstance(item, bytes | Mapping):
        raise ValueError(f"{name} must be a string, a list of words, a Bracketed or a Tree, got {item!r:.80}")
    words = tuple(item)
    for word in words:
        if not isinstance(word, str) or not word:
            raise ValueError(f"{name} must be made of words (strings), got {word!r:.80} in it")
    return Sentence(tuple(map(str, words)))


def _checked_spans(item: Any, name: str) -> tuple[Span, ...]:
    """The brackets of a sentence, all within its words."""
    for first, last, *_ in item.spans:
        if not 0 <= first < last <= len(item.words):
            raise ValueError(
                f"brackets of {name} must have first < last within {len(item.words)} words, got {first, last}"
            )
    return tuple(Span(*span) for span in item.spans)


def without_brackets(sentence: Sentence, name: str) -> Sentence:
    """The sentence, if no brackets came with it."""
    if sentence.spans:
        raise ValueError(f"{name} must be words alone here, got a Bracketed; `parse` takes its brackets into account")
    return sentence


def _is_single(X: Any) -> bool:
    """Whether it is one sentence rather than a list of them."""
    return _is_foreign_tree(X) or (hasattr(X, "words") and hasattr(X, "spans"))


def _is_foreign_tree(item: Any) -> bool:
    """Whether it is a tree as nltk has them: a list of children with a label to ask for."""
    return isinstance(item, list) and callable(getattr(item, "label", None))


def _adopted(item: Any) -> Tree:
    """A tree of nltk as one of ours; children before their parents, since trees may be deep."""
    made: dict[int, Tree] = {}
    waiting = [(item, False)]
    while waiting:
        node, ready = waiting.pop()
        if ready:
            made[id(node)] = Tree(str(node.label()), tuple(c if isinstance(c, str) else made[id(c)] for c in node))
        else:
            waiting.append((node, True))
            waiting.extend((child, False) for child in node if not isinstance(child, str))
    return made[id(item)]


class Reader(NamedTuple):
    """Turns sentences into codes of a grammar's words; words that it has not get the code -1."""

    grammar: Grammar
    form: NormalForm

    def source(
        self, sentences: Sequence[Sentence], weights: Floats | None = None, enough: int = PARTITION_WORDS
    ) -> Sequences:
        """The sentences as an engine takes them; what is known of those of weight 0 is not looked at."""
        codes = self.codes(sentences).astype(np.float64)
        counted = np.ones(len(sentences), dtype=bool) if weights is None else weights > 0
        marks = [self.mark(one, number) if counted[number] else None for number, one in enumerate(sentences)]
        plain = all(mark is None for mark in marks)
        rows = ArraySource(codes.reshape(-1, 1))
        lengths = np.array([len(one.words) for one in sentences], dtype=np.intp)
        return Sequences(rows, lengths, weights, None if plain else marks, enough)

    def codes(self, sentences: Iterable[Sentence]) -> Integers:
        """Numbers of all words."""
        table = {word: code for code, word in enumerate(self.form.words)}
        return np.array([table.get(word, -1) for one in sentences for word in one.words], dtype=np.int64)

    def unseen(self, sentences: Iterable[Sentence]) -> tuple[str, int] | None:
        """The first word that the grammar has not, and the number of its sentence."""
        known = set(self.form.words)
        for number, sentence in enumerate(sentences):
            for word in sentence.words:
                if word not in known:
                    return word, number
        return None

    def mark(self, sentence: Sentence, number: int) -> Any:
        """What is known of a sentence besides its words: the rules of its tree, or constituents."""
        if sentence.tree is not None:
            return self._derived(sentence.tree)
        return self.brackets(sentence, number)

    def _derived(self, tree: Tree) -> Derivation:
        """The rules of a tree, by their numbers."""
        rules, numbers, symbols = self._rules(tree), self.grammar.numbers, self._symbols()
        others = [rule for rule in rules if rule not in numbers]
        guessed = [symbols[rule.parent.name] for rule in others if self._is_guess(rule)]
        own = [numbers[rule] for rule in rules if rule in numbers]
        return Derivation(
            np.array(own, dtype=np.intp), np.array(guessed, dtype=np.intp), possible=len(guessed) == len(others)
        )

    def foreign_rule(self, tree: Tree) -> Rule | None:
        """The first rule of a tree that the grammar has not, unknown words aside."""
        others = (rule for rule in self._rules(tree) if rule not in self.grammar.numbers)
        return next((rule for rule in others if not self._is_guess(rule)), None)

    def _rules(self, tree: Tree) -> tuple[Rule, ...]:
        """The rules of a tree; the first leads to its root, if that is not the start."""
        root = Nonterminal(tree.label)
        entry = () if root == self.grammar.start else (Rule(self.grammar.start, (root,)),)
        return (*entry, *tree.rules())

    def _is_guess(self, rule: Rule) -> bool:
        """Whether it makes a word that the grammar has not from a symbol that it has."""
        known = rule.parent in self.grammar.nonterminals
        single = len(rule.children) == 1 and isinstance(rule.children[0], str)
        return known and single and rule.children[0] not in self.form.words

    def _symbols(self) -> dict[str, int]:
        """Numbers of the grammar's own symbols."""
        return {symbol: code for code, symbol in enumerate(self.form.symbols[: self.form.n_nonterminals])}

    def brackets(self, sentence: Sentence, number: int) -> Integers | None:
        """First word, the one after the last, symbol (or -1) of every bracket, (brackets, 3); None if it has none."""
        if not sentence.spans:
            return None
        names, rows = self._symbols(), []
        for first, last, label in sentence.spans:
            if label is not None and label not in names:
                raise ValueError(f"brackets of sentence {number} must have labels of the grammar, got {label!r}")
            rows.append((first, last, -1 if label is None else names[label]))
        return np.array(rows, dtype=np.int64).reshape(-1, 3)


def words_of(sentences: Iterable[Sentence]) -> tuple[str, ...]:
    """All words, in order of appearance."""
    return tuple(dict.fromkeys(word for sentence in sentences for word in sentence.words))


def weights_of(sample_weight: Any, n_sentences: int) -> Floats | None:
    """Weights of the sentences, if not all are 0."""
    if sample_weight is None:
        return None
    weights = checked_weights(sample_weight, n_sentences, "sample_weight", "a sentence")
    if not weights.sum() > 0:
        raise ValueError("sample_weight must be above 0 for some sentence, got 0 for all")
    return weights


def lost_sentence(reader: Reader, sentences: list[Sentence], lost: Indices) -> str:
    """Which sentence cannot be derived, and why if a word is to blame."""
    number = int(lost[0])
    sentence = sentences[number]
    unseen = reader.unseen([sentence])
    rule = None if sentence.tree is None else reader.foreign_rule(sentence.tree)
    why = f", which has no word {unseen[0]!r}" if unseen is not None else ""
    why = why if rule is None else f", which has no rule {rule} as its tree has"
    others = f" (nor can {len(lost) - 1} more)" if len(lost) > 1 else ""
    words = " ".join(sentence.words)
    hint = "impossible='skip' leaves such sentences out"
    return f"sentence {number} of X, {words!r:.80}, cannot be derived from the grammar{why}{others}; {hint}"


def some_of(source: Sequences, enough: int) -> Sequences:
    """The sentences, or a part of about `enough` words that is spread over them."""
    words = int(source.lengths.sum())
    if words <= enough:
        return source
    stride = -(-words // enough)
    blocks = list(source.read())
    codes = np.concatenate([block.rows for block in blocks])
    chosen = np.arange(0, source.n_sequences, stride)
    taken = np.repeat(np.isin(np.arange(source.n_sequences), chosen), source.lengths)
    weights = None if source.sequence_weights is None else source.sequence_weights[chosen]
    if weights is not None and not weights.sum() > 0:
        return source
    marks = None if source.marks is None else [source.marks[int(number)] for number in chosen]
    return Sequences(ArraySource(codes[taken]), source.lengths[chosen], weights, marks, enough=PARTITION_WORDS)


def word_counts(source: Any, n_words: int) -> Floats:
    """How often each of the grammar's words was seen, weights included."""
    weights = np.ones(source.n_sequences) if source.sequence_weights is None else source.sequence_weights
    codes = np.concatenate([block.rows[:, 0] for block in source.read()]).astype(np.intp)
    seen = codes >= 0
    times = np.repeat(weights, source.lengths)[seen]
    return np.bincount(codes[seen], weights=times, minlength=n_words).astype(np.float64)
