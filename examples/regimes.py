"""Regimes of a market: when were the months of the S&P 500 calm, and when were they not?

Run: python examples/regimes.py

Monthly returns from 1950 to 2012. A hidden Markov model with Gaussian returns finds stretches in which months are
alike; how many kinds there are is chosen by BIC and by the likelihood of the last fifth of the months, which
the fits have not seen. What is said of a month is said twice: with hindsight, and as it could have been said then.
The figure is written to regimes.html.
"""

from pathlib import Path

import numpy as np
from plotly.subplots import make_subplots

import unveil

FILE = Path(__file__).parent / "data" / "sp500.csv"
table = np.genfromtxt(FILE, delimiter=",", names=True, dtype=None, encoding="utf-8")
months, returns = table["month"], 100 * table["log_return"][:, None]

for criterion in ("bic", "held_out"):
    model = unveil.GaussianHMM(n_init=5, random_state=0)
    selection = unveil.select(model, returns, {"n_components": range(1, 5)}, criterion=criterion)
    scores = ", ".join(f"{row['n_components']}: {row[criterion]:.4g}" for row in selection.table)
    print(f"regimes by {criterion}: {selection.best_params_['n_components']}  ({scores})")

model = unveil.GaussianHMM(2, n_init=5, random_state=0).fit(returns)
print(f"\n{model.certificate_.verdict}")
order = np.argsort(model.covars_.ravel())
for name, state in zip(("calm", "nervous"), order, strict=True):
    mean, spread = model.means_[state, 0], np.sqrt(model.covars_[state, 0, 0])
    stay = 1 / (1 - model.transmat_[state, state])
    share = model.get_stationary_distribution()[state]
    print(f"{name:8} {mean:+.2f}% a month, spread {spread:.2f}%; lasts {stay:.0f} months; {share:.0%} of all months")

nervous = model.predict_proba(returns)[:, order[1]]
at_the_time = model.filter(returns)[:, order[1]]
states = model.predict(returns) == order[1]
starts = np.flatnonzero(np.diff(np.concatenate([[False], states]).astype(int)) == 1)
ends = np.flatnonzero(np.diff(np.concatenate([states, [False]]).astype(int)) == -1)
print("\nnervous stretches:", ", ".join(f"{months[a]} to {months[b]}" for a, b in zip(starts, ends, strict=True)))

ahead = model.forecast(returns, 12)
spreads = [np.sqrt(ahead.covariance[step, 0, 0]) for step in (0, 11)]
print(f"\nspread of the next month {spreads[0]:.2f}%, of the month in a year {spreads[1]:.2f}%")

titles = ["S&P 500, logarithmic", "probability of a nervous month"]
figure = make_subplots(2, 1, shared_xaxes=True, subplot_titles=titles)
figure.add_scatter(x=months, y=table["close"], name="close", row=1, col=1)
figure.add_scatter(x=months, y=nervous, name="with hindsight", line={"color": "#d62728"}, row=2, col=1)
figure.add_scatter(x=months, y=at_the_time, name="at the time", line={"color": "#1f77b4", "dash": "dot"}, row=2, col=1)
figure.update_yaxes(type="log", row=1, col=1)
figure.write_html("regimes.html", include_plotlyjs=True)
print("\nwritten: regimes.html")
