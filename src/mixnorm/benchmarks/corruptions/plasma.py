"""Plasma: clouds by the diamond-square algorithm."""

import numpy as np

from mixnorm.benchmarks.corruptions.pixels import Floats


def plasma(noise: Floats, decay: float) -> Floats:
    """Turn noise (N, S, S) of a side that is a power of two into clouds in [0, 1] that repeat seamlessly.

    Points are filled from coarse to fine, each with the mean of its four neighbours plus its own noise, whose strength
    falls by the square of `decay` from level to level.
    """
    cloud = np.zeros_like(noise)
    step, strength = noise.shape[-1], np.float32(1)
    while step >= 2:
        _fill_level(cloud, strength * noise, step)
        step, strength = step // 2, strength / np.float32(decay**2)
    cloud -= cloud.min(axis=(1, 2), keepdims=True)
    cloud /= np.maximum(cloud.max(axis=(1, 2), keepdims=True), np.float32(1e-12))
    return cloud


def _fill_level(cloud: Floats, noise: Floats, step: int) -> None:
    """Fill the points midway between those `step` apart: the middles of squares, then the middles of their sides."""
    half = step // 2
    middle = np.s_[:, half::step, half::step]
    corners = cloud[:, ::step, ::step]
    pairs = corners + np.roll(corners, -1, axis=1)
    cloud[middle] = (pairs + np.roll(pairs, -1, axis=2)) / 4 + noise[middle]
    for across, along, side in ((1, 2, np.s_[:, ::step, half::step]), (2, 1, np.s_[:, half::step, ::step])):
        middles = cloud[middle] + np.roll(cloud[middle], 1, axis=across)
        cloud[side] = (middles + corners + np.roll(corners, -1, axis=along)) / 4 + noise[side]
