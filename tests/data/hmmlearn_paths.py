"""How hmmlearn.json was made: log-likelihoods of hmmlearn 0.3.3, pass by pass, from a start that is given.

``python tests/data/hmmlearn_paths.py > tests/data/hmmlearn.json``; the tests make the same data.
"""

from __future__ import annotations

import json
import logging
import sys

import numpy as np

STEPS = np.arange(240)
REGIME = (STEPS // 20) % 3
LENGTHS = [100, 60, 80]
NUMBERS = np.stack([np.sin(1.7 * STEPS) + 2.0 * REGIME, np.cos(0.9 * STEPS**1.1) - 1.5 * (REGIME == 1)], axis=1)
COUNTS = np.rint(3.0 + 2.5 * np.sin(0.5 * STEPS) + 6.0 * (REGIME == 2))[:, None].astype(int)
SYMBOLS = ((7 * STEPS + STEPS**2 // 3) % 4 * (REGIME != 1) + (REGIME == 1))[:, None].astype(int)
START = np.array([0.5, 0.3, 0.2])
TRANSITION = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.2, 0.7]])
MEANS = np.array([[0.0, 0.5], [2.5, -1.0], [3.0, 0.5]])
COVARS = {"full": np.tile(np.eye(2), (3, 1, 1)), "tied": np.eye(2), "diag": np.ones((3, 2)), "spherical": np.ones(3)}
RATES = np.array([[2.0], [5.0], [9.0]])
EMISSIONS = np.array([[0.4, 0.2, 0.2, 0.2], [0.1, 0.7, 0.1, 0.1], [0.2, 0.2, 0.2, 0.4]])


def main() -> None:
    """Fit, and write the paths down."""
    from hmmlearn import hmm

    logging.disable(logging.CRITICAL)
    settings = {"n_iter": 15, "tol": -1, "init_params": ""}
    paths = {}

    def run(name, model, rows, **emissions):
        model.startprob_, model.transmat_ = START, TRANSITION
        for attribute, value in emissions.items():
            setattr(model, attribute, value)
        paths[name] = list(model.fit(rows, LENGTHS).monitor_.history)

    for kind, covars in COVARS.items():
        model = hmm.GaussianHMM(3, covariance_type=kind, covars_prior=0.0, covars_weight=1.0, **settings)
        run(kind, model, NUMBERS, means_=MEANS, covars_=covars)
    run("poisson", hmm.PoissonHMM(3, **settings), COUNTS, lambdas_=RATES)
    run("categorical", hmm.CategoricalHMM(3, **settings), SYMBOLS, emissionprob_=EMISSIONS)
    sys.stdout.write(json.dumps(paths, indent=1))


if __name__ == "__main__":
    main()
