"""What all adapting layers share: they stand in for a BatchNorm, keep its names, and hold its moving statistics."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm, _NormBase

from mixnorm.errors import InputError, ModelError
from mixnorm.norms.found import Found, Move, Observe, Step
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
class LayerAverage:
    """The average over the layers of a pass so far."""

    average: Tensor | None = None
    layers: int = 0

    def add(self, one: Tensor) -> Tensor:
        """Add what one more layer says, and give the average with it.

        >>> average = LayerAverage()
        >>> average.add(torch.tensor(1.0)), average.add(torch.tensor(5.0))
        (tensor(1.), tensor(3.))
        """
        self.layers += 1
        self.average = one if self.average is None else torch.lerp(self.average, one, 1 / self.layers)
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
    brief: bool = False
    """Whether steps keep little of what they found: where memory counts."""
    plan: Plan | None = None
    layers: "dict[str, AdaptiveNorm]" = field(default_factory=dict)
    """All layers, by where they stand in the model."""
    start_2SN: Tensor | None = None
    """The statistics of the streams of the pass, as they were when it began: those of all calls, side by side."""
    starts: dict[Call, Stats] = field(default_factory=dict)
    """The same for each call, (S, C)."""
    known: Any = None
    """What the layers know of the streams of the pass, where they look at all of them at once."""
    looked: tuple[tuple[int, tuple[int, ...]], Any] | None = None
    """The same as it was last looked at, and which state of which slots that was."""
    calls: dict[str, int] = field(default_factory=dict)
    """How often each layer has been called in the pass."""
    kept: list[str] = field(default_factory=list)
    """The layers that kept the source in the pass, having too few values for a variance."""
    ran: dict[str, bool] = field(default_factory=dict)
    """For each layer that has run, whether it kept the source when it last did."""
    steps: list[Step] = field(default_factory=list)
    """What the calls did, in their order."""
    found: Found | None = None
    """The same side by side, when the pass has come to its end; None where nothing was noted."""
    content: LayerAverage = field(default_factory=LayerAverage)
    """For each row, which part content usually is of what the layers have shown, (R, 1)."""
    first_positions: int | None = None
    """How many positions the first layer had; None before it was called."""
    keeps_input: bool = False
    """Whether the model left its input as it was in the last pass; not known of one that has not run."""
    largest_map: int = 0
    """How many values the largest map of a row has had while the source model ran."""

    def begin(self, plan: Plan | None) -> None:
        """Begin a pass, or the same one again, or with no plan leave it, forgetting what was under way."""
        if plan is None:
            self.start_2SN, self.starts, self.known = None, {}, None
        elif plan is not self.plan:
            self.memory.to(plan.stream_B.device)
            self.start_2SN, self.starts = self.memory.read(plan.slots)
            self.known = self._look(plan)
        self.ran.update(dict.fromkeys(self.calls, False))
        self.ran.update(dict.fromkeys(self.kept, True))
        self.plan, self.calls, self.kept, self.steps, self.found = plan, {}, [], [], None
        self.content, self.first_positions = LayerAverage(), None

    def _look(self, plan: Plan) -> Any:
        """Let the layers look at the streams of a pass, unless they know them as they are."""
        # All layers of a model are of one kind.
        layer = next(iter(self.layers.values()))
        state = self.memory.version, plan.rows.slots
        if self.looked is None or self.looked[0] != state:
            # Tensors made in inference mode could not be part of a gradient outside of it.
            with torch.inference_mode(False), torch.no_grad(), full_precision(plan.stream_B.device):
                self.looked = state, layer.look(plan)
        return self.looked[1]

    def end(self) -> None:
        """Come to the end of a pass: what the calls did is put together, and they let go of it."""
        self.found = Found.of(self.steps) if self.steps else None
        # Not a new list: a compiler would fill the old one all the same.
        self.steps.clear()

    def move(self, plan: Plan) -> Move | None:
        """Say how far what was found moves the state; None where it does not."""
        if self.found is None or not plan.update:
            return None
        # All layers of a model are of one kind.
        observe = self.layers[self.found.calls[0][0]].observe
        return self.found.move(plan, self.memory, self.start_2SN, observe)


class AdaptiveNorm(_NormBase):
    """A layer in the place of a BatchNorm, with the same parameters and buffers under the same names.

    Subclasses say which statistics the features are normalised with. `train()` and `eval()` change nothing.
    """

    least_variance: ClassVar[float] = 0.0
    """The least that its state may have in the place of a variance."""
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

    def settle(self, name: str, *, first: bool) -> None:
        """Take a place in the model, and start from the source statistics."""
        self.name, self.first = name, first
        self.context.layers[name] = self
        self.context.memory.least_variance = self.least_variance
        self.context.memory.start(name, *self.starting_state())

    @abstractmethod
    def estimate(self, positions: int, plan: Any, call: Call) -> Estimate:
        """Say how rows of so many positions find what they are normalised with.

        That is statistics of each row in turn, (R, C), of each sample, (B, C), or of all rows alike, (1, C).
        """

    def take_note(self, rows: Stats, stats: Stats, positions: int, plan: Any, call: Call) -> None:
        """Note the step of a call by the statistics of its rows, and by what they are normalised with."""
        if plan.blocks and positions > 1:
            self.note(call, rows, positions=positions)

    @property
    def observe(self) -> Observe | None:
        """What makes the state of all layers out of the statistics of samples; None where it is made of these."""
        return None

    def forward(self, x: Tensor) -> Tensor:
        """Normalise a batch of rows."""
        if x.dim() not in self.dimensions or x.size(1) != self.num_features:
            raise self._not_its_features(x)
        context, name = self.context, self.name
        if context.paused:
            context.largest_map = max(context.largest_map, self.num_features * positions(x))
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

    def note(
        self,
        call: Call,
        rows: Stats,
        *,
        pooled: Stats | None = None,
        part_S1: Tensor | None = None,
        positions: int = 1,
    ) -> None:
        """Note what a call did; what it changes is computed for all layers at once, after the pass."""
        if torch.is_grad_enabled():
            rows = rows[0].detach(), rows[1].detach()
            pooled = None if pooled is None else (pooled[0].detach(), pooled[1].detach())
        step, plan = Step(call, rows, pooled, part_S1, positions), self.context.plan
        if self.context.brief and plan is not None:
            with torch.no_grad():
                step = step.brief(plan, self.start(call, plan))
        self.context.steps.append(step)

    def look(self, plan: Any) -> Any:
        """Look at what is known of the streams of a pass, for all layers at once; None where there is no need to."""
        return None

    @property
    def kept_source(self) -> bool | None:
        """Whether the last pass had too few values for a variance, and so kept the source; None before the first."""
        return self.context.ran.get(self.name)

    def start(self, call: Call, plan: Plan) -> Stats:
        """Look up the moving statistics of the streams of a pass as it began, (S, C)."""
        context = self.context
        if torch.compiler.is_compiling():
            columns = context.memory.place(call)
            if columns is not None and context.start_2SN is not None:
                # Two tensors for each call would take their time to go into compiled code.
                mean_SC, var_SC = context.start_2SN[:, :, columns].unbind()
                return mean_SC, var_SC
        start = context.starts.get(call)
        return context.memory.read_one(call, plan.slots) if start is None else start

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
        context = self.context
        context.end()
        if context.found is not None and not context.found.spoilt(plan.samples) and (move := context.move(plan)):
            move.commit(context.memory)
        context.begin(None)

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
