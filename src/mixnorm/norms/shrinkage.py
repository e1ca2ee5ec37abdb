"""The layer of ShrinkNorm: each sample finds out by itself how much of what it shows is shift, and how much is content.

A sample's statistics differ from the source's for two reasons: shift, which is to be removed, and content, which the
model is there to see. What all samples of a stream have in common is shift. What is left is shift as far as it is
larger than content usually is, which is the positive-part James-Stein estimate: of all layers so far together, since
content shows in some layers, and shift in all of them.

Statistics are told by their offsets from the source: means in source deviations, variances by the logarithm of their
ratio, both in units of what content alone usually shows.

Shapes: 2 for mean and variance, R rows, B samples, S streams, C channels.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Any

import torch
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm

from mixnorm.norms.layer import AdaptiveNorm, Context
from mixnorm.norms.memory import Call
from mixnorm.norms.plan import MovingPlan
from mixnorm.norms.statistics import of_samples, row_statistics

EXTRA = 2
"""What the state of a layer has beside its channels: the mean square of the offsets, and the weight of all samples."""
SMALLEST = 1e-12
LEAST_CONTENT = 1e-6
"""The least that content may show: offsets are in units of it."""
LEAST_REACH = 1e-6
"""The least that the reach may be: positions are divided by it."""
MOST_CONTENT = 2.0
"""The most that one layer says for content: a layer that shows nothing, as a dead one, must not silence all others."""


@dataclass(frozen=True, kw_only=True)
class Shrinkage:
    """How far the statistics of a sample, and what its stream has in common, are trusted."""

    content: float = 0.1
    """How far the means of clean samples are from the source's: mean square, in source variances."""
    spread: float = 0.2
    """How far the logarithms of the variances of clean samples are from the source's: mean square."""
    first_content: float = 0.25
    """The content of the first layer, which sees the images themselves: they differ more than their features do."""
    first_spread: float = 1.0
    """The spread of the first layer."""
    doubt: float = 0.75
    """How many times what content shows is taken off what a sample shows, in all layers so far."""
    stream_doubt: float = 0.3
    """How many times the scatter of a stream's samples, up to what content shows, is taken off what they share."""
    mixture_doubt: float = 3.0
    """The same for scatter beyond that, which tells of several shifts: what these share is none of them."""
    cap: float = 0.5
    """The largest weight of a sample's own statistics."""
    reach: float = 32
    """How many times fewer positions than the first a layer has whose weight is half: each sees most of the image."""
    tau: float = 1e-3
    """How fast what is known of a stream follows its samples; 0 looks at each sample alone."""


@dataclass(frozen=True)
class Source:
    """The source statistics of a layer, and offsets from them in units of what content alone usually shows."""

    mean_C: Tensor
    var_C: Tensor
    """With what keeps it from zero."""
    content_C: Tensor
    """How far content alone usually moves the means."""
    eps: float
    content: float
    spread: float

    @classmethod
    def of(cls, mean_C: Tensor, var_C: Tensor, eps: float, content: float, spread: float) -> "Source":
        """Look at statistics in float32, whatever the model's dtype is."""
        var_C = var_C.float() + eps
        return cls(mean_C.float(), var_C, (content * var_C).sqrt(), eps, content, spread)

    def offsets(self, rows_2RC: Tensor) -> Tensor:
        """Say how far statistics are from the source's, (2, R, C)."""
        mean_RC, var_RC = rows_2RC
        of_mean_RC = (mean_RC - self.mean_C) / self.content_C
        return torch.stack([of_mean_RC, ((var_RC + self.eps) / self.var_C).log() / sqrt(self.spread)])

    def ratios(self, offset_RC: Tensor) -> Tensor:
        """Say which ratios of variances lie at some offsets."""
        return (offset_RC * sqrt(self.spread)).exp()

    def statistics(self, offset_2RC: Tensor) -> Tensor:
        """Say which statistics lie at some offsets, (2, R, C): the inverse of `offsets`."""
        mean_RC = torch.addcmul(self.mean_C, offset_2RC[0], self.content_C)
        return torch.stack([mean_RC, (self.var_C * self.ratios(offset_2RC[1]) - self.eps).clamp(min=0)])


def content_part(beyond_2RC: Tensor) -> Tensor:
    """Say which part content usually is of what each row shows beyond its stream, (R, 1).

    It is more than 1 where a row shows less than content usually does, and the smaller one of the two for mean and
    variance: where one of them tells of a shift, both have moved.

    >>> content_part(torch.full((2, 1, 3), 2.0))
    tensor([[0.2500]])
    """
    square_R1 = beyond_2RC.square().mean(2, keepdim=True).amax(0)
    return square_R1.clamp(min=1 / MOST_CONTENT).reciprocal()


def fineness(positions: int, first: int | None, reach: float) -> float:
    """Say how much the statistics of a map tell of the style of an image, and how little of what is in it.

    >>> fineness(64, first=32 * 32, reach=16), fineness(64, first=32 * 32, reach=64)
    (0.5, 0.8)
    """
    return positions / (positions + (positions if first is None else first) / reach)


def stream_offset(sums_2SC: Tensor, source: Source, rule: Shrinkage) -> Tensor:
    """Say what the samples of a stream have in common, (2, S, C), shrunk by how much they differ.

    The sums are moving averages that start at zero: of the samples' offsets of the mean, or ratios of the variance, of
    the mean square of their offsets, and of 1, which says how much of an average is there yet.
    """
    if rule.tau == 0:
        return torch.zeros_like(sums_2SC[:, :, :-EXTRA])
    inverse_S1 = sums_2SC[0, :, -1:].clamp(min=SMALLEST).reciprocal()
    average_2SC = sums_2SC * inverse_S1
    mean_SC, ratio_SC = average_2SC[:, :, :-EXTRA].unbind()
    square_S1, square_of_log_S1 = average_2SC[:, :, -EXTRA:-1].unbind()
    # How far an average of so many samples is off by chance, in parts of what a single one is; a stream that has shown
    # nothing yet is off so far that nothing of it is trusted.
    noise_S1 = (2 * inverse_S1 - 1) * (rule.tau / (2 - rule.tau))
    common_S1 = _mean_square(mean_SC)
    scatter_S1 = _scatter(square_S1, common_S1, noise_S1)
    # The source's variance is that of all its samples together: within them, and between them.
    log_SC = torch.add(ratio_SC, scatter_S1, alpha=source.content).clamp(min=SMALLEST).log() / sqrt(source.spread)
    common_of_log_S1 = _mean_square(log_SC)
    scatter_of_log_S1 = _scatter(square_of_log_S1, common_of_log_S1, noise_S1)
    common_2S1, scatter_2S1 = torch.stack([common_S1, common_of_log_S1]), torch.stack([scatter_S1, scatter_of_log_S1])
    usual_2S1 = scatter_2S1.clamp(max=1)
    doubt_2S1 = torch.add(noise_S1, scatter_2S1, alpha=rule.mixture_doubt)
    doubt_2S1 = torch.add(doubt_2S1, usual_2S1, alpha=rule.stream_doubt - rule.mixture_doubt)
    real_2S1 = torch.addcmul(common_2S1, noise_S1, scatter_2S1, value=-1).clamp(min=SMALLEST)
    trust_2S1 = (1 - doubt_2S1 / real_2S1).clamp(min=0)
    # The average of few samples is the sample itself in as many parts, and nothing that it has in common with others.
    return torch.stack([mean_SC, log_SC]) * ((1 - noise_S1) * trust_2S1)


def _scatter(square_S1: Tensor, common_S1: Tensor, noise_S1: Tensor) -> Tensor:
    """Say how far samples are from their average, squared: what is seen of it, and for the rest what content shows."""
    return (square_S1 - common_S1).clamp(min=0) + noise_S1


def _mean_square(offset_RC: Tensor) -> Tensor:
    """Take the mean of squares over the channels, (R, 1)."""
    return offset_RC.square().mean(1, keepdim=True)


def towards(offset_2RC: Tensor, stream_2RC: Tensor) -> Tensor:
    """Go along a stream's offset as far as the sample itself has gone, and no further than the stream, (2, R, C)."""
    along_2R1 = (offset_2RC * stream_2RC).sum(2, keepdim=True)
    length_2R1 = stream_2RC.square().sum(2, keepdim=True)
    return stream_2RC * (along_2R1 / length_2R1.clamp(min=SMALLEST)).clamp(0, 1)


def mixture(start_2RC: Tensor, end_2RC: Tensor, weight_R1: Tensor) -> Tensor:
    """Mix two distributions, (2, R, C): the variance of the whole has how far their means are apart in it too.

    >>> mixture(torch.tensor([[[0.0]], [[1.0]]]), torch.tensor([[[4.0]], [[1.0]]]), torch.tensor([[0.5]]))
    tensor([[[2.]],
    <BLANKLINE>
            [[5.]]])
    """
    mixed_2RC = torch.lerp(start_2RC, end_2RC, weight_R1)
    apart_RC = end_2RC[0] - start_2RC[0]
    mixed_2RC[1].addcmul_(weight_R1 - weight_R1.square(), apart_RC.square())
    return mixed_2RC


class ShrinkageLayer(AdaptiveNorm):
    """Source statistics, moved by what a stream has in common and by what a sample shows beyond content."""

    def __init__(self, batchnorm: _BatchNorm, context: Context, rule: Shrinkage) -> None:
        super().__init__(batchnorm, context)
        self.rule = rule
        self.calibration: tuple[float, float] | None = None
        """The content and the spread of clean samples as they were measured; None where they were not."""

    def estimate(self, rows_2RC: Tensor, positions: int, plan: MovingPlan, call: Call) -> Tensor:
        """Move the source statistics for each row, (2, R, C)."""
        self.kept_source = positions == 1
        if self.kept_source:
            return torch.stack(self._running_statistics())[:, None].float()
        source, rule = self.source(), self.rule
        offset_2RC = source.offsets(rows_2RC)
        sums = self._sums(offset_2RC, source, plan, call)
        stream = stream_offset(sums, source, rule)
        if plan.groups > 1 and stream.shape[1] > 1:
            stream = torch.cat([stream] * plan.groups, dim=1)
        base_2RC = towards(offset_2RC, stream)
        part_R1 = content_part(offset_2RC - base_2RC)
        base = source.statistics(base_2RC)
        if self.first:
            self.context.first_positions = positions
            # Its means are the colours of the image, which are content far more often than shift.
            rows_2RC = torch.stack([base[0].expand_as(rows_2RC[0]), rows_2RC[1]])
        else:
            part_R1 = self.context.average_content(part_R1)
        cap = rule.cap * fineness(positions, self.context.first_positions, rule.reach)
        return mixture(base, rows_2RC, cap * (1 - rule.doubt * part_R1).clamp(min=0))

    def _sums(self, offset_2RC: Tensor, source: Source, plan: MovingPlan, call: Call) -> Tensor:
        """Update what is known of the streams with the samples themselves, in order of arrival, (2, B, C + 2)."""
        sample_2BC = offset_2RC[:, : plan.samples]
        shown_2BC = torch.stack([sample_2BC[0], source.ratios(sample_2BC[1])])
        square_2B1 = sample_2BC.square().mean(2, keepdim=True)
        moments = torch.cat([shown_2BC, square_2B1, torch.ones_like(square_2B1)], dim=2)
        start_2SC = self.start(call, plan)
        if not plan.blocks:
            return of_samples(start_2SC, plan.stream_B)
        self.note(call, moments, moments)
        return plan.follow(start_2SC, moments)

    def shown(self, x: Tensor) -> Tensor:
        """Say how far each row is from the source statistics, (2, R): mean squares over the channels."""
        mean_C, var_C = self._running_statistics()
        plain = Source.of(mean_C, var_C, self.eps, content=1.0, spread=1.0)
        return plain.offsets(row_statistics(x)).square().mean(2)

    def source(self) -> Source:
        """Look at the source statistics, and at what content shows beside them."""
        return Source.of(*self._running_statistics(), self.eps, *self._content())

    def _content(self) -> tuple[float, float]:
        """Say how far clean samples are from the source, in means and in variances."""
        if self.calibration is not None:
            return self.calibration
        rule = self.rule
        return (rule.first_content, rule.first_spread) if self.first else (rule.content, rule.spread)

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        # What clean samples showed was measured from the old source statistics.
        self.calibration = None
        super()._load_from_state_dict(*args, **kwargs)

    def starting_state(self) -> tuple[Tensor, Tensor]:
        """Know nothing of any stream."""
        nothing = self._running_statistics()[0].new_zeros(self.num_features + EXTRA)
        return nothing, nothing

    def settled_statistics(self, state_2SC: Tensor) -> Tensor:
        """Move the source statistics by what the streams have in common, (2, S, C)."""
        source = self.source()
        return source.statistics(stream_offset(state_2SC.float(), source, self.rule))
