"""The layer of ShrinkNorm: each sample finds out by itself how much of what it shows is shift, and how much is content.

A sample's statistics differ from the source's for two reasons: shift, which is to be removed, and content, which the
model is there to see. What all samples of a stream have in common is shift, as far as they agree on it: the goal that a
sample is moved to (`stream_shift.py`). What is left is shift as far as it is larger than content usually is. Both are
positive-part James-Stein estimates: of all layers so far together, since content shows in some layers, and shift in all
of them.

Statistics are told by their offsets from the source: means in source deviations, variances by the logarithm of their
ratio, both in units of what content alone usually shows.

Shapes: 2 for mean and variance, R rows, B samples, S streams, C channels.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any, Self

import torch
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm

from mixnorm.norms.found import Found, Observe
from mixnorm.norms.layer import AdaptiveNorm, Context
from mixnorm.norms.looks import LookingPlan, pairs
from mixnorm.norms.memory import Call
from mixnorm.norms.offsets import Source, all_moments
from mixnorm.norms.statistics import Estimate, Stats, row_statistics
from mixnorm.norms.stream_shift import EXTRA, PER_CHANNEL, Goal, Goals, StreamRule, goals, mixture

LEAST_CONTENT = 1e-6
"""The least that content may show: offsets are in units of it."""
LEAST_REACH = 1e-6
"""The least that the reach may be: positions are divided by it."""
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


@dataclass(frozen=True)
class Known:
    """Where the layers move the samples of the streams of a pass."""

    calls: dict[Call, int]
    """The place of each call among the layers."""
    goals: Goals

    def at(self, call: Call) -> Goal | None:
        """Give the goal of a call; None where it has none yet."""
        place = self.calls.get(call)
        return None if place is None else self.goals.at(place)


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

    def estimate(self, positions: int, plan: LookingPlan, call: Call) -> Estimate:
        """Move the source statistics for each row, (R, C)."""
        if positions == 1:
            self.context.kept.append(self.name)
            mean_C, var_C = self._running_statistics()
            return lambda _: (mean_C[None].float(), var_C[None].float())
        return partial(self._moved, positions=positions, plan=plan, call=call)

    def _moved(self, rows: Stats, positions: int, plan: LookingPlan, call: Call) -> Stats:
        source, rule, context = self.source(positions), self.rule, self.context
        known = context.known if context.plan is not None else self.look(plan)
        goal = None if known is None else known.at(call)
        shown_2RC = source.shown(torch.stack(rows))
        beyond_2RC, base_2RC = source.offsets(shown_2RC), source.itself_211
        if goal is not None:
            goal = goal.of_rows(plan.stream_R)
            part_2R1 = goal.part(beyond_2RC)
            base_2RC = torch.lerp(base_2RC, goal.shown_2SC, part_2R1)
            beyond_2RC = torch.addcmul(beyond_2RC, part_2R1, goal.offset_2SC, value=-1)
        square_2RC = beyond_2RC.square()
        part_1R1 = content_part(source.sizes(square_2RC))
        if self.first:
            context.first_positions = positions
            # Its means are the colours of the image, which are content far more often than shift.
            colours_RC = base_2RC[0].expand_as(shown_2RC[0])
            shown_2RC, square_2RC = torch.stack([colours_RC, shown_2RC[1]]), torch.zeros_like(square_2RC)
        else:
            part_1R1 = context.content.add(part_1R1)
        cap = rule.cap * fineness(positions, context.first_positions, rule.reach)
        doubt = rule.doubt if plan.groups == 1 else rule.view_doubt
        weight_1R1 = torch.rsub(part_1R1, cap, alpha=cap * doubt).relu_()
        if goal is not None:
            weight_1R1 *= goal.left_1S1
        return source.statistics(mixture(base_2RC, shown_2RC, weight_1R1, square_2RC[:1], source.content))

    def look(self, plan: LookingPlan) -> Known | None:
        """Look at what is known of the streams of a pass, for all layers at once, or for this one if it is alone."""
        if self.rule.tau == 0:
            return None
        context = self.context
        calls = [call for call in context.memory.calls if not context.standalone or call[0] == self.name]
        calls = self._in_order(calls)
        return self._known(calls, context.memory.read_columns(plan.slots, context.memory.columns(calls)))

    def _in_order(self, calls: Iterable[Call]) -> list[Call]:
        """Put calls in the order of the model, whenever they first ran."""
        order = {name: place for place, name in enumerate(self.context.layers)}
        return sorted(calls, key=lambda call: (order[call[0]], call[1]))

    def _known(self, calls: Sequence[Call], state_2SM: Tensor) -> Known:
        layers = [self.context.layers[name] for name, _ in calls]
        facts = [(each.num_features, *each._content()) for each in layers if isinstance(each, ShrinkageLayer)]
        first = next((place for place, layer in enumerate(layers) if layer.first), None)
        places = {call: place for place, call in enumerate(calls)}
        return Known(places, goals(pairs(state_2SM)[1], facts, first, self.rule))

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
        return Source.of(*self._running_statistics(), self.eps, *content, positions=positions)

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
        """Move the source statistics to where the samples of the stream are moved, (2, calls, C)."""
        calls = self._in_order(states)
        known = self._known(calls, torch.cat([states[call] for call in calls], dim=2).float())
        own = [known.at(call) for call in calls if call[0] == self.name]
        return torch.stack(self.source().statistics(torch.cat([goal.shown_2SC for goal in own if goal], dim=1)))
