"""What the samples of a stream have in common, as moving averages over them tell: the shift that all of them show.

The averages start at nothing. For each channel they are of the offsets of means and of the logarithms of variances; for
each layer, of the mean squares of the offsets, of 1, which says how much of an average is there yet, and of the number
of positions of its maps.

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
    alike: float = 4
    """How many samples of a stream say as much as one: neighbours often show the same scene, or the same class."""
    tau: float = 1e-3
    """How fast what is known of a stream follows its samples; 0 looks at each sample alone."""


class Shift(NamedTuple):
    """What the samples of each stream have in common."""

    offset_2SC: Tensor
    """Their average offset from the source, less what of it may be chance: a James-Stein estimate."""
    along_2SC: Tensor
    """The same over the sum of its squares over the channels: times an offset it says how far that goes along."""
    trust_2S3: Tensor
    """How far it is trusted to be in every sample, as the layer alone tells: by how far they are of one shift (a part
    of the cap, less than nothing where they are of several), by its size beside their scatter, and beyond the cap."""

    def of_rows(self, stream_R: Tensor) -> "Shift":
        """Give each row the shift of its stream; one that is everyone's, or of a stream for each row, is so already."""
        if self.offset_2SC.shape[1] in (1, stream_R.shape[0]):
            return self
        return Shift(*(each[:, stream_R] for each in self))

    def repeated(self, groups: int) -> "Shift":
        """Give the views of each sample, group after group, what the sample has; what all share stays as it is."""
        if groups == 1 or self.offset_2SC.shape[1] == 1:
            return self
        return Shift(*(torch.cat([each] * groups, dim=1) for each in self))

    def part(self, offset_2RC: Tensor, trust_2S1: Tensor) -> Tensor:
        """Go along the shift as far as each row itself has gone, and no further than it is trusted, (2, R, C)."""
        along_2R1 = (offset_2RC * self.along_2SC).sum(2, keepdim=True)
        return self.offset_2SC * torch.minimum(along_2R1.relu_(), trust_2S1)


def trusted(average_2S3: Tensor, rule: StreamRule) -> Tensor:
    """Say how far streams are trusted, (2, S, 1), by what the layers tell on average.

    >>> told = torch.tensor([[[0.5, 0.1, 0.0]], [[2.0, 0.9, 0.7]], [[-1.0, 0.3, 0.1]]])
    >>> trusted(told, StreamRule(stream_cap=0.4)).flatten()
    tensor([0.2000, 0.7000, 0.3000])
    """
    one_2S, large_2S, far_2S = average_2S3.unbind(-1)
    usual_2S = torch.maximum(one_2S * rule.stream_cap, large_2S).clamp_(0, rule.stream_cap)
    return torch.maximum(usual_2S, far_2S)[..., None]


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
    """What content alone usually shows, in one layer, or in several side by side, and how many channels these have."""

    content: float | Tensor
    root_spread: float | Tensor
    there: float | Tensor
    """Which channels there are: 1, or 0 beyond a layer's last one."""
    per_channel: float | Tensor
    """One over the number of channels."""

    def mean_square(self, offset: Tensor) -> Tensor:
        """Take the mean of squares over the channels."""
        return offset.square().sum(-1, keepdim=True) * self.per_channel


def of_one(sums_2SC: Tensor, content: float, spread: float, rule: StreamRule) -> Shift:
    """Say what the samples of some streams have in common in one layer."""
    units = Units(content, sqrt(spread), 1.0, 1 / (sums_2SC.shape[2] - EXTRA))
    return Shift(*_common(sums_2SC[:, :, :-EXTRA], sums_2SC[:, :, -EXTRA:], units, rule))


Facts = tuple[int, float, float]
"""The channels of a layer, and the content and the spread of its clean samples."""


def of_all(sums_2SN: Tensor, layers: Sequence[Facts], rule: StreamRule) -> list[Shift]:
    """Say what the samples of some streams have in common in each layer of a model, given side by side."""
    side = _side_by_side(tuple(layers), sums_2SN.device)
    offsets, extra = sums_2SN[:, :, side.channels_LC] * side.units.there, sums_2SN[:, :, side.extra_LE]
    parts = [each.unbind(2) for each in _common(offsets, extra, side.units, rule)]
    return [
        Shift(offset[:, :, :channels], along[:, :, :channels], trust)
        for (channels, _, _), offset, along, trust in zip(layers, *parts, strict=True)
    ]


@dataclass(frozen=True)
class _SideBySide:
    channels_LC: Tensor
    """Where the channels of each layer stand."""
    extra_LE: Tensor
    units: Units


@lru_cache(maxsize=8)
@torch.inference_mode(False)
def _side_by_side(layers: tuple[Facts, ...], device: torch.device) -> _SideBySide:
    channels_L, content_L, spread_L = (torch.tensor(facts, device=device) for facts in zip(*layers, strict=True))
    end_L = (channels_L + EXTRA).cumsum(0)
    # Numbers of Python, not of the device, which would have to be waited for.
    place_C = torch.arange(max(channels for channels, _, _ in layers), device=device)
    there_LC = (place_C < channels_L[:, None]).float()
    return _SideBySide(
        torch.where(there_LC > 0, (end_L - channels_L - EXTRA)[:, None] + place_C, 0),
        end_L[:, None] + torch.arange(-EXTRA, 0, device=device),
        Units(content_L[:, None], spread_L[:, None].sqrt(), there_LC, 1 / channels_L[:, None]),
    )


def _common(sums: Tensor, extra: Tensor, units: Units, rule: StreamRule) -> tuple[Tensor, Tensor, Tensor]:
    """Say what samples have in common, the same over its sum of squares, and how far it is trusted.

    Tensors are (2, S, C) of one layer, or (2, S, L, C) of several.
    """
    inverse = extra[0, ..., 1:].clamp(min=SMALLEST).reciprocal()
    # How far an average of so many samples is off by chance, in parts of what a single one is; a stream that has shown
    # little or nothing yet is off so far that nothing of it is trusted.
    noise = (2 * inverse - 1) * (rule.alike * rule.tau / (2 - rule.tau))
    averages = sums * inverse
    seen = torch.addcmul(-units.mean_square(averages), extra[..., :1], inverse).relu_()
    # What is seen of how far samples are from their average, and for the rest what content shows.
    scatters = seen + noise
    offset = _together(averages, seen[1], scatters[0], units)
    sizes = units.mean_square(offset)
    real = torch.addcmul(sizes, noise, scatters, value=-1).clamp_(min=SMALLEST)
    # The average of few samples is the sample itself in as many parts, and nothing that it has in common with others.
    ready = (1 - noise).relu_()
    beyond = (scatters - rule.usual_scatter).relu_()
    doubts = torch.cat([rule.stream_doubt * beyond, rule.far_doubt * scatters], dim=-1) + noise
    trust = torch.cat([_alike(scatters, rule), (1 - doubts / real).relu_()], dim=-1) * ready
    # The positive-part James-Stein estimate: what is left of the size when chance is taken off.
    sure = (1 - rule.stream_doubt * noise * scatters / sizes.clamp(min=SMALLEST)).relu_()
    along = offset * (units.per_channel / (sizes * sure).clamp_(min=SMALLEST))
    return offset * sure, along, trust


def _together(averages: Tensor, seen: Tensor, scatter: Tensor, units: Units) -> Tensor:
    """Say which offsets all samples together have, by the averages of their own.

    The source's variance is that of all its samples together: within them, of which that is the average (of logarithms
    that scatter so far, as if these were normal), and between them.
    """
    mean, log = averages.unbind()
    ratio = (log * units.root_spread + 0.5 * units.root_spread**2 * seen).exp_()
    log = (ratio + units.content * scatter).clamp_(min=SMALLEST).log_() * (units.there / units.root_spread)
    return torch.stack([mean, log])


def _alike(scatters: Tensor, rule: StreamRule) -> Tensor:
    """Say how far the samples of a stream are of one shift, for means and variances alike: 1, and 0 or less if not."""
    means, variances = scatters.unbind()
    scatter = torch.maximum(means * MEANS_SCATTER, variances).clamp_(max=MOST_SCATTER)
    return ((rule.several_shifts - scatter) / (rule.several_shifts - rule.one_shift)).expand_as(scatters)
