"""ShrinkNorm as its description says it: slow, in numpy, one sample after the other, with all earlier samples kept.

Features are (V, B, C, positions): view 0 of each sample is the sample itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp, log

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
    trusts: list[Array] = field(default_factory=list)
    """How far what its stream had in common was trusted for each sample of the last batch, in means and variances:
    by how far it is of one shift, by its size, and where more than the cap may go."""


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
    ages = range(len(layer.means) - 1, -1, -1)
    weights = np.array([(1 - method.tau) ** age for age in ages])
    # The variance of a weighted mean of values in parts of a single one's.
    noise = float(((weights / weights.sum()) ** 2).sum())
    if method.lag:
        # The most recent samples have shown little of their stream yet, the last one nothing.
        forgotten = max(0.0, 1 - 1 / method.lag - method.tau)
        weights -= np.array([forgotten**age for age in ages])
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


def _way(offset: Array, stream: Array, trust: float) -> float:
    length = float(stream @ stream)
    return min(trust, max(0.0, float(offset @ stream) / length)) if length > 0 else 0.0


def _moved(ways: Sequence[float], streams: tuple[Array, Array], layer: Layer) -> tuple[Array, Array]:
    """The offsets of what is drawn from the source in some cases, and from what the stream shares in the others."""
    mean, ratio = ways[0] * streams[0], np.exp(streams[1] * layer.spread**0.5)
    apart = layer.content * (ways[0] * streams[0] ** 2 - mean**2)
    return mean, np.log((1 - ways[1]) + ways[1] * ratio + apart) / layer.spread**0.5


def _content(beyond: Array) -> float:
    return 1 / max(0.5, float(np.mean(beyond**2)))


def shrinknorm(features: Array, layer: Layer, method: ShrinkNorm, earlier: Sequence[Layer] = ()) -> Array:
    """Normalise samples one after the other; the layer remembers them. It is the first where there are none earlier."""
    views, samples, channels, _ = features.shape
    out = np.empty_like(features)
    layer.trusts = []
    doubt = method.doubt if views == 1 else method.view_doubt
    for b in range(samples):
        # The last sample has shown nothing of its stream yet, where there is a lag.
        known = method.tau and len(layer.means) > (method.lag > 0)
        streams, trust = common(layer, method) if known else ((np.zeros(channels),) * 2, np.zeros((2, 3)))
        layer.trusts.append(trust)
        # Layers count by the squares of their positions.
        counts = [each.coarser**-2 for each in (*earlier, layer)]
        one, large, far = np.average([each.trusts[b] for each in (*earlier, layer)], axis=0, weights=counts).T
        usual = np.maximum(one * method.stream_cap, large).clip(0, method.stream_cap)
        first = earlier[0].coarser if earlier else layer.coarser
        trust = np.maximum(usual, far) / (1 + layer.coarser / first / method.stream_reach)
        own = offsets(features[0, b], layer)
        layer.means.append(own[0])
        layer.logs.append(own[1])
        for v in range(views):
            shown = offsets(features[v, b], layer)
            ways = [_way(*each) for each in zip(shown, streams, trust, strict=True)]
            bases = _moved(ways, streams, layer)
            content = min(_content(offset - base) for offset, base in zip(shown, bases, strict=True))
            if earlier:
                layer.parts[v, b] = content
                content = float(np.mean([each.parts[v, b] for each in (*earlier[1:], layer)]))
            weight = max(0.0, 1 - doubt * content) * method.cap / (1 + layer.coarser / method.reach)
            if trust.max() > 0:
                weight *= 1 - min(1.0, float(trust.max()) / method.stream_cap if method.stream_cap else 1.0) ** 6
            for c in range(channels):
                mean, var = mean_and_variance(features[v, b, c])
                source = layer.var[c] + layer.eps
                base_mean = layer.mean[c] + bases[0][c] * (layer.content * source) ** 0.5
                base_var = source * exp(bases[1][c] * layer.spread**0.5) - layer.eps
                if not earlier:
                    mean = base_mean
                # The mean and the variance of what is drawn from the one or, in `weight` of all cases, from the other.
                mixed = (1 - weight) * base_mean + weight * mean
                square = (1 - weight) * (base_var + base_mean**2) + weight * (var + mean**2)
                mean, var = mixed, square - mixed**2
                out[v, b, c] = normalised(features[v, b, c], mean, var, layer.weight[c], layer.bias[c], layer.eps)
    return out
