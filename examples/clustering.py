"""How many kinds of eruption does the geyser have? Run: python examples/clustering.py

K-means for one to ten clusters, all criteria, one verdict. The columns are minutes of an eruption and minutes of
waiting; each is measured by its own spread, since distances add up over columns.
"""

from pathlib import Path

import numpy as np

import unveil

minutes = np.loadtxt(Path(__file__).parent / "data" / "faithful.csv", delimiter=",", skiprows=1)
spread = minutes.std(axis=0)
outcome = unveil.select(unveil.KMeans(n_init=5, random_state=0), minutes / spread, {"n_clusters": range(1, 11)})

print(outcome.verdict())
names = ("n_clusters", "inertia", "bic", "silhouette", "gap", "stability", "votes")
print("\n" + "".join(name.rjust(12) for name in names))
for row in outcome.table:
    print("".join(("-" if row[name] is None else f"{row[name]:.4g}").rjust(12) for name in names))

model = outcome.best_estimator_
print("\nminutes of an eruption and of waiting, by cluster:")
for centre, count in zip(model.cluster_centers_ * spread, np.bincount(model.labels_), strict=True):
    print(f"  {centre.round(1)}  {count} eruptions")
print(f"\n{model.certificate_}")
