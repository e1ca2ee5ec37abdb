"""Algorithms 1 and 2 of the paper, written from its equations: slow, in numpy, one sample and one channel at a time.

Features are (V, B, C, positions): view 0 of each sample is the sample itself.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Global:
    """The moving statistics of one layer."""

    def __init__(self, mean: Array, var: Array) -> None:
        self.mean, self.var = mean.astype(np.float64).copy(), var.astype(np.float64).copy()


def mean_and_variance(values: Array) -> tuple[float, float]:
    mean = sum(values) / len(values)
    return mean, sum((value - mean) ** 2 for value in values) / len(values)


def normalised(values: Array, mean: float, var: float, weight: float, bias: float, eps: float) -> Array:
    return np.array([weight * (value - mean) / (var + eps) ** 0.5 + bias for value in values])


def mixnorm(features: Array, state: Global, m: float, tau: float, affine: tuple[Array, Array], eps: float) -> Array:
    """Algorithm 1, sample by sample in the order of arrival; `state` moves along."""
    (weight, bias), (views, samples, channels, _) = affine, features.shape
    out = np.empty_like(features)
    for b in range(samples):
        for c in range(channels):
            mean, var = mean_and_variance(features[0, b, c])
            state.mean[c] = (1 - tau) * state.mean[c] + tau * mean
            state.var[c] = (1 - tau) * state.var[c] + tau * var
            local_mean, local_var = mean_and_variance(features[:, b, c].reshape(-1))
            mixed_mean = (1 - m) * state.mean[c] + m * local_mean
            mixed_var = (1 - m) * state.var[c] + m * local_var
            for v in range(views):
                out[v, b, c] = normalised(features[v, b, c], mixed_mean, mixed_var, weight[c], bias[c], eps)
    return out


def mixnormbn(
    features: Array, state: Global, m: float, tau_max: float, affine: tuple[Array, Array], eps: float
) -> Array:
    """Algorithm 2 on one batch; `state` moves along."""
    (weight, bias), (views, samples, channels, _) = affine, features.shape
    tau = min(1.0, tau_max * 10 ** (-3 / samples))
    out = np.empty_like(features)
    for c in range(channels):
        mean, var = mean_and_variance(features[0, :, c].reshape(-1))
        state.mean[c] = (1 - tau) * state.mean[c] + tau * mean
        state.var[c] = (1 - tau) * state.var[c] + tau * var
        local_mean, local_var = mean_and_variance(features[:, :, c].reshape(-1))
        mixed_mean = (1 - m) * state.mean[c] + m * local_mean
        mixed_var = (1 - m) * state.var[c] + m * local_var
        for v in range(views):
            for b in range(samples):
                out[v, b, c] = normalised(features[v, b, c], mixed_mean, mixed_var, weight[c], bias[c], eps)
    return out
