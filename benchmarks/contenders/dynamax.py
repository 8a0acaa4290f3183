"""dynamax, https://probml.github.io/dynamax, on JAX, compiled once, in float64.

Its priors are made as flat as it allows. All sequences have one length, so it takes them side by side.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402
from dynamax.hidden_markov_model import CategoricalHMM, GaussianHMM  # noqa: E402

from benchmarks.contenders.interface import Arrays, Run  # noqa: E402

FLAT = {"initial_probs_concentration": 1.0, "transition_matrix_concentration": 1.0}


def gaussian_chain(arrays: Arrays) -> Run:
    """GaussianHMM with full covariances."""
    model = _gaussian(arrays)
    start = {"emission_means": arrays["means"], "emission_covariances": arrays["covariances"]}
    climb = _climber(model, arrays, arrays["rows"].shape[1:], start)

    def run(steps: int) -> Arrays:
        found = climb(steps)
        return {
            **_common(found),
            "means": np.asarray(found.emissions.means),
            "covariances": np.asarray(found.emissions.covs),
        }

    return run


def categorical_chain(arrays: Arrays) -> Run:
    """CategoricalHMM of one column."""
    climb = _climber(_categorical(arrays), arrays, (1,), {"emission_probs": arrays["emissions"][:, None]})

    def run(steps: int) -> Arrays:
        found = climb(steps)
        return {**_common(found), "emissions": np.asarray(found.emissions.probs)[:, 0]}

    return run


def gaussian_chain_decoding(arrays: Arrays) -> Run:
    """most_likely_states of all sequences at once."""
    start = {"emission_means": arrays["means"], "emission_covariances": arrays["covariances"]}
    return _decoder(_gaussian(arrays), arrays, start)


def categorical_chain_decoding(arrays: Arrays) -> Run:
    """most_likely_states of all sequences at once."""
    return _decoder(_categorical(arrays), arrays, {"emission_probs": arrays["emissions"][:, None]})


def _gaussian(arrays: Arrays) -> Any:
    k, d = arrays["means"].shape
    flat = {"emission_prior_concentration": 1e-10, "emission_prior_scale": 1e-10, "emission_prior_extra_df": 1e-6}
    return GaussianHMM(k, d, **FLAT, **flat)


def _categorical(arrays: Arrays) -> Any:
    k, levels = arrays["emissions"].shape
    return CategoricalHMM(k, 1, levels, emission_prior_concentration=1.0, **FLAT)


def _sequences(arrays: Arrays) -> Any:
    rows = arrays["rows"]
    return jnp.asarray(rows.reshape(len(arrays["lengths"]), -1, rows.shape[1]))


def _initialised(model: Any, arrays: Arrays, start: dict[str, Any]) -> Any:
    common = {"initial_probs": jnp.asarray(arrays["start"]), "transition_matrix": jnp.asarray(arrays["transition"])}
    return model.initialize(**common, **{name: jnp.asarray(value) for name, value in start.items()})


def _climber(model: Any, arrays: Arrays, shape: tuple[int, ...], start: dict[str, Any]) -> Any:
    """So many passes from the start; the step of its own `fit_em`, compiled once instead of in every call."""
    sequences = _sequences(arrays)
    first, properties = _initialised(model, arrays, start)

    @jax.jit
    def step(params: Any, state: Any) -> Any:
        statistics, heights = jax.vmap(partial(model.e_step, params))(sequences)
        params, state = model.m_step(params, properties, statistics, state)
        return params, state, heights.sum()

    def climb(steps: int) -> Any:
        params, state = first, model.initialize_m_step_state(first, properties)
        for _ in range(steps):
            params, state, height = step(params, state)
            height.block_until_ready()
        return params

    return climb


def _decoder(model: Any, arrays: Arrays, start: dict[str, Any]) -> Run:
    sequences = _sequences(arrays)
    params, _ = _initialised(model, arrays, start)
    decode = jax.jit(jax.vmap(partial(model.most_likely_states, params)))
    return lambda steps: {"states": np.asarray(decode(sequences)).ravel()}


def _common(params: Any) -> dict[str, Any]:
    return {
        "start": np.asarray(params.initial.probs),
        "transition": np.asarray(params.transitions.transition_matrix),
    }
