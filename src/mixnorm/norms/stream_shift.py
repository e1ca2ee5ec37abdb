"""What the samples of a stream have in common, as moving averages over them tell: the shift that all of them show.

The averages start at nothing. For each channel they are of the offsets of means and of the logarithms of variances, and
of what the statistics of all samples together take: the squares of the first, and the ratios of variances themselves.
For each layer they are of the mean squares of the offsets, of 1, which says how much of an average is there yet, and of
the number of positions of its maps.

Averages over recent samples alone are known beside them, and are taken off: neighbours often show the same class, and
what a sample has in common with these would be taken off it as well.

Shapes: 2 for mean and variance, S streams, L layers, C channels. Several layers stand side by side with as many
channels as the widest has, the rest being zero: their small operations are then done once for all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt
from typing import NamedTuple

import torch
from torch import Tensor

from mixnorm.norms.lagged import Speeds

PER_CHANNEL = 2
"""What the state of a layer has of each channel: the offsets of all channels, then what takes all samples together."""
EXTRA = 2
"""What the state of a layer has beside its channels: the mean squares of the offsets, and last the weight of all
samples and the positions of their maps, times that weight."""
SMALLEST = 1e-12
MOST_SCATTER = 2.5
"""The most scatter that one layer tells of: one that scatters wildly must not silence all others."""
MEANS_SCATTER = 0.5
"""How much the scatter of means says of several shifts beside that of variances: colours differ under one shift too."""
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
    alike: float = 12
    """How many samples of a stream say as much as one of what they share: neighbours often show the same class."""
    lag: float = 30
    """Of how many samples ago what a sample tells of its stream begins to count: a share of `1 - (1 - 1/lag)^age` of it
    does. 0 lets all count at once."""
    stream_reach: float = 256
    """How many times fewer positions than the first a layer has in which its stream is trusted half as far."""
    tau: float = 1e-3
    """How fast what is known of a stream follows its samples; 0 looks at each sample alone."""

    @property
    def speeds(self) -> Speeds:
        """How fast what is known of a stream follows it: the last sample, as a recent one, counts for nothing."""
        recent = min(1.0, self.tau + 1 / self.lag) if self.lag > 0 else 1.0
        return Speeds(self.tau, recent, self.tau / recent if self.lag > 0 else 0.0)

    @property
    def least_weight(self) -> float:
        """Half of the weight of a sample that another has come after: what is less is a rounding error."""
        return max(SMALLEST, self.tau / max(self.lag, 1) / 2)


class Known(NamedTuple):
    """What is known of streams: sums over their samples less the recent ones, (2, S, N), and over all of them.

    Of the second no more than the last column of each layer is looked at, the weight of all samples.
    """

    sums_2SN: Tensor
    every_2SN: Tensor


class Shift(NamedTuple):
    """What the samples of each stream have in common."""

    end_2SC: Tensor
    """What all of them together show, as offsets of means and ratios of variances, less what of it may be chance: a
    James-Stein estimate."""
    along_2SC: Tensor
    """Its offsets from the source over the sum of their squares: times an offset they say how far that goes along."""
    apart_1SC: Tensor
    """The squares of its offsets of means."""
    trust_2S3: Tensor
    """How far it is trusted to be in every sample, as the layer alone tells: by how far they are of one shift (up to
    the cap, less than nothing where they are of several), by its size beside their scatter, and beyond the cap."""

    def of_rows(self, stream_R: Tensor) -> "Shift":
        """Give each row the shift of its stream; one that is everyone's, or of a stream for each row, is so already."""
        if self.end_2SC.shape[1] in (1, stream_R.shape[0]):
            return self
        return Shift(*(each[:, stream_R] for each in self))

    def repeated(self, groups: int) -> "Shift":
        """Give the views of each sample, group after group, what the sample has; what all share stays as it is."""
        if groups == 1 or self.end_2SC.shape[1] == 1:
            return self
        return Shift(*(torch.cat([each] * groups, dim=1) for each in self))

    def way(self, offset_2RC: Tensor, trust_2S1: Tensor) -> Tensor:
        """Say how far rows go along it, (2, R, 1): as far as they have gone themselves, no further than is trusted."""
        # One matrix product takes less time than a product and a sum, but needs rows of their own where streams differ.
        along_2SC = self.along_2SC
        if along_2SC.shape[1] == 1:
            along_2R1 = torch.bmm(offset_2RC, along_2SC.mT)
        else:
            along_2R1 = (offset_2RC * along_2SC).sum(2, keepdim=True)
        return torch.minimum(along_2R1.relu_(), trust_2S1)

    def moved(self, start_211: Tensor, way_2R1: Tensor, content: float) -> Tensor:
        """Say what is shown part of the way from there, (2, R, C), where both distributions are mixed.

        The start is what the source itself shows: no offset, and a ratio of 1.
        """
        return mixture(start_211, self.end_2SC, way_2R1, self.apart_1SC, content)


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


def trusted(average_2S3: Tensor, most_3: Tensor, part: float) -> Tensor:
    """Say how far streams are trusted, (2, S, 1), by what the layers tell on average, and by the most for each of it.

    A layer trusts them for its `part` of that.

    >>> told = torch.tensor([[[0.2, 0.1, 0.0]], [[0.8, 0.9, 0.7]], [[-0.4, 0.3, 0.1]]])
    >>> trusted(told, most_3=torch.tensor([0.4, 0.4, torch.inf]), part=0.5).flatten()
    tensor([0.1000, 0.3500, 0.1500])
    """
    return torch.minimum(average_2S3, most_3).amax(2, keepdim=True).relu_().mul_(part)


def positions_seen(sums_21C: Tensor) -> float:
    """Say how many positions the maps of a layer had, on average over the samples of one stream.

    >>> positions_seen(torch.tensor([[[9.0, 9.0, 0.5]], [[9.0, 9.0, 32.0]]]))
    64.0
    """
    weight, positions = sums_21C[:, 0, -1].tolist()
    # A stream that has seen nothing yet trusts nothing, whatever its layers count for.
    return float(positions / weight) if weight > 0 else 1.0


@dataclass(frozen=True)
class Units:
    """What content alone usually shows, in one layer, or in several side by side, and how many channels these have.

    All are tensors: to work with a number takes torch twice as long.
    """

    one: Tensor
    content: Tensor
    root_spread: Tensor
    per_root: Tensor
    """One over it, and 0 beyond a layer's last channel."""
    per_channel: Tensor
    """One over the number of channels."""
    share_2C1: Tensor | None = None
    """The same for each channel of a single layer: a product with it is a mean, in a fraction of the time."""

    @classmethod
    def of(cls, content: float, spread: float, like_C: Tensor) -> "Units":
        """Take what a single layer shows."""
        root, share = sqrt(spread), 1 / len(like_C)
        one, content_, root_, per_root, share_ = (
            like_C.new_full((), each) for each in (1, content, root, 1 / root, share)
        )
        return cls(one, content_, root_, per_root, share_, share_2C1=like_C.new_full((2, len(like_C), 1), share))

    def mean(self, values: Tensor) -> Tensor:
        """Take the mean over the channels."""
        if self.share_2C1 is None:
            return values.sum(-1, keepdim=True) * self.per_channel
        return torch.bmm(values, self.share_2C1)


def of_one(known: Known, units: Units, rule: StreamRule) -> Shift:
    """Say what the samples of some streams have in common in one layer."""
    sums_2SC = known.sums_2SN
    channels = (sums_2SC.shape[2] - EXTRA) // PER_CHANNEL
    offsets, together, extra = sums_2SC.split_with_sizes([channels, channels, EXTRA], dim=2)
    return Shift(*_common(offsets, together, (extra, known.every_2SN[0, :, -1:]), units, rule))


Facts = tuple[int, float, float]
"""The channels of a layer, and the content and the spread of its clean samples."""


def of_all(known: Known, layers: Sequence[Facts], rule: StreamRule) -> list[Shift]:
    """Say what the samples of some streams have in common in each layer of a model, given side by side."""
    sums_2SN = known.sums_2SN
    side = _side_by_side(tuple(layers), sums_2SN.device)
    offsets, together = (sums_2SN[:, :, each_LC] * side.there_LC for each_LC in (side.offsets_LC, side.together_LC))
    extra, weight = sums_2SN[:, :, side.extra_LE], known.every_2SN[0][:, side.extra_LE[:, -1:]]
    parts = [each.unbind(2) for each in _common(offsets, together, (extra, weight), side.units, rule)]
    return [
        Shift(end[:, :, :channels], along[:, :, :channels], apart[:, :, :channels], trust)
        for (channels, _, _), end, along, apart, trust in zip(layers, *parts, strict=True)
    ]


@dataclass(frozen=True)
class _SideBySide:
    offsets_LC: Tensor
    """Where the channels of each layer stand."""
    together_LC: Tensor
    """Where what takes all samples together stands."""
    extra_LE: Tensor
    there_LC: Tensor
    """Which channels there are: 1, or 0 beyond a layer's last one."""
    units: Units


@lru_cache(maxsize=8)
@torch.inference_mode(False)
def _side_by_side(layers: tuple[Facts, ...], device: torch.device) -> _SideBySide:
    channels_L, content_L, spread_L = (torch.tensor(facts, device=device) for facts in zip(*layers, strict=True))
    content_L1, root_L1 = content_L[:, None], spread_L[:, None].sqrt()
    size_L = PER_CHANNEL * channels_L + EXTRA
    end_L = size_L.cumsum(0)
    # Numbers of Python, not of the device, which would have to be waited for.
    place_C = torch.arange(max(channels for channels, _, _ in layers), device=device)
    there_LC = (place_C < channels_L[:, None]).float()
    offsets_LC = torch.where(there_LC > 0, (end_L - size_L)[:, None] + place_C, 0)
    return _SideBySide(
        offsets_LC,
        torch.where(there_LC > 0, offsets_LC + channels_L[:, None], 0),
        end_L[:, None] + torch.arange(-EXTRA, 0, device=device),
        there_LC,
        Units(torch.ones((), device=device), content_L1, root_L1, there_LC / root_L1, 1 / channels_L[:, None]),
    )


def _common(
    sums: Tensor, together: Tensor, extra: tuple[Tensor, Tensor], units: Units, rule: StreamRule
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Say what samples have in common, as `Shift` has it.

    Tensors are (2, S, C) of one layer, or (2, S, L, C) of several. Beside what is extra is the weight of all samples.
    """
    square, weight = extra[0].split_with_sizes([1, 1], dim=-1)
    inverse, one = weight[0].clamp(min=rule.least_weight).reciprocal_(), units.one
    # How far an average of so many samples is off by chance, in parts of what a single one is; a stream that has shown
    # little or nothing yet is off so far that nothing of it is trusted.
    noise = extra[1].clamp(min=SMALLEST).reciprocal_().sub_(one, alpha=0.5).mul_(2 * rule.tau / (2 - rule.tau))
    averages = sums * inverse
    seen = (square * inverse).sub_(units.mean(averages.square())).relu_()
    # What is seen of how far samples are from their average, and for the rest what content shows.
    scatters = seen + noise
    offset = _together(averages[0], together * inverse, units)
    sizes = units.mean(offset.square())
    # Of samples that say as much as one it is `alike` times as large.
    chance = noise * scatters
    real = torch.sub(sizes, chance, alpha=rule.alike).clamp_(min=SMALLEST)
    # The average of few samples is the sample itself in as many parts, and nothing that it has in common with others.
    ready = torch.sub(one, noise).relu_()
    beyond = torch.sub(scatters, one, alpha=rule.usual_scatter).relu_()
    large, far = torch.add(noise, beyond, alpha=rule.stream_doubt), torch.add(noise, scatters, alpha=rule.far_doubt)
    sized = torch.sub(one, torch.cat([large, far], dim=-1).div_(real)).relu_()
    trust = torch.cat([_alike(scatters, rule), sized], dim=-1).mul_(ready)
    # The positive-part James-Stein estimate: what is left of the size when chance is taken off.
    part = chance.div_(sizes.clamp(min=SMALLEST))
    sure = torch.sub(one, part, alpha=rule.stream_doubt * rule.alike).relu_()
    along = offset * (units.per_channel / (sizes * sure).clamp_(min=SMALLEST))
    end_mean, end_log = (offset * sure).unbind()
    end = torch.stack([end_mean, (end_log * units.root_spread).exp_()])
    return end, along, end_mean.square()[None], trust


def _together(mean: Tensor, averages: Tensor, units: Units) -> Tensor:
    """Say which offsets all samples together have, by their mean, and by averages of its squares and of ratios.

    The source's variance is that of all its samples together: within them, and between them.
    """
    square, ratio = averages.unbind()
    between = torch.addcmul(square, mean, mean, value=-1).relu_()
    log = torch.addcmul(ratio, between, units.content).clamp_(min=SMALLEST).log_().mul_(units.per_root)
    return torch.stack([mean, log])


def _alike(scatters: Tensor, rule: StreamRule) -> Tensor:
    """Say how far the samples of a stream are of one shift, for means and variances alike: in parts of the cap.

    It is the cap, and 0 or less where they are of several shifts.
    """
    means, variances = scatters.unbind()
    scatter = torch.maximum(means * MEANS_SCATTER, variances).clamp_(max=MOST_SCATTER)
    cap = rule.stream_cap / (rule.several_shifts - rule.one_shift)
    return torch.rsub(scatter, cap * rule.several_shifts, alpha=cap).expand_as(scatters)
