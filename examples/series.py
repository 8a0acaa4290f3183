"""What moves a market? Principal components and factors of the returns of shares.

Run: python examples/series.py

Returns are simulated, so that the answer is known: every share follows the market, those of a sector follow their
sector too, and each has noise of its own, loud in some and quiet in others. Principal components chase variance, so
the loudest share can take one for itself; factor analysis leaves each share its own noise and finds the sectors.
The figure is written to series.html.
"""

import numpy as np
from plotly.subplots import make_subplots

from unveil import PCA, FactorAnalysis

random = np.random.default_rng(5)
DAYS, SECTORS = 1500, ("banks", "shipping", "energy")
sector = np.repeat(np.arange(len(SECTORS)), 5)
names = [f"{SECTORS[s]} {number % 5 + 1}" for number, s in enumerate(sector)]

market = 0.8 * random.standard_normal(DAYS)
moods = 0.7 * random.standard_normal((DAYS, len(SECTORS)))
beta = random.uniform(0.7, 1.3, len(sector))
loudness = np.where(np.arange(len(sector)) == 7, 4.0, random.uniform(0.4, 0.9, len(sector)))  # one wild share
returns = market[:, None] * beta + moods[:, sector] + loudness * random.standard_normal((DAYS, len(sector)))

pca = PCA().fit(returns)
print("share of the variance along the first components:", pca.explained_variance_ratio_[:6].round(3))
first = int(np.argmax(np.abs(pca.components_[0])))
print(f"the first is {np.abs(pca.components_[0, first]):.0%} {names[first]}, and follows it, not the market:")
score = pca.transform(returns)[:, 0]
print(f"  correlation with that share {np.corrcoef(score, returns[:, first])[0, 1]:+.2f}", end="")
print(f", with the market {np.corrcoef(score, market)[0, 1]:+.2f}")

scaled = PCA().fit(returns / returns.std(axis=0))
score = scaled.transform(returns / returns.std(axis=0))[:, 0]
print(f"with every share measured by its own spread, with the market {np.corrcoef(score, market)[0, 1]:+.2f}")

factors = FactorAnalysis("bic").fit(returns)
print(f"\nfactor analysis finds {factors.n_components_} factors by BIC", end="")
print(" (the market, and how each sector differs from it, make three)")
error = np.abs(np.sqrt(factors.noise_variance_) / loudness - 1).max()
print(f"the noise of every share to within {error:.0%}; that of {names[7]}: {np.sqrt(factors.noise_variance_[7]):.2f}")

turned = FactorAnalysis(factors.n_components_, rotation="varimax").fit(returns)
print("\nloadings after varimax: a factor for each sector, with the market in all of them")
for number, name in enumerate(SECTORS):
    means = turned.components_[:, sector == number].mean(axis=1)
    print(f"  {name:9}" + "".join(f"{value:7.2f}" for value in means))

explained = 1 - factors.noise_variance_ / returns.var(axis=0)
print("\nhow much of a share is common to all, and how much its own:")
for place in (0, 5, 7, 10):
    print(f"  {names[place]:11} {explained[place]:6.0%} common")

figure = make_subplots(1, 2, subplot_titles=["loadings of the factors", "the market, from day to day"])
factor_names = [f"factor {number + 1}" for number in range(len(turned.components_))]
figure.add_heatmap(x=factor_names, y=names, z=turned.components_.T, colorscale="RdBu", zmid=0, row=1, col=1)
figure.data[0].colorbar = {"x": 0.44, "thickness": 12}
figure.update_yaxes(autorange="reversed", row=1, col=1)
sign = np.sign(np.corrcoef(score, market)[0, 1])
raw = pca.transform(returns)[:, 0]
lines = {
    "as it was": (market / market.std(), "#8C8C8C"),
    "first component, shares by their spread": (sign * score / score.std(), "#0072B2"),
    "first component, shares as they are": (
        pca.transform(returns)[:, 0] / pca.explained_variance_[0] ** 0.5,
        "#D55E00",
    ),
}
for name, (changes, color) in lines.items():
    figure.add_scatter(y=changes.cumsum(), name=name, line={"width": 1.5, "color": color}, row=1, col=2)
figure.update_xaxes(title_text="day", row=1, col=2)
figure.update_layout(width=1100, height=480, template="simple_white", legend={"x": 0.55, "y": -0.2, "orientation": "h"})
figure.write_html("series.html")
print("\nloadings, and the market as the components see it: series.html")
