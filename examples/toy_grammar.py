"""A toy English grammar, learnt from sentences alone.

Run: python examples/toy_grammar.py

A small grammar makes 400 sentences. First its rules are known and their probabilities are not: inside-outside finds
them from the words, without a single tree. Then nothing is known but the number of symbols: every pair of symbols may
be a constituent and every word may belong to every class. The classes that come out are articles, nouns, verbs ...
"""

import numpy as np

from unveil import PCFG
from unveil.grammar import read_grammar

TRUTH = read_grammar("""
    S -> NP VP [1.0]
    NP -> Det N [0.65] | Det Adj N [0.2] | NP PP [0.15]
    VP -> V NP [0.6] | V NP PP [0.15] | Vi [0.25]
    PP -> P NP [1.0]
    Det -> 'the' [0.6] | 'a' [0.4]
    Adj -> 'old' [0.5] | 'happy' [0.3] | 'small' [0.2]
    N -> 'dog' [0.3] | 'cat' [0.25] | 'girl' [0.2] | 'telescope' [0.15] | 'park' [0.1]
    V -> 'saw' [0.5] | 'chased' [0.3] | 'liked' [0.2]
    Vi -> 'slept' [0.7] | 'barked' [0.3]
    P -> 'with' [0.6] | 'in' [0.4]
""")

sentences, _ = PCFG.from_grammar(TRUTH, random_state=1).sample(700)
sentences = [words for words in sentences if len(words) <= 12]
seen, unseen = sentences[:400], sentences[400:]
print(f"{len(seen)} sentences, such as:")
for words in seen[:3]:
    print("   ", " ".join(words))

# -- known rules, unknown probabilities --------------------------------------------------------------------------------

even = 1.0 / np.bincount(TRUTH.parents)[TRUTH.parents]
model = PCFG(TRUTH.with_probabilities(even), tol=1e-6).fit(seen)
error = np.abs(model.probabilities_ - TRUTH.probabilities).max()
print(f"\nfrom even probabilities, {model.n_iter_} passes: no rule is off by more than {error:.3f}")
for number in (1, 2, 3, 4, 5):
    was, found = TRUTH.probabilities[number], model.probabilities_[number]
    print(f"    {TRUTH.rules[number]!s:16} was {was:.2f}, found {found:.2f}")

sentence = "the girl saw the dog with a telescope"
print(f"\n{sentence!r} means two things:")
for tree, log_probability in model.kbest(sentence, 2):
    print(f"    {np.exp(log_probability):.2g}  {tree}")
ahead = model.next_word("the small dog")
print(
    "after 'the small dog':", ", ".join(f"{word or 'the end'} {chance:.2f}" for word, chance in list(ahead.items())[:4])
)

# -- nothing known but how many symbols --------------------------------------------------------------------------------

blank = PCFG(n_nonterminals=4, n_preterminals=6, n_init=2, tol=1e-3, prune=1e-3, random_state=0).fit(seen)
print(f"\nfrom random rules over 10 symbols, {blank.n_iter_} passes; {len(blank.rules_)} rules are left. Its classes:")
for symbol in blank.grammar_.nonterminals:
    likely = sorted(blank.grammar_.rules_of(symbol), key=blank.grammar_.probability, reverse=True)
    words = [rule.children[0] for rule in likely if isinstance(rule.children[0], str)]
    if words:
        print(f"    {symbol.name}: {' '.join(words)}")

print("\nwords to choose from at each step, on sentences that were not seen (perplexity):")
for name, one in (("the grammar itself", PCFG.from_grammar(TRUTH)), ("its rules, refitted", model), ("found", blank)):
    known = [words for words in unseen if np.isfinite(one.score([words]))]
    print(f"    {name:20} {one.perplexity(known):.2f}")
