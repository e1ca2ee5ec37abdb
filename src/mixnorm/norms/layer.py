"""What all adapting layers share: they stand in for a BatchNorm, keep its names, and hold its moving statistics."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm, _NormBase

from mixnorm.errors import InputError, ModelError
from mixnorm.norms.memory import Call, Memory
from mixnorm.norms.plan import Plan, Rows
from mixnorm.norms.statistics import (
    Adaptation,
    Estimate,
    Stats,
    full_precision,
    is_native,
    is_tracked,
    measure_natively,
    normalise,
    normalise_natively,
    positions,
    row_statistics,
)

DIMENSIONS: dict[type[_BatchNorm], tuple[int, ...]] = {
    nn.BatchNorm1d: (2, 3),
    nn.BatchNorm2d: (4,),
    nn.BatchNorm3d: (5,),
    nn.SyncBatchNorm: (2, 3, 4, 5),
}
"""The kinds of BatchNorm that can be replaced, and the dimensions of the features they take."""


@dataclass(slots=True)
class Step:
    """What one call of a layer did: kept apart until the whole forward pass has succeeded."""

    call: Call
    rows: Stats
    """The statistics of each row, (R, C)."""
    pooled: Stats | None = None
    """Statistics that several samples have a part in, where these are not those of the rows."""
    part_S1: Tensor | None = None
    """Which part of its way each stream goes; None where all go all of it."""

    @property
    def shared(self) -> Stats:
        """Statistics that several samples have a part in: finite unless a sample spoils them."""
        return self.rows if self.pooled is None else self.pooled

    @property
    def channels(self) -> int:
        """How many columns the statistics have."""
        return self.rows[0].shape[1]

    def finite(self) -> bool:
        """Tell whether no sample has spoilt what others share."""
        return all(bool(each.isfinite().all()) for each in self.shared)

    def culprits(self, samples: int) -> list[int]:
        """Find the samples that spoil what others share: those that are not finite, else the one of largest values."""
        extent_B = torch.stack(self.rows).abs().amax((0, 2)).view(-1, samples).amax(0)
        spoilt = extent_B.isfinite().logical_not().nonzero().flatten().tolist()
        return spoilt or [int(extent_B.argmax())]


@dataclass(slots=True)
class LayerAverage:
    """The average over the layers of a pass so far."""

    average: Tensor | None = None
    weights: float = 0

    def add(self, one: Tensor, weight: float = 1) -> Tensor:
        """Add what one more layer says, which counts by its weight, and give the average with it.

        >>> average = LayerAverage()
        >>> average.add(torch.tensor(1.0)), average.add(torch.tensor(5.0), weight=3)
        (tensor(1.), tensor(4.))
        """
        self.weights += weight
        self.average = one if self.average is None else torch.lerp(self.average, one, weight / self.weights)
        return self.average


@dataclass
class Context:
    """What the layers of one model share: their moving statistics, and the forward pass under way."""

    make_plan: Callable[[Rows, torch.device, bool], Plan]
    groups: int = 1
    """The groups of rows of a pass with no plan: the samples, and each view of them."""
    standalone: bool = True
    """Whether the layers may be called with no plan: then each call is a batch of the one default stream."""
    memory: Memory = field(default_factory=Memory)
    paused: bool = False
    plan: Plan | None = None
    layers: "dict[str, AdaptiveNorm]" = field(default_factory=dict)
    """All layers, by where they stand in the model."""
    start_2SN: Tensor | None = None
    """The statistics of the streams of the pass, as they were when it began: those of all calls, side by side."""
    starts: dict[Call, Stats] = field(default_factory=dict)
    """The same for each call, (S, C)."""
    shifts: dict[Call, Any] = field(default_factory=dict)
    """What the streams of the pass had in common then, for each call, where a layer has asked for it."""
    calls: dict[str, int] = field(default_factory=dict)
    """How often each layer has been called in the pass."""
    steps: list[Step] = field(default_factory=list)
    """What the calls did, in their order."""
    content: LayerAverage = field(default_factory=LayerAverage)
    """For each row, which part content usually is of what the layers have shown, (R, 1)."""
    trust: LayerAverage = field(default_factory=LayerAverage)
    """For each row, which part of what its stream has in common the layers have trusted, (2, R, 2).

    Layers count by the squares of their positions: fine maps tell of the style of images, coarse ones of what is in
    them, and an average of more positions is surer."""
    first_positions: int | None = None
    """How many positions the first layer had; None before it was called."""

    def begin(self, plan: Plan | None) -> None:
        """Begin a pass, or the same one again, or with no plan leave it, forgetting what was under way."""
        if plan is None:
            self.start_2SN, self.starts, self.shifts = None, {}, {}
        elif plan is not self.plan:
            self.memory.to(plan.stream_B.device)
            self.start_2SN, self.starts = self.memory.read(plan.slots)
            self.shifts = {}
        self.plan, self.calls, self.steps = plan, {}, []
        self.content, self.trust, self.first_positions = LayerAverage(), LayerAverage(), None


def joined(stats: Iterable[Stats]) -> Tensor:
    """Put the statistics of all calls side by side, (2, R, N)."""
    means, variances = zip(*stats, strict=True)
    both_R2N = torch.cat(means + variances, dim=1).view(means[0].shape[0], 2, -1)
    return both_R2N.transpose(0, 1)


@dataclass(frozen=True)
class Move:
    """How far the statistics of the calls of a pass move."""

    plan: Plan
    calls: list[Call]
    by_2SN: Tensor

    @classmethod
    def of(cls, steps: Sequence[Step], rows_2RN: Tensor, plan: Plan, context: Context) -> "Move":
        """Look at all layers at once, since their channels are alike."""
        calls, memory, start_2SN = [step.call for step in steps], context.memory, context.start_2SN
        if start_2SN is None or not memory.holds(calls):
            start_2SN = memory.read_columns(plan.slots, memory.columns(calls))
        with full_precision(rows_2RN.device):
            by_2SN = plan.advance(start_2SN, rows_2RN)
        if any(step.part_S1 is not None for step in steps):
            whole_S1 = torch.ones_like(by_2SN[0, :, :1])
            parts = [whole_S1 if step.part_S1 is None else step.part_S1 for step in steps]
            by_2SN *= torch.cat(
                [part.expand(-1, step.channels) for part, step in zip(parts, steps, strict=True)], dim=1
            )
        return cls(plan, calls, by_2SN)

    def commit(self, memory: Memory) -> None:
        """Make it part of the state."""
        memory.move(self.plan.slots, self.calls, self.by_2SN)


class AdaptiveNorm(_NormBase):
    """A layer in the place of a BatchNorm, with the same parameters and buffers under the same names.

    Subclasses say which statistics the features are normalised with. `train()` and `eval()` change nothing.
    """

    repeatable: ClassVar[bool] = True
    """Whether an estimate may be asked for again, for gradients."""

    def __init__(self, batchnorm: _BatchNorm, context: Context) -> None:
        super().__init__(1, batchnorm.eps, batchnorm.momentum, batchnorm.affine, batchnorm.track_running_stats)
        self.num_features = batchnorm.num_features
        self.weight, self.bias = batchnorm.weight, batchnorm.bias
        self.running_mean, self.running_var = batchnorm.running_mean, batchnorm.running_var
        self.num_batches_tracked = batchnorm.num_batches_tracked
        self.training = batchnorm.training
        self.kind = type(batchnorm)
        self.dimensions = DIMENSIONS[self.kind]
        self.name = ""
        """Where the layer stands in the model."""
        self.first = False
        """Whether it is the first of the model, which sees the images themselves."""
        self.context = context
        self.kept_source: bool | None = None
        """Whether the last call had too few values for a variance, and so kept the source; None before the first."""

    def settle(self, name: str, *, first: bool) -> None:
        """Take a place in the model, and start from the source statistics."""
        self.name, self.first = name, first
        self.context.layers[name] = self
        self.context.memory.start(name, *self.starting_state())

    @abstractmethod
    def estimate(self, positions: int, plan: Any, call: Call) -> Estimate:
        """Say how rows of so many positions find what they are normalised with.

        That is statistics of each row in turn, (R, C), of each sample, (B, C), or of all rows alike, (1, C).
        """

    def take_note(self, rows: Stats, stats: Stats, positions: int, plan: Any, call: Call) -> None:
        """Note the step of a call by the statistics of its rows, and by what they are normalised with."""

    def forward(self, x: Tensor) -> Tensor:
        """Normalise a batch of rows."""
        if x.dim() not in self.dimensions or x.size(1) != self.num_features:
            raise self._not_its_features(x)
        context, name = self.context, self.name
        if context.paused:
            return self._source_norm(x)
        plan = context.plan if context.plan is not None else self._plan_alone(x)
        if x.size(0) != plan.count:
            raise InputError(
                f"layer {name!r} got {x.size(0)} rows in a pass of {plan.count}: row i must belong to "
                f"sample i in every layer; leave this one as it is with adapt(..., keep=[{name!r}])"
            )
        earlier = context.calls.get(name, 0)
        context.calls[name] = earlier + 1
        call = (name, earlier)
        if torch.is_autocast_enabled(plan.device_type):
            with full_precision(x.device):
                y = self._normalised(x, plan, call)
        else:
            y = self._normalised(x, plan, call)
        if context.plan is None:
            self._commit_alone(plan)
        return y

    def _normalised(self, x: Tensor, plan: Plan, call: Call) -> Tensor:
        # A module takes its time to find an attribute that is a parameter.
        weight, bias, count = self._parameters["weight"], self._parameters["bias"], positions(x)
        estimate = self.estimate(count, plan, call)
        native = is_native(x)
        tracked = torch.is_grad_enabled() and is_tracked(x, weight, bias)
        if native and not tracked:
            rows, spare = measure_natively(x, count)
            stats = estimate(rows)
            self.take_note(rows, stats, count, plan, call)
            return normalise_natively(x, stats, weight, bias, self.eps, into=spare)
        if native and self.repeatable:
            note = partial(self.take_note, positions=count, plan=plan, call=call)
            return Adaptation.apply(x, weight, bias, self.eps, estimate, note)  # type: ignore[no-untyped-call,no-any-return]
        rows = row_statistics(x)
        stats = estimate(rows)
        self.take_note(rows, stats, count, plan, call)
        return normalise(x, stats, weight, bias, self.eps, groups=plan.groups)

    def note(self, call: Call, rows: Stats, *, pooled: Stats | None = None, part_S1: Tensor | None = None) -> None:
        """Note what a call did; what it changes is computed for all layers at once, after the pass."""
        if torch.is_grad_enabled():
            rows = rows[0].detach(), rows[1].detach()
            pooled = None if pooled is None else (pooled[0].detach(), pooled[1].detach())
        self.context.steps.append(Step(call, rows, pooled, part_S1))

    def keeps_source(self, kept: bool) -> None:
        """Remember whether a call kept the source."""
        # Modules take their time to set even what they have already; a compiler would make code for either case.
        if torch.compiler.is_compiling() or kept is not self.kept_source:
            self.kept_source = kept

    def start(self, call: Call, plan: Plan) -> Stats:
        """Look up the moving statistics of the streams of a pass as it began, (S, C)."""
        start = self.context.starts.get(call)
        return self.context.memory.read_one(call, plan.slots) if start is None else start

    def starting_state(self) -> tuple[Tensor, Tensor]:
        """Say what a new stream starts with, for means and variances: the source statistics."""
        return self._running_statistics()

    def settled_statistics(self, states: Mapping[Call, Tensor]) -> Tensor:
        """Say which statistics an ordinary BatchNorm would have, (2, calls, C), by a stream's state of all layers."""
        return torch.cat([state_21C for (name, _), state_21C in states.items() if name == self.name], dim=1)

    def batchnorm(self, slot: int) -> _BatchNorm:
        """Make an ordinary BatchNorm with the moving statistics of a slot, or their mean where it has several calls."""
        plain = self.kind(self.num_features, self.eps, self.momentum, self.affine)
        source = self._running_statistics()[0]
        plain.to(device=source.device, dtype=source.dtype)
        if self.bias is None:
            plain.bias = None
        states = self.context.memory.export([slot])
        adapted = self.state_dict()
        if any(name == self.name for name, _ in states):
            adapted["running_mean"], adapted["running_var"] = self.settled_statistics(states).mean(1)
        plain.load_state_dict(adapted)
        return plain.train(self.training)

    def _plan_alone(self, x: Tensor) -> Plan:
        if not self.context.standalone:
            raise ModelError("call the adapted model itself, not the model inside it: only it knows views and streams")
        self.context.memory.to(x.device)
        return self.context.make_plan(
            Rows.of([0] * (len(x) // self.context.groups), self.context.groups), x.device, True
        )

    def _commit_alone(self, plan: Plan) -> None:
        steps = [step for step in self.context.steps if step.finite()]
        if steps and plan.update:
            rows_2RN = joined(step.rows for step in steps)
            Move.of(steps, rows_2RN, plan, self.context).commit(self.context.memory)
        self.context.begin(None)

    def _source_norm(self, x: Tensor) -> Tensor:
        return F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, False, 0.0, self.eps)

    def _running_statistics(self) -> tuple[Tensor, Tensor]:
        if self.running_mean is None or self.running_var is None:
            raise ModelError(f"a {self.kind.__name__} without running statistics has nothing to start from")
        return self.running_mean, self.running_var

    def _not_its_features(self, x: Tensor) -> InputError:
        takes = " or ".join(map(str, self.dimensions))
        return InputError(
            f"layer {self.name!r}, a {self.kind.__name__} of {self.num_features} channels, got features of shape "
            f"{tuple(x.shape)}; it takes {takes} dimensions, (rows, channels, ...)"
        )

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        super()._load_from_state_dict(*args, **kwargs)
        # New source statistics: the moving ones start again from them.
        self.context.memory.start(self.name, *self.starting_state())
