"""Two rings, one around the other: K-means cuts both in half, kernel K-means finds them.

Run: python examples/rings.py
"""

import numpy as np

from unveil import KernelKMeans, KMeans

random = np.random.default_rng(3)
angles = 2 * np.pi * random.random(400)
outer = np.arange(400) >= 200
radii = np.where(outer, 3.0, 1.0) + random.normal(size=400) * 0.12
rings = np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=1)

for model in (
    KMeans(2, n_init=10, random_state=0),
    KernelKMeans(2, gamma=0.5, n_init=10, random_state=0),
    KernelKMeans(2, gamma=0.5, n_init=10, method="nystroem", n_landmarks=40, random_state=0),
):
    agree = np.mean(model.fit(rings).labels_ == outer)
    print(f"{max(agree, 1 - agree):6.1%} of the rows on the right ring: {model}")
