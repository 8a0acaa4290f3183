"""Entropy, Kullback-Leibler divergence and free energy: `unveil.information` is `unveil.core.information`."""

from unveil.core.information import Gaussian, entropy, free_energy, kl_divergence, log_likelihood

__all__ = ["Gaussian", "entropy", "free_energy", "kl_divergence", "log_likelihood"]
