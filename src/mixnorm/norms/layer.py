"""What all adapting layers share: they stand in for a BatchNorm, keep its names, and hold its moving statistics."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm, _NormBase

from mixnorm.errors import InputError, ModelError
from mixnorm.norms.memory import Memory, Slots
from mixnorm.norms.plan import Plan, Rows
from mixnorm.norms.statistics import normalise

DIMENSIONS: dict[type[_BatchNorm], tuple[int, ...]] = {
    nn.BatchNorm1d: (2, 3),
    nn.BatchNorm2d: (4,),
    nn.BatchNorm3d: (5,),
    nn.SyncBatchNorm: (2, 3, 4, 5),
}
"""The kinds of BatchNorm that can be replaced, and the dimensions of the features they take."""


@dataclass(frozen=True)
class Step:
    """What one call of a layer did: kept apart until the whole forward pass has succeeded."""

    memory: Memory
    call: int
    slots: Slots
    by_2SC: Tensor | None
    """How far the statistics of the streams move; None where they do not."""
    shared: Tensor
    """Statistics that several samples had a part in: finite unless a sample spoils them."""
    rows_2RC: Tensor
    """The statistics of each row, to find that sample."""

    def commit(self) -> None:
        """Make the step part of the layer's state."""
        if self.by_2SC is not None:
            self.memory.move(self.call, self.slots, self.by_2SC)

    def finite(self) -> bool:
        """Tell whether no sample has spoilt what others share."""
        return bool(self.shared.isfinite().all())

    def culprits(self, samples: int) -> list[int]:
        """Find the samples that spoil what others share: those that are not finite, else the one of largest values."""
        extent_B = self.rows_2RC.abs().amax((0, 2)).view(-1, samples).amax(0)
        spoilt = extent_B.isfinite().logical_not().nonzero().flatten().tolist()
        return spoilt or [int(extent_B.argmax())]


@dataclass
class Context:
    """What the layers of one model share: the forward pass under way."""

    make_plan: Callable[[Rows, torch.device, bool], Plan]
    groups: int = 1
    """The groups of rows of a pass with no plan: the samples, and each view of them."""
    standalone: bool = True
    """Whether the layers may be called with no plan: then each call is a batch of the one default stream."""
    paused: bool = False
    plan: Plan | None = None
    calls: Counter[int] = field(default_factory=Counter)
    """How often each layer has been called in the pass."""
    steps: list[Step] = field(default_factory=list)
    """What the calls did, in their order."""

    def begin(self, plan: Plan | None) -> None:
        """Begin a pass, or with no plan leave it, forgetting what was under way."""
        self.plan, self.calls, self.steps = plan, Counter(), []


class AdaptiveNorm(_NormBase):
    """A layer in the place of a BatchNorm, with the same parameters and buffers under the same names.

    Subclasses say which statistics the features are normalised with. `train()` and `eval()` change nothing.
    """

    def __init__(self, batchnorm: _BatchNorm, context: Context) -> None:
        super().__init__(1, batchnorm.eps, batchnorm.momentum, batchnorm.affine, batchnorm.track_running_stats)
        self.num_features = batchnorm.num_features
        self.weight, self.bias = batchnorm.weight, batchnorm.bias
        self.running_mean, self.running_var = batchnorm.running_mean, batchnorm.running_var
        self.num_batches_tracked = batchnorm.num_batches_tracked
        self.training = batchnorm.training
        self.kind = type(batchnorm)
        self.name = ""
        """Where the layer stands in the model, for messages."""
        self.context = context
        self.memory = Memory(*self._running_statistics())
        self.kept_source: bool | None = None
        """Whether the last call had too few values for a variance, and so kept the source; None before the first."""

    @abstractmethod
    def estimate(self, x: Tensor, plan: Any, call: int) -> Tensor:
        """Say which statistics to normalise the rows of `x` with, (2, R, C) or (2, 1, C), and note the step."""

    def forward(self, x: Tensor) -> Tensor:
        """Normalise a batch of rows."""
        self._check_features(x)
        if self.context.paused:
            return self._source_norm(x)
        plan = self.context.plan or self._plan_alone(x)
        if x.shape[0] != plan.rows.count:
            raise InputError(
                f"layer {self.name!r} got {x.shape[0]} rows in a pass of {plan.rows.count}: row i must belong to "
                f"sample i in every layer; leave this one as it is with adapt(..., keep=[{self.name!r}])"
            )
        self.memory.to(x.device)
        call = self.context.calls[id(self)]
        self.context.calls[id(self)] += 1
        with _full_precision(x.device):
            y = normalise(x, self.estimate(x, plan, call), self.weight, self.bias, self.eps)
        if self.context.plan is None:
            self._commit_alone()
        return y

    def batchnorm(self, slot: int) -> _BatchNorm:
        """Make an ordinary BatchNorm with the moving statistics of a slot, or their mean where it has several calls."""
        plain = self.kind(self.num_features, self.eps, self.momentum, self.affine)
        plain.to(device=self.memory.device, dtype=self._running_statistics()[0].dtype)
        if self.bias is None:
            plain.bias = None
        tables = list(self.memory.export([slot]).values())
        adapted = self.state_dict()
        if tables:
            adapted["running_mean"], adapted["running_var"] = torch.cat(tables, dim=1).mean(1)
        plain.load_state_dict(adapted)
        return plain.train(self.training)

    def _plan_alone(self, x: Tensor) -> Plan:
        if not self.context.standalone:
            raise ModelError("call the adapted model itself, not the model inside it: only it knows views and streams")
        return self.context.make_plan(
            Rows.of([0] * (len(x) // self.context.groups), self.context.groups), x.device, True
        )

    def _commit_alone(self) -> None:
        for step in self.context.steps:
            if step.finite():
                step.commit()
        self.context.begin(None)

    def _source_norm(self, x: Tensor) -> Tensor:
        return F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, False, 0.0, self.eps)

    def _running_statistics(self) -> tuple[Tensor, Tensor]:
        if self.running_mean is None or self.running_var is None:
            raise ModelError(f"a {self.kind.__name__} without running statistics has nothing to start from")
        return self.running_mean, self.running_var

    def _check_features(self, x: Tensor) -> None:
        dimensions = DIMENSIONS[self.kind]
        if x.dim() not in dimensions or x.shape[1] != self.num_features:
            raise InputError(
                f"layer {self.name!r}, a {self.kind.__name__} of {self.num_features} channels, got features of shape "
                f"{tuple(x.shape)}; it takes {' or '.join(map(str, dimensions))} dimensions, (rows, channels, ...)"
            )

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        super()._load_from_state_dict(*args, **kwargs)
        # New source statistics: the moving ones start again from them.
        self.memory = Memory(*self._running_statistics())


def _full_precision(device: torch.device) -> AbstractContextManager[object]:
    """Keep autocast from rounding the algebra of the statistics."""
    if torch.is_autocast_enabled(device.type):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()
