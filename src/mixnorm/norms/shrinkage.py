"""The layer of ShrinkNorm: each sample finds out by itself how much of what it shows is shift, and how much is content.

A sample's statistics differ from the source's for two reasons: shift, which is to be removed, and content, which the
model is there to see. What all samples of a stream have in common is shift, as far as they agree on it. What is left
is shift as far as it is larger than content usually is. Both are positive-part James-Stein estimates: of all layers so
far together, since content shows in some layers, and shift in all of them.

Statistics are told by their offsets from the source: means in source deviations, variances by the logarithm of their
ratio, both in units of what content alone usually shows.

Shapes: 2 for mean and variance, R rows, B samples, S streams, C channels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf, sqrt
from typing import Any, Self

import torch
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm

from mixnorm.norms.layer import AdaptiveNorm, Context, LayerAverage
from mixnorm.norms.memory import Call
from mixnorm.norms.plan import MovingPlan
from mixnorm.norms.statistics import Estimate, Stats, of_samples, row_statistics
from mixnorm.norms.stream_shift import (
    EXTRA,
    PER_CHANNEL,
    Shift,
    StreamRule,
    mixture,
    of_all,
    of_one,
    positions_seen,
    trusted,
)

LEAST_CONTENT = 1e-6
"""The least that content may show: offsets are in units of it."""
LEAST_REACH = 1e-6
"""The least that the reach may be: positions are divided by it."""
LEAST_CAP = 1e-6
"""What trust is divided by at least, where a stream is hardly trusted, or not at all."""
FEW = 4
"""For how many streams all layers are looked at together: of more, each layer has enough to do by itself, and as many
channels for each as the widest has would take much memory."""
MOST_CONTENT = 2.0
"""The most that one layer says for content: a layer that shows nothing, as a dead one, must not silence all others."""


@dataclass(frozen=True, kw_only=True)
class Shrinkage(StreamRule):
    """How far the statistics of a sample, and what its stream has in common, are trusted."""

    content: float = 0.1
    """How far the means of clean samples are from the source's: mean square, in source variances."""
    spread: float = 0.2
    """How far the logarithms of the variances of clean samples are from the source's: mean square."""
    first_content: float = 0.25
    """The content of the first layer, which sees the images themselves: they differ more than their features do."""
    first_spread: float = 1.0
    """The spread of the first layer."""
    doubt: float = 0.65
    """How many times what content shows is taken off what a sample shows, in all layers so far."""
    view_doubt: float = 0.55
    """The same where the mirror image goes through the model too: the average of two answers is wrong less often."""
    cap: float = 0.5
    """The largest weight of a sample's own statistics."""
    reach: float = 16
    """How many times fewer positions than the first a layer has whose weight is half: each sees most of the image."""


@dataclass(frozen=True)
class Source:
    """The source statistics of a layer, and what is shown beside them.

    What a row shows are offsets of its means, in units of what content alone shows, and ratios of its variances.
    """

    origin_21C: Tensor
    unit_21C: Tensor
    per_unit_21C: Tensor
    content: float
    root_spread: Tensor
    """A tensor of no dimensions: a number in its place would be made one in each operation, which takes longer."""
    itself_211: Tensor
    """What the source itself shows: no offset, and a ratio of 1."""
    count_211: Tensor
    """What any row adds to what is known of its stream: 1, and how many positions its maps have."""

    @classmethod
    def of(
        cls, mean_C: Tensor, var_C: Tensor, eps: float, content: float, spread: float, *, positions: int = 1
    ) -> "Source":
        """Look at statistics in float32, whatever the model's dtype is."""
        var_C = var_C.detach().float() + eps
        mean_C = mean_C.detach().float()
        unit_21C = torch.stack([(content * var_C).sqrt(), var_C])[:, None]
        origin_21C = torch.stack([mean_C, torch.full_like(mean_C, -eps)])[:, None]
        count_211 = torch.stack([mean_C.new_ones(1, 1), mean_C.new_full((1, 1), positions)])
        itself_211, root_spread = mean_C.new_tensor([[[0.0]], [[1.0]]]), mean_C.new_full((), sqrt(spread))
        return cls(origin_21C, unit_21C, unit_21C.reciprocal(), content, root_spread, itself_211, count_211)

    def shown(self, rows_2RC: Tensor) -> Tensor:
        """Say what rows of such statistics show, (2, R, C)."""
        return (rows_2RC - self.origin_21C) * self.per_unit_21C

    def offsets(self, shown_2RC: Tensor) -> Tensor:
        """Say how far it is from the source, (2, R, C), in units of what content alone usually shows."""
        mean_RC, ratio_RC = shown_2RC.unbind()
        return torch.stack([mean_RC, ratio_RC.log() / self.root_spread])

    def statistics(self, shown_2RC: Tensor) -> Tensor:
        """Say which statistics show this, (2, R, C): the inverse of `shown`."""
        stats_2RC = torch.addcmul(self.origin_21C, shown_2RC, self.unit_21C)
        stats_2RC[1].relu_()
        return stats_2RC


def content_part(square_2RC: Tensor) -> Tensor:
    """Say which part content usually is of what each row shows beyond its stream, (R, 1), by the squares of that.

    It is more than 1 where a row shows less than content usually does, and the smaller one of the two for mean and
    variance: where one of them tells of a shift, both have moved.

    >>> content_part(torch.full((2, 1, 3), 4.0))
    tensor([[0.2500]])
    """
    return square_2RC.mean(2, keepdim=True).amax(0).clamp_(min=1 / MOST_CONTENT).reciprocal_()


def fineness(positions: int, first: int | None, reach: float) -> float:
    """Say how much the statistics of a map tell of the style of an image, and how little of what is in it.

    >>> fineness(64, first=32 * 32, reach=16), fineness(64, first=32 * 32, reach=64)
    (0.5, 0.8)
    """
    return positions / (positions + (positions if first is None else first) / reach)


def left_by_stream(weight_R1: Tensor, trust_2S1: Tensor, cap: float) -> Tensor:
    """Leave samples less weight the further their stream is trusted, (R, 1): what they show beyond it is content.

    Nothing is left where it is trusted up to the `cap`, or further, in means or variances. The sixth power keeps trust
    that falls short of it, as in a mixture of shifts, from taking much.

    >>> left_by_stream(torch.tensor([[0.64]]), torch.tensor([[[0.1]], [[0.2]]]), cap=0.4)
    tensor([[0.6300]])
    """
    cap = max(cap, LEAST_CAP)
    return torch.addcmul(weight_R1, weight_R1, trust_2S1.amax(0).clamp_(max=cap).pow(6), value=-(cap**-6))


class ShrinkageLayer(AdaptiveNorm):
    """Source statistics, moved by what a stream has in common and by what a sample shows beyond content."""

    least_variance = -inf  # What is known of streams are logarithms.
    repeatable = False  # Layers put together what they find within a pass: asked again, they would count twice.

    def __init__(self, batchnorm: _BatchNorm, context: Context, rule: Shrinkage) -> None:
        super().__init__(batchnorm, context)
        self.rule = rule
        self.calibration: tuple[float, float] | None = None
        """The content and the spread of clean samples as they were measured; None where they were not."""
        self._sources: dict[tuple[float, float, int], Source] = {}
        """The source beside what content shows, and for maps of so many positions, as it was last looked at."""

    def estimate(self, positions: int, plan: MovingPlan, call: Call) -> Estimate:
        """Move the source statistics for each row, (R, C)."""
        if positions == 1:
            self.context.kept.append(self.name)
            mean_C, var_C = self._running_statistics()
            return lambda _: (mean_C[None].float(), var_C[None].float())
        return partial(self._moved, positions=positions, plan=plan, call=call)

    def _moved(self, rows: Stats, positions: int, plan: MovingPlan, call: Call) -> Stats:
        source, rule = self.source(positions), self.rule
        shown_2RC = source.shown(torch.stack(rows))
        offset_2RC = source.offsets(shown_2RC)
        trust_2S1 = None
        if rule.tau == 0:
            base_2RC, beyond_2RC = source.itself_211.expand_as(offset_2RC), offset_2RC
        else:
            moments = self._moments(offset_2RC, shown_2RC[1], source.count_211, plan) if plan.blocks else None
            shift = self._shift(moments, plan, call)
            trust_2S1 = trusted(self.context.trust.add(shift.trust_2S3, positions**2), rule)
            base_2RC = shift.moved(source.itself_211, shift.way(offset_2RC, trust_2S1), source.content)
            beyond_2RC = offset_2RC - source.offsets(base_2RC)
        square_2RC = beyond_2RC.square()
        part_R1 = content_part(square_2RC)
        if self.first:
            self.context.first_positions = positions
            # Its means are the colours of the image, which are content far more often than shift.
            shown_2RC, square_2RC = torch.stack([base_2RC[0], shown_2RC[1]]), torch.zeros_like(square_2RC)
        else:
            part_R1 = self.context.content.add(part_R1)
        cap = rule.cap * fineness(positions, self.context.first_positions, rule.reach)
        doubt = rule.doubt if plan.groups == 1 else rule.view_doubt
        weight_R1 = torch.rsub(part_R1, cap, alpha=cap * doubt).relu_()
        if trust_2S1 is not None:
            weight_R1 = left_by_stream(weight_R1, trust_2S1, rule.stream_cap)
        weight_2R1 = weight_R1.expand(2, -1, -1)
        mean_RC, var_RC = source.statistics(mixture(base_2RC, shown_2RC, weight_2R1, square_2RC[0], source.content))
        return mean_RC, var_RC

    def _shift(self, moments: Tensor | None, plan: MovingPlan, call: Call) -> Shift:
        """Say for each row what the samples that came before it in its stream have in common."""
        if moments is not None:
            mean_BC, var_BC = moments
            self.note(call, (mean_BC, var_BC))
        start = self.start(call, plan)
        compiling = torch.compiler.is_compiling()
        if not compiling and plan.still and start[0].shape[0] <= FEW and call in self.context.starts:
            return self._shifts()[call].of_rows(plan.stream_R)
        start_2SC = torch.stack(start)
        before = of_samples(start_2SC, plan.stream_B) if moments is None else plan.before(start_2SC, moments)
        return of_one(before, *self._content(), self.rule).repeated(plan.groups)

    def _moments(self, offset_2RC: Tensor, ratio_RC: Tensor, count_211: Tensor, plan: MovingPlan) -> Tensor:
        """Say what the samples themselves add to what is known of their streams, (2, B, 2 C + 2)."""
        if plan.groups > 1:
            offset_2RC, ratio_RC = offset_2RC[:, : plan.samples], ratio_RC[: plan.samples]
        square_2BC = offset_2RC.square()
        square_2B1 = square_2BC.mean(2, keepdim=True)
        together_2BC = torch.stack([square_2BC[0], ratio_RC])
        return torch.cat([offset_2RC, together_2BC, square_2B1, count_211.expand_as(square_2B1)], dim=2)

    def _shifts(self) -> dict[Call, Shift]:
        """Say for all layers at once what the samples of the streams of a pass had in common when it began."""
        context = self.context
        if not context.shifts and context.start_2SN is not None:
            context.shifts = self._of_calls(list(context.starts), context.start_2SN)
        return context.shifts

    def _of_calls(self, calls: Sequence[Call], sums_2SN: Tensor) -> dict[Call, Shift]:
        layers = [self.context.layers[name] for name, _ in calls]
        facts = [(each.num_features, *each._content()) for each in layers if isinstance(each, ShrinkageLayer)]
        return dict(zip(calls, of_all(sums_2SN, facts, self.rule), strict=True))

    def shown(self, x: Tensor) -> Tensor:
        """Say how far each row is from the source statistics, (2, R): mean squares over the channels."""
        plain = Source.of(*self._running_statistics(), self.eps, content=1.0, spread=1.0)
        return plain.offsets(plain.shown(torch.stack(row_statistics(x)))).square().mean(2)

    def source(self, positions: int = 1) -> Source:
        """Look at the source statistics, at what content shows beside them, and at maps of so many positions."""
        content = self._content()
        if torch.compiler.is_compiling():
            return Source.of(*self._running_statistics(), self.eps, *content, positions=positions)
        key = (*content, positions)
        if key not in self._sources:
            # Tensors made in inference mode could not be part of a gradient outside of it.
            with torch.inference_mode(False):
                self._sources = {key: Source.of(*self._running_statistics(), self.eps, *content, positions=positions)}
        return self._sources[key]

    def _content(self) -> tuple[float, float]:
        """Say how far clean samples are from the source, in means and in variances."""
        if self.calibration is not None:
            return self.calibration
        rule = self.rule
        return (rule.first_content, rule.first_spread) if self.first else (rule.content, rule.spread)

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        # What clean samples showed was measured from the old source statistics.
        self.calibration, self._sources = None, {}
        super()._load_from_state_dict(*args, **kwargs)

    def _apply(self, *args: Any, **kwargs: Any) -> Self:
        # The source statistics go to another device or dtype.
        self._sources = {}
        return super()._apply(*args, **kwargs)  # type: ignore[no-untyped-call,no-any-return]

    def starting_state(self) -> tuple[Tensor, Tensor]:
        """Know nothing of any stream."""
        nothing = self._running_statistics()[0].new_zeros(PER_CHANNEL * self.num_features + EXTRA)
        return nothing, nothing

    def settled_statistics(self, states: Mapping[Call, Tensor]) -> Tensor:
        """Move the source statistics by what the stream has in common, (2, calls, C).

        It is trusted as all layers up to this one do, in the order in which they stand in the model.
        """
        source, trust, own = self.source(), LayerAverage(), []
        for call, shift in self._of_calls(list(states), torch.cat(list(states.values()), dim=2).float()).items():
            average_2S3 = trust.add(shift.trust_2S3, positions_seen(states[call]) ** 2)
            if call[0] == self.name:
                own.append(shift.moved(source.itself_211, trusted(average_2S3, self.rule), source.content))
        return source.statistics(torch.cat(own, dim=1))
