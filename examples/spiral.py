"""A spiral, unrolled: a stiff principal curve finds the way along it, and one that may bend more starts from there.

Run: python examples/spiral.py
"""

import numpy as np

from unveil import PCA, PrincipalCurve
from unveil.plot.curve import principal_curve

random = np.random.default_rng(7)
way = np.sort(random.random(500))  # how far along the spiral each row is, which nobody is told
angles = np.pi * (0.5 + 1.6 * way)
spiral = np.column_stack([angles * np.cos(angles), angles * np.sin(angles)]) + random.normal(size=(500, 2)) * 0.2


def tell(squared_distance: float, coordinates: np.ndarray, name: str) -> None:
    """How near the rows are, and how well their order along the way was found."""
    ranks = np.argsort(np.argsort(coordinates.ravel()))
    order = abs(np.corrcoef(ranks, np.arange(len(ranks)))[0, 1])
    print(f"mean squared distance {squared_distance:6.3f}, order {order:6.1%}: {name}")


line = PCA(1).fit(spiral)
flat = line.inverse_transform(line.transform(spiral))
tell(np.mean(np.sum((spiral - flat) ** 2, axis=1)), line.transform(spiral), "first principal component")

stiff = PrincipalCurve(degrees_of_freedom=5).fit(spiral)
loose = PrincipalCurve(degrees_of_freedom=10).fit(spiral)
both = PrincipalCurve(degrees_of_freedom=10, init=stiff.points_).fit(spiral)
for model, name in (
    (stiff, "principal curve with 5 degrees of freedom"),
    (loose, "with 10: it took a short cut from one arm to the other"),
    (both, "with 10, from where the one with 5 ended"),
):
    tell(-model.score(spiral), model.coordinates_, name)

principal_curve(both, spiral, names=["east", "north"]).write_html("spiral.html")
print("the curve through the rows: spiral.html")
