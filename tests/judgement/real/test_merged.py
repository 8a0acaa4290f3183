"""Components of one cluster: the clusters are the groups, and what they are made of is a note."""

from __future__ import annotations

import numpy as np

import unveil


def test_six_components_in_three_blobs_are_three_real_clusters():
    centres = np.repeat([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]], 150, axis=0)
    X = centres + np.random.default_rng([7, 111]).normal(size=(450, 2))
    found = unveil.examine(unveil.GaussianMixture(6, random_state=0).fit(X), X)
    assert found.verdicts["real"] == "yes"
    assert len(found.clusters) == 6
    assert len(set(found.clusters)) == 3
    merged = [finding for finding in found.findings if finding.kind == "merged"]
    assert merged
    assert all(finding.severity == "note" and finding.question == "real" for finding in merged)
