"""Eigenfaces: what images have in common, as images (Sirovich & Kirby 1987; Turk & Pentland 1991).

Run: python examples/eigenfaces.py [--images FACES]

FACES is an .npy file of shape (images, height, width), or a folder of grey or colour images of one size (which takes
Pillow to read). Without it, the handwritten digits that come with scikit-learn stand in for faces. The figure is
written to eigenfaces.html.
"""

import argparse
from pathlib import Path

import numpy as np
from plotly.subplots import make_subplots
from sklearn.datasets import load_digits

from unveil import PCA

SHOWN, LINES = 7, 4  # images in a line of the figure, and how many are put together again there


def read(path):
    """Images from a file or a folder, (images, height, width)."""
    if path.is_file():
        return np.load(path)
    from PIL import Image

    files = [file for file in sorted(path.rglob("*")) if file.suffix.lower() in {".pgm", ".png", ".jpg", ".jpeg"}]
    return np.stack([np.asarray(Image.open(file).convert("L"), dtype=np.float64) for file in files])


parser = argparse.ArgumentParser()
parser.add_argument("--images", type=Path)
given = parser.parse_known_args()[0].images
images = load_digits().images if given is None else read(given)
shape, rows = images.shape[1:], images.reshape(len(images), -1).astype(np.float64)
order = np.random.default_rng(0).permutation(len(rows))
fresh, known = np.split(rows[order], [max(len(rows) // 10, LINES)])

model = PCA(min(known.shape) - 1).fit(known)
steps = np.unique(np.geomspace(1, model.n_components_, SHOWN - 1).astype(int))
print(f"{len(known)} images of {shape[0]} x {shape[1]}; {len(fresh)} more that the components have not seen")
print("\ncomponents   variance kept   error of a pixel, seen and not seen")


def rebuilt(of, count):
    """Images from their first `count` scores."""
    scores = model.transform(of)
    scores[:, count:] = 0.0
    return model.inverse_transform(scores)


for count in steps:
    kept = model.explained_variance_ratio_[:count].sum()
    seen, unseen = (np.sqrt(np.mean((rebuilt(of, count) - of) ** 2)) for of in (known, fresh))
    print(f"{count:10}   {kept:13.1%}   {seen:8.3g}  {unseen:8.3g}")

first = [(f"component {number}", picture) for number, picture in enumerate(model.components_[: SHOWN - 1], 1)]
lines = [[("mean", model.mean_), *first]]
for image in fresh[:LINES]:
    again = [(f"by {count}", rebuilt(image[None], count)[0]) for count in steps]
    lines.append([*again, ("itself", image)])
titles = [line[place][0] if place < len(line) else "" for line in lines for place in range(SHOWN)]
figure = make_subplots(len(lines), SHOWN, subplot_titles=titles, horizontal_spacing=0.01, vertical_spacing=0.04)
for row, line in enumerate(lines, 1):
    for column, (_, picture) in enumerate(line, 1):
        figure.add_heatmap(z=picture.reshape(shape)[::-1], colorscale="gray", showscale=False, row=row, col=column)
figure.update_xaxes(visible=False)
figure.update_yaxes(visible=False)
figure.update_layout(width=130 * SHOWN, height=150 * len(lines), margin={"l": 10, "r": 10, "t": 40, "b": 10})
figure.write_html("eigenfaces.html")
print("\nthe mean, the first components and the images from ever more of them: eigenfaces.html")
