"""Where the samples of a stream are moved to, by what they have in common, as moving averages over them tell.

The averages start at nothing. For each channel they are of the offsets of means and of the logarithms of variances, and
of what the statistics of all samples together take: the squares of the first, and the ratios of variances themselves.
For each layer they are of the mean squares of the offsets, of 1, which says how much of an average is there yet, and of
the number of positions of its maps.

Shapes: 2 for mean and variance, 3 for what trust is told by, R rows, S streams, C channels of a layer, L layers, N
channels of all of them side by side, M columns of what is known of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from mixnorm.norms.side_by_side import SideBySide

PER_CHANNEL = 2
"""What the state of a layer has of each channel: the offsets of all channels, then what takes all samples together."""
EXTRA = 2
"""What the state of a layer has beside its channels: the mean squares of the offsets, and last the weight of all
samples and the positions of their maps, times that weight."""
SMALLEST = 1e-12
"""What is divided by at least, and what logarithms are taken of."""
MOST_SCATTER = 2.5
"""The most scatter that one layer tells of: one that scatters wildly must not silence all others."""
MEANS_SCATTER = 0.5
"""How much the scatter of means says of several shifts beside that of variances: colours differ under one shift too."""
LEAST_CAP = 1e-6
"""What trust is divided by at least, where a stream is hardly trusted, or not at all."""
MOST_ALIKE = 1e6
"""The most samples that may count as one: with a weight of nothing yet, squares of it are to be finite."""


@dataclass(frozen=True, kw_only=True)
class StreamRule:
    """How far what the samples of a stream have in common is trusted."""

    stream_doubt: float = 0.5
    """How many times the scatter of a stream's samples, or the chance in their average, is taken off what is shared."""
    usual_scatter: float = 0.2
    """The scatter that is not taken off, in units of what content alone shows: samples of any stream differ."""
    one_shift: float = 1.1
    """Up to which scatter, on average over the layers, samples are of one shift: it is then trusted up to the cap."""
    several_shifts: float = 1.5
    """From which scatter on they are of several shifts, and trusted by `stream_doubt` alone."""
    stream_cap: float = 0.4
    """The largest part of what they share that is taken off, but for what is far larger than they differ."""
    far_doubt: float = 3.0
    """How many times their scatter is taken off what they share where more than `stream_cap` of it may go."""
    alike: float = 8
    """How many samples of a stream say as much as one of what they share: neighbours often show the same class."""
    often: int = 128
    """How many samples lie between two looks at a stream, at most: fewer at first, while each tells much."""
    stream_reach: float = 256
    """How many times fewer positions than the first a layer has in which its stream is trusted half as far."""
    tau: float = 1e-3
    """How fast what is known of a stream follows its samples; 0 looks at each sample alone."""


class Goal(NamedTuple):
    """Where the samples of some streams are moved to in one layer, as far as they have gone that way themselves."""

    shown_2SC: Tensor
    """What it shows: offsets of means, and ratios of variances."""
    offset_2SC: Tensor
    """Its offsets from the source: of means, and logarithms of ratios."""
    along_2CS: Tensor
    """These over the sum of their squares: times an offset they say which part of the way that has gone."""
    left_1S1: Tensor
    """Which part of the weight of their own samples are left."""

    def of_rows(self, stream_R: Tensor) -> "Goal":
        """Give each row the goal of its stream; one that is everyone's is so already."""
        if self.left_1S1.shape[1] == 1:
            return self
        shown, offset, along, left = self
        return Goal(shown[:, stream_R], offset[:, stream_R], along[:, :, stream_R], left[:, stream_R])

    def part(self, offset_2RC: Tensor) -> Tensor:
        """Say which part of the way rows have gone themselves, (2, R, 1): no less than none, no more than all of it."""
        # One matrix product takes less time than a product and a sum, but needs rows of their own where streams differ.
        if self.along_2CS.shape[2] == 1:
            part_2R1 = torch.bmm(offset_2RC, self.along_2CS)
        else:
            part_2R1 = (offset_2RC * self.along_2CS.mT).sum(2, keepdim=True)
        return part_2R1.clamp_(0, 1)


def mixture(start_2RC: Tensor, end_2RC: Tensor, weight_2R1: Tensor, apart_1RC: Tensor, unit: float) -> Tensor:
    """Mix two distributions, (2, R, C): the variance of the whole has how far their means are apart in it too.

    The weight may be one for means and variances, (1, R, 1). `apart_1RC` is the square of how far the means are apart,
    and `unit` the variance of two means that are apart by 1.

    >>> start, end = torch.tensor([[[0.0]], [[1.0]]]), torch.tensor([[[4.0]], [[1.0]]])
    >>> mixture(start, end, torch.full((1, 1, 1), 0.5), apart_1RC=torch.tensor([[[16.0]]]), unit=1.0)
    tensor([[[2.]],
    <BLANKLINE>
            [[5.]]])
    """
    mixed_2RC = torch.lerp(start_2RC, end_2RC, weight_2R1)
    weight_1R1 = weight_2R1[:1] if len(weight_2R1) > 1 else weight_2R1
    # weight * (1 - weight)
    both_1R1 = torch.addcmul(weight_1R1, weight_1R1, weight_1R1, value=-1)
    mixed_2RC[1:].addcmul_(both_1R1, apart_1RC, value=unit)
    return mixed_2RC


Facts = tuple[int, float, float]
"""The channels of a layer, and the content and the spread of its clean samples."""


def goals(known_2SM: Tensor, layers: Sequence[Facts], first: int | None, rule: StreamRule) -> "Goals":
    """Say where the samples of some streams are moved to in each layer of a model, in their order.

    What is known of the layers is given side by side; `first` is the place of the layer that sees the images.
    """
    units = _units(tuple(layers), known_2SM.device)
    shared = _shared(known_2SM, units, rule)
    trust_2SL = _trusted(_averaged(shared.trust_32SL, shared.positions_SL), shared.positions_SL, first, rule)
    shown_2SN = _moved(shared, units.side.spread(trust_2SL), units)
    offset_2SN = torch.stack([shown_2SN[0], shown_2SN[1].log()])
    along_2SN = offset_2SN / units.side.spread(units.sum(offset_2SN.square()).clamp_(min=SMALLEST))
    left_1SL = _left(trust_2SL, _averaged(_no_noise(shared, units), shared.positions_SL), rule.stream_cap)
    return Goals(Goal(shown_2SN, offset_2SN, along_2SN.mT, left_1SL), units.side.channels)


@dataclass
class Goals:
    """The goals in all layers of a model: side by side, as a compiler takes them in, and taken apart."""

    together: Goal
    """Tensors of the channels of all layers, and of all layers."""
    channels: tuple[int, ...]
    """How many channels each layer has."""
    apart: list[Goal] | None = None

    def at(self, layer: int) -> Goal:
        """Give that of one layer."""
        shown, offset, along, left = self.together
        if torch.compiler.is_compiling():
            start = sum(self.channels[:layer])
            own = slice(start, start + self.channels[layer])
            return Goal(shown[:, :, own], offset[:, :, own], along[:, own], left[:, :, layer : layer + 1])
        if self.apart is None:
            shown_L, offset_L = (each.split_with_sizes(self.channels, dim=2) for each in (shown, offset))
            along_L, left_L = along.split_with_sizes(self.channels, dim=1), left.tensor_split(left.shape[2], dim=2)
            self.apart = [Goal(*each) for each in zip(shown_L, offset_L, along_L, left_L, strict=True)]
        return self.apart[layer]


@dataclass(frozen=True)
class _Units:
    """What content alone shows, for all layers side by side."""

    side: SideBySide
    channels_L: Tensor
    content_N: Tensor
    root_spread_N: Tensor

    def sum(self, values: Tensor) -> Tensor:
        """Take the sum over the channels of each layer."""
        return self.side.mean(values) * self.channels_L


@lru_cache(maxsize=8)
@torch.inference_mode(False)
def _units(layers: tuple[Facts, ...], device: torch.device) -> _Units:
    channels, content, spread = zip(*layers, strict=True)
    side = SideBySide.of(channels, device)
    channels_L, content_L, spread_L = (torch.tensor(each, device=device) for each in (channels, content, spread))
    return _Units(side, channels_L, side.spread(content_L), side.spread(spread_L.sqrt()))


class _Shared(NamedTuple):
    """What the samples of each stream have in common, in each layer: a James-Stein estimate."""

    mean_SN: Tensor
    """Offsets of means, less what of them may be chance."""
    ratio_SN: Tensor
    """Ratios of variances, less what of them may be chance."""
    trust_32SL: Tensor
    """How far it is trusted to be in every sample, as the layer alone tells: by how far they are of one shift (up to
    the cap, less than nothing where they are of several), by its size beside their scatter, and beyond the cap."""
    positions_SL: Tensor
    """How many positions the maps of each layer had on average: none where a stream never reached it."""


def _shared(known_2SM: Tensor, units: _Units, rule: StreamRule) -> _Shared:
    side = units.side
    sums, together, squares, counts = known_2SM[:, :, side.by_kind_M].split_with_sizes(side.sizes, dim=2)
    weight = counts[0].clamp(min=max(SMALLEST, rule.tau / 2))
    # How far an average of so many samples is off by chance, in parts of what a single one is; a stream that has shown
    # little or nothing yet is off so far that nothing of it is trusted.
    noise = (1 / weight - 0.5) * (2 * rule.tau / (2 - rule.tau))
    weights = side.spread(weight)
    averages = sums / weights
    # What is seen of how far samples are from their average, and for the rest what content shows.
    scatters = (squares / weight - side.mean(averages.square())).relu_() + noise
    offset = _together(averages[0], together / weights, units)
    sizes = side.mean(offset.square())
    # Of samples that say as much as one it is `alike` times as large.
    chance = rule.alike * noise * scatters
    real = (sizes - chance).clamp_(min=SMALLEST)
    beyond = (scatters - rule.usual_scatter).relu_()
    large, far = noise + rule.stream_doubt * beyond, noise + rule.far_doubt * scatters
    # The average of few samples is the sample itself in as many parts, and nothing that it has in common with others.
    ready = (1 - noise).relu_()
    trust = torch.stack([_alike(scatters, rule), (1 - large / real).relu_(), (1 - far / real).relu_()]) * ready
    # The positive-part James-Stein estimate: what is left of the size when chance is taken off.
    sure = (1 - rule.stream_doubt * chance / sizes.clamp(min=SMALLEST)).relu_()
    end = offset * side.spread(sure)
    return _Shared(end[0], (end[1] * units.root_spread_N).exp_(), trust, counts[1] / weight)


def _together(mean: Tensor, averages: Tensor, units: _Units) -> Tensor:
    """Say which offsets all samples together have, by their mean, and by averages of its squares and of ratios.

    The source's variance is that of all its samples together: within them, and between them.
    """
    square, ratio = averages.unbind()
    between = (square - mean.square()).relu_() * units.content_N
    return torch.stack([mean, (ratio + between).clamp_(min=SMALLEST).log_() / units.root_spread_N])


def _alike(scatters: Tensor, rule: StreamRule) -> Tensor:
    """Say how far the samples of a stream are of one shift, for means and variances alike: in parts of the cap.

    It is the cap, and 0 or less where they are of several shifts.
    """
    means, variances = scatters.unbind()
    scatter = torch.maximum(means * MEANS_SCATTER, variances).clamp_(max=MOST_SCATTER)
    cap = rule.stream_cap / (rule.several_shifts - rule.one_shift)
    return (cap * (rule.several_shifts - scatter)).expand_as(scatters)


def _averaged(told_SL: Tensor, positions_SL: Tensor) -> Tensor:
    """Average what all layers up to each one tell, (..., S, L).

    Layers count by the squares of their positions: fine maps tell of the style of images, coarse ones of what is in
    them, and an average of more positions is surer.
    """
    count_SL = positions_SL.square()
    return (told_SL * count_SL).cumsum(-1) / count_SL.cumsum(-1).clamp_(min=SMALLEST)


def _no_noise(shared: _Shared, units: _Units) -> Tensor:
    """Say how far streams are trusted beyond the cap, (2, S, L), in variances where these have fallen: not by noise."""
    means, variances = shared.trust_32SL[2]
    return torch.stack([means, variances * (units.side.mean(shared.ratio_SN.log()) < 0)])


def _trusted(average_32SL: Tensor, positions_SL: Tensor, first: int | None, rule: StreamRule) -> Tensor:
    """Say how far streams are trusted in each layer, (2, S, L), by what the layers up to it tell on average."""
    usual = average_32SL[:2].clamp(max=rule.stream_cap).amax(0)
    begin = positions_SL if first is None else positions_SL[:, first, None]
    fine = positions_SL / (positions_SL + begin / rule.stream_reach).clamp_(min=SMALLEST)
    return torch.maximum(usual, average_32SL[2]).relu_() * fine


def _moved(shared: _Shared, trust_2SN: Tensor, units: _Units) -> Tensor:
    """Say what is shown where the source is mixed with what a stream shares, as far as that is trusted."""
    means, ratios = trust_2SN
    apart = shared.mean_SN.square() * units.content_N
    ratio = torch.addcmul(1 + ratios * (shared.ratio_SN - 1), means * (1 - means), apart)
    return torch.stack([means * shared.mean_SN, ratio.clamp_(min=SMALLEST)])


def _left(trust_2SL: Tensor, far_2SL: Tensor, cap: float) -> Tensor:
    """Say which part of their own weight samples are left, (1, S, L): what they show beyond the stream is content.

    Nothing is left where it is trusted up to the `cap`, or further, in means or variances. The sixth power keeps trust
    that falls short of it, as in a mixture of shifts, from taking much. But where a stream has gone far, and not by
    noise, as where it is dark, its samples differ in how far they have gone, and are left as much.
    """
    trust, far = (each.amax(0, keepdim=True) for each in (trust_2SL / max(cap, LEAST_CAP), far_2SL))
    return 1 - trust.clamp_(max=1).pow_(6) * (1 - far).clamp_(max=1)
