"""ShrinkNorm as its description says it: slow, in numpy, one sample after the other, with all earlier samples kept.

Features are (V, B, C, positions): view 0 of each sample is the sample itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log

import numpy as np

from mixnorm.adaptation import ShrinkNorm
from tests.reference.algorithms import Array, mean_and_variance, normalised


@dataclass
class Layer:
    """A layer, and the offsets of all samples it has seen, in the order of arrival."""

    mean: Array
    var: Array
    weight: Array
    bias: Array
    eps: float
    content: float
    spread: float
    coarser: float = 1.0
    """How many times fewer positions it has than the first layer."""
    means: list[Array] = field(default_factory=list)
    logs: list[Array] = field(default_factory=list)
    parts: dict[tuple[int, int], float] = field(default_factory=dict)
    """Which part content was of what each row of the last batch showed, by view and sample."""
    trust: Array = field(default_factory=lambda: np.zeros((2, 3)))
    """How far what its stream had in common was trusted in the last batch, in means and variances: by how far it is of
    one shift, by its size, and where more than the cap may go."""
    no_noise: Array = field(default_factory=lambda: np.zeros(2))
    """The last of these, in variances where they have fallen."""


def offsets(values: Array, layer: Layer) -> tuple[Array, Array]:
    """The offsets of a row (C, positions), in units of what content shows."""
    of_mean, of_log = [], []
    for channel, row in enumerate(values):
        mean, var = mean_and_variance(row)
        source = layer.var[channel] + layer.eps
        of_mean.append((mean - layer.mean[channel]) / source**0.5 / layer.content**0.5)
        of_log.append(log((var + layer.eps) / source) / layer.spread**0.5)
    return np.array(of_mean), np.array(of_log)


def common(layer: Layer, method: ShrinkNorm) -> tuple[tuple[Array, Array], Array]:
    """What the samples seen so far have in common, in means and variances, and how far each of them is trusted."""
    if not layer.means or not method.tau:
        return (np.zeros(len(layer.mean)),) * 2, np.zeros((2, 3))
    ages = range(len(layer.means) - 1, -1, -1)
    weights = np.array([(1 - method.tau) ** age for age in ages])
    # The variance of a weighted mean of values in parts of a single one's.
    noise = float(((weights / weights.sum()) ** 2).sum())
    weights /= weights.sum()
    averages = [sum(w * each for w, each in zip(weights, seen, strict=True)) for seen in (layer.means, layer.logs)]
    seen = [
        sum(w * float(np.mean((each - average) ** 2)) for w, each in zip(weights, offsets, strict=True))
        for offsets, average in zip((layer.means, layer.logs), averages, strict=True)
    ]
    scatters = seen[0] + noise, seen[1] + noise
    # The mean of the variances, and how far the means of samples are apart.
    within = sum(w * np.exp(each * layer.spread**0.5) for w, each in zip(weights, layer.logs, strict=True))
    between = sum(w * (each - averages[0]) ** 2 for w, each in zip(weights, layer.means, strict=True))
    ratio = within + layer.content * between
    both = averages[0], np.log(ratio) / layer.spread**0.5
    most, least = method.several_shifts, method.one_shift
    alike = (most - min(2.5, max(scatters[0] / 2, scatters[1]))) / (most - least)
    ready, shifts, trusts = max(0.0, 1 - noise), [], []
    for offset, scatter in zip(both, scatters, strict=True):
        size = float(np.mean(offset**2))
        # Where neighbours are alike, so many stand for one.
        chance = method.alike * noise * scatter
        shifts.append(offset * max(0.0, 1 - method.stream_doubt * chance / size))
        beyond_chance = size - chance
        doubts = method.stream_doubt * max(0.0, scatter - method.usual_scatter), method.far_doubt * scatter
        large, far = (1 - (doubt + noise) / beyond_chance if beyond_chance > 0 else 0.0 for doubt in doubts)
        trusts.append([alike * ready, max(0.0, large) * ready, max(0.0, far) * ready])
    return (shifts[0], shifts[1]), np.array(trusts)


def _part(offset: Array, goal: Array) -> float:
    length = float(goal @ goal)
    return min(1.0, max(0.0, float(offset @ goal) / length)) if length > 0 else 0.0


def _goal(trust: Array, streams: tuple[Array, Array], layer: Layer) -> tuple[Array, Array]:
    """The offsets of means, and ratios of variances, of what is drawn from the source or, so often, from the stream."""
    apart = layer.content * trust[0] * (1 - trust[0]) * streams[0] ** 2
    return trust[0] * streams[0], (1 - trust[1]) + trust[1] * np.exp(streams[1] * layer.spread**0.5) + apart


def _content(beyond: Array) -> float:
    return 1 / max(0.5, float(np.mean(beyond**2)))


def shrinknorm(features: Array, layer: Layer, method: ShrinkNorm, earlier: Sequence[Layer] = ()) -> Array:
    """Normalise a batch that sees what was known before it; the layer remembers it. First is what has none earlier."""
    views, samples, _, _ = features.shape
    out = np.empty_like(features)
    doubt = method.doubt if views == 1 else method.view_doubt
    streams, layer.trust = common(layer, method)
    # Layers count by the squares of their positions.
    counts = [each.coarser**-2 for each in (*earlier, layer)]
    one, large, far = np.average([each.trust for each in (*earlier, layer)], axis=0, weights=counts).T
    layer.no_noise = layer.trust[:, 2] * [1.0, float(np.mean(streams[1]) < 0)]
    no_noise = float(np.average([each.no_noise for each in (*earlier, layer)], axis=0, weights=counts).max())
    usual = np.maximum(one * method.stream_cap, large).clip(0, method.stream_cap)
    first = earlier[0].coarser if earlier else layer.coarser
    trust = np.maximum(usual, far) / (1 + layer.coarser / first / method.stream_reach)
    goal_mean, goal_ratio = _goal(trust, streams, layer)
    goal_log = np.log(goal_ratio) / layer.spread**0.5
    for b in range(samples):
        own = offsets(features[0, b], layer)
        layer.means.append(own[0])
        layer.logs.append(own[1])
        for v in range(views):
            mean, log_ratio = offsets(features[v, b], layer)
            parts = _part(mean, goal_mean), _part(log_ratio, goal_log)
            beyond = mean - parts[0] * goal_mean, log_ratio - parts[1] * goal_log
            content = min(_content(each) for each in beyond)
            if earlier:
                layer.parts[v, b] = content
                content = float(np.mean([each.parts[v, b] for each in (*earlier[1:], layer)]))
            weight = max(0.0, 1 - doubt * content) * method.cap / (1 + layer.coarser / method.reach)
            if trust.max() > 0:
                taken = min(1.0, float(trust.max()) / method.stream_cap if method.stream_cap else 1.0) ** 6
                weight *= 1 - taken * (1 - max(0.0, no_noise))
            base = parts[0] * goal_mean, 1 + parts[1] * (goal_ratio - 1)
            out[v, b] = _mixed(features[v, b], layer, base, weight, colours=bool(earlier))
    return out


def _mixed(features: Array, layer: Layer, base: tuple[Array, Array], weight: float, *, colours: bool) -> Array:
    """Normalise a row with what is drawn from the base or, in `weight` of all cases, from the row itself."""
    out = np.empty_like(features)
    for c, row in enumerate(features):
        mean, var = mean_and_variance(row)
        source = layer.var[c] + layer.eps
        base_mean = layer.mean[c] + base[0][c] * (layer.content * source) ** 0.5
        base_var = source * base[1][c] - layer.eps
        if not colours:
            mean = base_mean
        mixed = (1 - weight) * base_mean + weight * mean
        square = (1 - weight) * (base_var + base_mean**2) + weight * (var + mean**2)
        mean, var = mixed, square - mixed**2
        out[c] = normalised(row, mean, var, layer.weight[c], layer.bias[c], layer.eps)
    return out
