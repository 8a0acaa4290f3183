"""The occasionally dishonest casino: which throws were made with the loaded die?

Run: python examples/casino.py

The example of Durbin, Eddy, Krogh & Mitchison (Biological sequence analysis, 1998): a croupier throws a fair die, but
now and then swaps it for a loaded one that shows a six every other time. Only the throws are seen. A hidden Markov
model of the true dice tells when the loaded one was in play; another one learns both dice from the throws alone.
The figure is written to casino.html.
"""

import numpy as np
import plotly.graph_objects as go

from unveil import CategoricalHMM

truth = CategoricalHMM(2, n_features=6, random_state=8)
truth.startprob_ = np.array([0.5, 0.5])
truth.transmat_ = np.array([[0.95, 0.05], [0.10, 0.90]])
truth.emissionprob_ = np.array([[1 / 6] * 6, [0.1] * 5 + [0.5]])
throws, dice = truth.sample(300)
throws = throws.astype(int)

print("throws  " + "".join(str(face + 1) for face in throws[:60, 0]))
print("die     " + "".join("FL"[die] for die in dice[:60]))
log_probability, path = truth.decode(throws)
print("Viterbi " + "".join("FL"[die] for die in path[:60]))
posterior = truth.predict_proba(throws)[:, 1]
filtered = truth.filter(throws)[:, 1]
print(f"right with hindsight, the likeliest path: {np.mean(path == dice):.0%}", end="")
print(f"; die by die: {np.mean((posterior > 0.5) == dice):.0%}", end="")
print(f"; as the throws come in: {np.mean((filtered > 0.5) == dice):.0%}")

print("\nwhat comes next? chance of a six in the next throws:")
ahead = truth.forecast(throws, 6)
print("  " + "  ".join(f"{step @ truth.emissionprob_[:, 5]:.3f}" for step in ahead.probabilities))

# Learning needs more throws than telling: 20 evenings of 1,000 throws each, and no word about the dice.
evenings = [truth.set_params(random_state=seed).sample(1000)[0] for seed in range(20)]
learnt = CategoricalHMM(2, n_features=6, n_init=5, random_state=0).fit(evenings)
loaded = int(np.argmax(learnt.emissionprob_[:, 5]))
order = [1 - loaded, loaded]
print(f"\nlearnt from 20,000 throws in {learnt.n_iter_} passes; certificate: {learnt.certificate_.verdict}")
print("faces of the loaded die:", learnt.emissionprob_[loaded].round(2).tolist(), "(true: 0.1 five times, 0.5)")
print("stays with the fair die:", learnt.transmat_[order[0], order[0]].round(3), "(true: 0.95)")
print("stays with the loaded: ", learnt.transmat_[order[1], order[1]].round(3), "(true: 0.90)")

figure = go.Figure()
figure.add_scatter(y=dice, name="loaded die in play", line={"shape": "hv", "width": 0}, fill="tozeroy")
figure.add_scatter(y=posterior, name="probability, with hindsight", line={"color": "#d62728"})
figure.add_scatter(y=filtered, name="probability, as throws come in", line={"color": "#1f77b4", "dash": "dot"})
figure.update_layout(title="The occasionally dishonest casino", xaxis_title="throw", yaxis_title="loaded die")
figure.write_html("casino.html", include_plotlyjs=True)
print("\nwritten: casino.html")
