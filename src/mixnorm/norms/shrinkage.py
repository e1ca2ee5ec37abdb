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
from math import inf
from typing import Any, Self

import torch
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm

from mixnorm.norms.found import Found, Observe
from mixnorm.norms.lagged import LaggedPlan, less_recent, pairs
from mixnorm.norms.layer import AdaptiveNorm, Context, LayerAverage
from mixnorm.norms.memory import Call
from mixnorm.norms.offsets import Source, all_moments
from mixnorm.norms.statistics import Estimate, Stats, of_samples, row_statistics
from mixnorm.norms.stream_shift import (
    EXTRA,
    PER_CHANNEL,
    Known,
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


def content_part(size_2R1: Tensor) -> Tensor:
    """Say which part content usually is of what each row shows beyond its stream, (1, R, 1), by its mean squares.

    It is more than 1 where a row shows less than content usually does, and the smaller one of the two for mean and
    variance: where one of them tells of a shift, both have moved.

    >>> content_part(torch.tensor([[[4.0]], [[3.0]]]))
    tensor([[[0.2500]]])
    """
    return size_2R1.amax(0, keepdim=True).clamp_(min=1 / MOST_CONTENT).reciprocal_()


def fineness(positions: float, first: float | None, reach: float) -> float:
    """Say how much the statistics of a map tell of the style of an image, and how little of what is in it.

    >>> fineness(64, first=32 * 32, reach=16), fineness(64, first=32 * 32, reach=64)
    (0.5, 0.8)
    """
    return positions / (positions + (positions if first is None else first) / reach)


def left_by_stream(weight_1R1: Tensor, trust_2S1: Tensor, cap: float) -> Tensor:
    """Leave samples less weight the further their stream is trusted, (1, R, 1): what they show beyond it is content.

    Nothing is left where it is trusted up to the `cap`, or further, in means or variances. The sixth power keeps trust
    that falls short of it, as in a mixture of shifts, from taking much.

    >>> left_by_stream(torch.tensor([[[0.64]]]), torch.tensor([[[0.1]], [[0.2]]]), cap=0.4)
    tensor([[[0.6300]]])
    """
    cap = max(cap, LEAST_CAP)
    taken_1S1 = trust_2S1.amax(0, keepdim=True).clamp_(max=cap).pow_(6)
    return torch.addcmul(weight_1R1, weight_1R1, taken_1S1, value=-(cap**-6))


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

    def estimate(self, positions: int, plan: LaggedPlan, call: Call) -> Estimate:
        """Move the source statistics for each row, (R, C)."""
        if positions == 1:
            self.context.kept.append(self.name)
            mean_C, var_C = self._running_statistics()
            return lambda _: (mean_C[None].float(), var_C[None].float())
        return partial(self._moved, positions=positions, plan=plan, call=call)

    def _moved(self, rows: Stats, positions: int, plan: LaggedPlan, call: Call) -> Stats:
        source, rule = self.source(positions), self.rule
        shown_2RC = source.shown(torch.stack(rows))
        offset_2RC = source.offsets(shown_2RC)
        trust_2S1 = None
        if rule.tau == 0:
            base_2RC, beyond_2RC = source.itself_211.expand_as(offset_2RC), offset_2RC
        else:
            shift = self._shift(offset_2RC, shown_2RC, source, plan, call)
            average_2S3 = self.context.trust.add(shift.trust_2S3, positions**2)
            fine = fineness(positions, self.context.first_positions, rule.stream_reach)
            trust_2S1 = trusted(average_2S3, source.most_3, fine)
            base_2RC = shift.moved(source.itself_211, shift.way(offset_2RC, trust_2S1), source.content)
            beyond_2RC = offset_2RC - source.offsets(base_2RC)
        square_2RC = beyond_2RC.square()
        part_1R1 = content_part(source.units.mean(square_2RC))
        if self.first:
            self.context.first_positions = positions
            # Its means are the colours of the image, which are content far more often than shift.
            shown_2RC, square_2RC = torch.stack([base_2RC[0], shown_2RC[1]]), torch.zeros_like(square_2RC)
        else:
            part_1R1 = self.context.content.add(part_1R1)
        cap = rule.cap * fineness(positions, self.context.first_positions, rule.reach)
        doubt = rule.doubt if plan.groups == 1 else rule.view_doubt
        weight_1R1 = torch.rsub(part_1R1, cap, alpha=cap * doubt).relu_()
        if trust_2S1 is not None:
            weight_1R1 = left_by_stream(weight_1R1, trust_2S1, rule.stream_cap)
        return source.statistics(mixture(base_2RC, shown_2RC, weight_1R1, square_2RC[:1], source.content))

    def _shift(self, offset_2RC: Tensor, shown_2RC: Tensor, source: Source, plan: LaggedPlan, call: Call) -> Shift:
        """Say for each row what the samples that came before it in its stream have in common."""
        start = self.start(call, plan)
        still = len(plan.blocks) == 0 or plan.known(plan.still)
        if still and not torch.compiler.is_compiling() and start[0].shape[0] <= FEW and call in self.context.starts:
            return self._shifts()[call].of_rows(plan.stream_R)
        start_2SC = torch.stack(start)
        if still:
            before = less_recent(of_samples(start_2SC, plan.stream_B), plan.part)
        else:
            own = source.moments(offset_2RC[:, : plan.samples], shown_2RC[1, : plan.samples])
            before = plan.known_before(start_2SC, own)
        return of_one(Known(*before), source.units, self.rule).repeated(plan.groups)

    @property
    def observe(self) -> Observe:
        """What makes the state of all layers out of the statistics of samples."""
        return self._observed

    def _observed(self, found: Found, rows_2BN: Tensor) -> Tensor:
        """Say for all calls of a pass at once what the samples add to what is known of their streams."""
        layers = [self.context.layers[name] for name, _ in found.calls]
        sources = [
            layer.source(count)
            for layer, count in zip(layers, found.positions, strict=True)
            if isinstance(layer, ShrinkageLayer)
        ]
        return all_moments(rows_2BN, sources)

    def _shifts(self) -> dict[Call, Shift]:
        """Say for all layers at once what the samples of the streams of a pass had in common when it began."""
        context = self.context
        if not context.shifts and context.start_2SN is not None:
            context.shifts = self._of_calls(list(context.starts), context.start_2SN)
        return context.shifts

    def _of_calls(self, calls: Sequence[Call], state_2SN: Tensor) -> dict[Call, Shift]:
        layers = [self.context.layers[name] for name, _ in calls]
        facts = [(each.num_features, *each._content()) for each in layers if isinstance(each, ShrinkageLayer)]
        return dict(
            zip(calls, of_all(Known(*less_recent(state_2SN, self.rule.speeds.part)), facts, self.rule), strict=True)
        )

    def shown(self, x: Tensor) -> Tensor:
        """Say how far each row is from the source statistics, (2, R): mean squares over the channels."""
        plain = Source.of(*self._running_statistics(), self.eps, content=1.0, spread=1.0)
        return plain.offsets(plain.shown(torch.stack(row_statistics(x)))).square().mean(2)

    def source(self, positions: int = 1) -> Source:
        """Look at the source statistics, at what content shows beside them, and at maps of so many positions."""
        content = self._content()
        if torch.compiler.is_compiling():
            return self._source_of(content, positions)
        key = (*content, positions)
        if key not in self._sources:
            # Tensors made in inference mode could not be part of a gradient outside of it.
            with torch.inference_mode(False):
                self._sources = {key: self._source_of(content, positions)}
        return self._sources[key]

    def _source_of(self, content: tuple[float, float], positions: int) -> Source:
        statistics, cap = self._running_statistics(), self.rule.stream_cap
        return Source.of(*statistics, self.eps, *content, positions=positions, stream_cap=cap)

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
        nothing = self._running_statistics()[0].new_zeros(2 * (PER_CHANNEL * self.num_features + EXTRA))
        return nothing, nothing

    def settled_statistics(self, states: Mapping[Call, Tensor]) -> Tensor:
        """Move the source statistics by what the stream has in common, (2, calls, C).

        It is trusted as all layers up to this one do, in the order in which they stand in the model.
        """
        source, trust, own = self.source(), LayerAverage(), []
        seen = {call: positions_seen(pairs(state_21C)[0]) for call, state_21C in states.items()}
        first = next((count for (name, _), count in seen.items() if self.context.layers[name].first), None)
        for call, shift in self._of_calls(list(states), torch.cat(list(states.values()), dim=2).float()).items():
            average_2S3 = trust.add(shift.trust_2S3, seen[call] ** 2)
            if call[0] == self.name:
                way_2S1 = trusted(average_2S3, source.most_3, fineness(seen[call], first, self.rule.stream_reach))
                own.append(shift.moved(source.itself_211, way_2S1, source.content))
        return torch.stack(source.statistics(torch.cat(own, dim=1)))
