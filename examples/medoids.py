"""Rows that stand for all: K-medoids, with a metric and with dissimilarities alone.

Run: python examples/medoids.py
"""

from pathlib import Path

import numpy as np

from unveil import KMeans, KMedoids


def edits(one, other):
    """Letters to change, add or leave out to make one word of another."""
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        last, row[0] = row[0], i
        for j, wanted in enumerate(other, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (letter != wanted))
    return row[-1]


iris = np.loadtxt(Path(__file__).parent / "data" / "iris.csv", delimiter=",", skiprows=1)
flowers = KMedoids(3, metric="manhattan", random_state=0).fit(iris)
print(f"three flowers that stand for all, {flowers.inertia_:.1f} cm from the others in all:")
for number, flower in zip(flowers.medoid_indices_, flowers.cluster_centers_, strict=True):
    print(f"  row {number}: {flower}")

wild = np.vstack([iris, [[700.0, 30.0, 500.0, 20.0]]])  # someone wrote millimetres
print("\nwith one row in millimetres, the centre of all rows moves by")
for word, model in (("mean", KMeans(1)), ("medoid", KMedoids(1, metric="manhattan"))):
    before, after = (model.fit(rows).cluster_centers_[0] for rows in (iris, wild))
    print(f"  {word + ':':8} {np.abs(after - before).sum():.2f} cm")

words = ["cat", "cats", "cart", "card", "care", "hello", "hallo", "hullo", "hell", "shell", "window", "widow", "winnow"]
apart = np.array([[edits(one, other) for other in words] for one in words], dtype=float)
model = KMedoids(3, metric="precomputed", random_state=0).fit(apart)
print("\nwords by how they are spelled:")
for cluster, medoid in enumerate(model.medoid_indices_):
    members = [words[row] for row in np.flatnonzero(model.labels_ == cluster)]
    print(f"  {words[medoid]}: {', '.join(members)}")
