"""Entropy, Kullback-Leibler divergence and free energy: `unveil.information` is `unveil.information.measures`."""

from unveil.information.measures import Gaussian, entropy, free_energy, kl_divergence, log_likelihood

__all__ = ["Gaussian", "entropy", "free_energy", "kl_divergence", "log_likelihood"]
