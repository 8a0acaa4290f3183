"""What a notebook is told of projections: what the directions hold, and what they are made of.

A function for each kind; the faces name theirs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.core.arrays import Floats
from unveil.estimation.html.bars import Bars
from unveil.estimation.html.card import Card, climbed, ended, listed, names_of
from unveil.estimation.html.grid import Grid
from unveil.estimation.html.ovals import Ovals
from unveil.estimation.html.paths import Paths
from unveil.estimation.html.svg import Picture


def principal_card(model: Any) -> Card:
    """Of PCA: shares of the variance, as a scree plot."""
    shares = np.asarray(model.explained_variance_ratio_)
    results = [
        ("components", f"{len(shares)} of {model.n_features_in_} columns"),
        ("variance kept", f"{shares.sum():.1%}: {listed(shares, '.1%')}"),
        ("off the plane", f"variance {float(np.mean(model.noise_variance_)):.4g} a direction"),
    ]
    return Card(results, Bars("share of the variance of each component", shares))


def factor_card(model: Any) -> Card:
    """Of factors and of probabilistic PCA: what they explain of the columns, and their loadings."""
    loadings, noise = np.asarray(model.components_), np.asarray(model.noise_variance_)
    common = _common(model, loadings)
    whole = float(np.sum(common) + np.sum(np.broadcast_to(noise, common.shape)))
    results = [
        ("directions", f"{len(loadings)} for {model.n_features_in_} columns"),
        ("explained", f"{float(np.sum(common)) / whole:.1%} of the variance"),
        *climbed(model),
    ]
    return Card(results, _loadings(model, loadings, "direction"))


def _common(model: Any, loadings: Floats) -> Floats:
    """Variance of each column that directions share."""
    variances = getattr(model, "explained_variance_", None)
    if variances is None:  # loadings have it
        return np.sum(loadings**2, axis=0)
    return np.asarray(np.maximum(np.asarray(variances) - float(model.noise_variance_), 0.0) @ loadings**2)


def independent_card(model: Any) -> Card:
    """Of ICA: the sources, which of them look Gaussian, and how columns are mixed from them."""
    gaussian = np.flatnonzero(model.gaussian_) + 1
    said = (
        f"source {listed(gaussian, 'd')} may be Gaussian, and cannot be told from others" if len(gaussian) else "none"
    )
    results = [
        ("sources", f"{len(model.components_)} of {model.n_features_in_} columns"),
        ("excess kurtosis", listed(model.kurtosis_, ".2f")),
        ("Gaussian sources", said),
        *ended(model),
    ]
    return Card(results, _loadings(model, np.asarray(model.mixing_).T, "source"))


def discriminant_card(model: Any) -> Card:
    """Of LDA: the classes, how they lie apart, and where."""
    classes = tuple(map(str, model.classes_))
    shares = np.asarray(model.explained_variance_ratio_)
    results = [
        ("classes", f"{len(classes)}: {', '.join(classes)}"),
        ("shares", listed(model.priors_)),
        ("directions", f"{len(shares)}, with {listed(shares, '.1%')} of what sets them apart"),
    ]
    places = (np.asarray(model.means_) - model.xbar_) @ np.asarray(model.scalings_)[:, : len(shares)]
    if places.shape[1] == 0:
        return Card(results)
    if places.shape[1] == 1:
        places = np.column_stack([places, np.zeros(len(places))])
    names = ("first direction", "second direction" if len(shares) > 1 else "")
    return Card(results, Ovals(names, places[:, :2], None, np.asarray(model.priors_), classes))


def curve_card(model: Any) -> Card:
    """Of a principal curve: how long, how close, and its course."""
    rows = len(model.coordinates_) if hasattr(model, "coordinates_") else 0
    each = f", {float(model.distance_) / rows:.4g} a row" if rows else ""
    results = [
        ("length", f"{float(model.length_):.4g}"),
        ("squared distance", f"{float(model.distance_):.4g} in all{each}"),
        *ended(model),
    ]
    return Card(results, _course("Principal curve", model, [np.asarray(model.points_)], 2.4))


def map_card(model: Any) -> Card:
    """Of a topographic map: its lattice, the noise about it, and the sheet in the columns."""
    lattice, means = np.asarray(model.lattice_), np.asarray(model.means_)
    shape = [len(np.unique(way)) for way in lattice.T]
    results = [
        ("lattice", " by ".join(map(str, shape))),
        ("noise", f"{float(np.sqrt(model.noise_variance_)):.4g} (sd about the sheet)"),
        *climbed(model),
    ]
    sheet = means.reshape(*shape, -1)
    lines = [means] if len(shape) == 1 else [*sheet, *sheet.swapaxes(0, 1)]
    return Card(results, _course("Sheet of the map", model, lines, 1.0))


def _loadings(model: Any, loadings: Floats, word: str) -> Grid:
    """Directions in rows, columns across; the largest of each direction is full."""
    largest = np.max(np.abs(loadings), axis=1, keepdims=True)
    rows = tuple(f"{word} {number + 1}" for number in range(len(loadings)))
    cells = loadings / np.where(largest > 0, largest, 1.0)
    return Grid("loadings: blue with it, orange against it", rows, tuple(names_of(model, loadings.shape[1])), cells)


def _course(said: str, model: Any, lines: list[Floats], width: float) -> Picture | None:
    """Lines over the two columns in which they run furthest."""
    every = np.concatenate(lines)
    if every.shape[1] < 2:
        return None
    first, second = np.sort(np.argsort(-np.ptp(every, axis=0), kind="stable")[:2])
    names = names_of(model, every.shape[1])
    return Paths(said, (names[first], names[second]), [one[:, [first, second]] for one in lines], width)
