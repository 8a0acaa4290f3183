"""A cocktail party: four voices, four microphones that each hear all of them, and the voices again.

Run: python examples/cocktail_party.py

PCA only undoes what the microphones have in common; ICA finds who said what, since voices are independent and not
Gaussian. The figure is written to cocktail_party.html.
"""

import numpy as np
from plotly.subplots import make_subplots

from unveil import ICA, PCA

random = np.random.default_rng(0)
seconds = np.arange(20_000) / 8000
voices = {
    "whistle": np.sin(2 * np.pi * 31 * seconds + 2 * np.sin(2 * np.pi * 1.3 * seconds)),
    "machine": np.sign(np.sin(2 * np.pi * 17 * seconds)),
    "speech": random.laplace(size=len(seconds)) * (0.2 + np.sin(2 * np.pi * 2.1 * seconds) ** 2),
    "radio": (37 * seconds) % 1 - 0.5,
}
spoken = np.stack([voice / voice.std() for voice in voices.values()], axis=1)
distances = np.array([[1.0, 0.6, 0.5, 0.4], [0.7, 1.0, 0.6, 0.5], [0.4, 0.8, 1.0, 0.7], [0.3, 0.5, 0.9, 1.0]])
heard = spoken @ distances.T

model = ICA(random_state=0).fit(heard)
found = model.transform(heard)
principal = PCA().fit_transform(heard)


def likeness(one, other):
    """Correlations between the columns of both, without signs."""
    return np.abs(np.corrcoef(one.T, other.T)[: one.shape[1], one.shape[1] :])


print("the best correlation of each voice with    a microphone   a principal component   a source")
ways = [likeness(spoken, one) for one in (heard, principal, found)]
for place, name in enumerate(voices):
    microphone, component, source = (way[place].max() for way in ways)
    print(f"  {name:40} {microphone:12.4f} {component:23.4f} {source:10.4f}")
print(f"\n{model.certificate_}")

best = ways[2].argmax(axis=1)
signs = np.sign([np.corrcoef(spoken[:, place], found[:, source])[0, 1] for place, source in enumerate(best)])
panels = (("spoken", spoken), ("heard", heard), ("found", found[:, best] * signs))
titles = [f"{said}: {name}" if said != "heard" else f"microphone {place + 1}"
          for place, name in enumerate(voices) for said, _ in panels]  # fmt: skip
figure = make_subplots(4, 3, subplot_titles=titles, shared_xaxes=True, vertical_spacing=0.06)
for column, (_, signals) in enumerate(panels, 1):
    for row in range(1, 5):
        line = {"width": 1, "color": ("#0072B2", "#8C8C8C", "#D55E00")[column - 1]}
        figure.add_scatter(
            x=seconds[:1600], y=signals[:1600, row - 1], line=line, showlegend=False, row=row, col=column
        )
figure.update_xaxes(title_text="seconds", row=4)
figure.update_layout(width=1000, height=640, template="simple_white", margin={"l": 40, "r": 20, "t": 40, "b": 50})
figure.write_html("cocktail_party.html")
print("\nwhat was spoken, heard and found: cocktail_party.html")
