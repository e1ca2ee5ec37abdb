"""The mixing plan: what one forward pass tells every layer about its rows, computed once and used by all of them.

Shapes: 2 for mean and variance, R rows, B samples, S streams in this batch, C channels.
"""

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from mixnorm.norms.memory import Slots
from mixnorm.norms.statistics import Stats, add_views_, by_group, mix, of_samples, pool_samples, pool_views

BLOCK = 256
"""How many samples have their moving averages computed at once."""

CACHED = 8
"""How many plans are kept: a stream mostly comes in batches of one size."""


@dataclass(frozen=True)
class Rows:
    """Which sample, view and stream each row belongs to.

    Rows come in groups: the samples themselves, then the first view of each, and so on.
    """

    samples: int
    groups: int
    slots: tuple[int, ...]
    """For each stream of the batch, in order of appearance, where the layers keep its state."""
    stream_of: tuple[int, ...]
    """For each sample, the position of its stream in `slots`."""
    due: tuple[bool, ...]
    """For each stream whether it is looked at after its last sample, by methods that do so from time to time."""

    @classmethod
    def of(cls, slot_of_sample: Sequence[int], groups: int, due: Callable[[int, int], bool] | None = None) -> "Rows":
        """Lay out samples whose streams keep their state in the given slots.

        `due` tells whether a stream is looked at, by its slot and how many samples of it there are; by default it is.

        >>> Rows.of([4, 7, 4], groups=1, due=lambda slot, samples: samples == 2)
        Rows(samples=3, groups=1, slots=(4, 7), stream_of=(0, 1, 0), due=(True, False))
        """
        samples = Counter(slot_of_sample)
        slots = tuple(samples)
        position = {slot: index for index, slot in enumerate(slots)}
        looks = tuple(due is None or due(slot, samples[slot]) for slot in slots)
        return cls(len(slot_of_sample), groups, slots, tuple(position[slot] for slot in slot_of_sample), looks)


@dataclass(frozen=True)
class Plan:
    """The rows of a forward pass and their streams as tensors on the model's device."""

    rows: Rows
    slots: Slots
    """Where the layers keep the state of the streams of the batch."""
    stream_B: Tensor
    """The stream of each sample, as its position among the streams of the batch."""
    stream_R: Tensor
    """The stream of each row."""
    update: bool
    """Whether the pass moves the state; a frozen model, or one with no speed, reads it only."""
    device_type: str
    """The kind of device that it is on."""

    @property
    def groups(self) -> int:
        """The groups of rows: the samples themselves, and each view of them."""
        return self.rows.groups

    @property
    def makes_known(self) -> bool:
        """Whether the pass changes what the next one sees, wherever it changes the state."""
        return True

    @property
    def samples(self) -> int:
        """The number of samples, told by a tensor: a compiled model then takes any number."""
        return self.stream_B.size(0)

    @property
    def count(self) -> int:
        """The number of rows."""
        return self.stream_R.size(0)

    def known(self, alone: bool) -> bool:
        """Tell whether a compiler may rely on it that no sample has another of its stream beside it.

        Several may be `alone` in one batch and not in the next, and are compiled once for both; a single one always is.
        """
        return self.samples == 1 if torch.compiler.is_compiling() else alone

    @abstractmethod
    def advance(self, start_2SC: Tensor, rows_2RC: Tensor) -> Tensor:
        """Say how far the statistics of the streams move, (2, S, C), with those of the rows."""

    def lengths(self) -> list[tuple[Tensor, int]]:
        """List its tensors with each dimension that is as long as the pass has samples or rows."""
        return [(self.stream_B, 0), (self.stream_R, 0)]


@dataclass(frozen=True)
class Block:
    """Consecutive samples of a batch whose moving averages are computed at once."""

    samples: slice
    stream_B: Tensor
    """The stream of each sample, as its position among the streams of the batch."""
    weights_2BB: Tensor
    """What each sample sees of itself and those before it in the block, the same for means and variances."""
    before_2BB: Tensor
    """What it sees of those before it alone."""
    streams: Slots
    """The streams that occur in the block."""
    last: Slots
    """The last sample of each of these: what it sees is what the stream goes on with."""

    def advance(self, start_2SC: Tensor, samples_2BC: Tensor) -> Tensor:
        """Say how far its streams move, (2, streams of the block, C): by what the last sample of each sees."""
        # g + T (s - g), not d g + T s: the weights need not sum to 1 in float32 for a state to stay where it is.
        return torch.bmm(self.weights_2BB[:, self.last], samples_2BC - of_samples(start_2SC, self.stream_B))


@dataclass(frozen=True)
class MovingPlan(Plan):
    """How per-sample moving averages run through a batch, in the order of arrival.

    The update is linear, so sample `b` of a stream that starts at `g` sees `g + sum_k weights[b, k] * (s_k - g)`.
    Blocks keep the weights from growing with the square of the batch.
    """

    blocks: tuple[Block, ...]
    """There is none where nothing moves."""
    tau: float
    m: float
    """How much of what a sample is normalised with is local: over the sample and its views."""
    own_weight: float
    """What a sample's mixture takes of itself: as something local, and by its own update."""
    mixing_BB: Tensor | None
    """What it takes of each sample, where all are in one block and have no views."""
    alone: bool
    """Whether each sample is the only one of its stream, and has no views."""
    still: bool
    """Whether no sample of the pass comes before another of its stream, or none changes anything."""

    @classmethod
    def make(cls, rows: Rows, tau: float, device: torch.device, update: bool, m: float = 0.0) -> "MovingPlan":
        """Make the plan for a moving speed; a pass that does not update has nothing that moves."""
        return _moving_plan(rows, tau, device, update, m)

    def mixed(self, start: Stats, rows: Stats) -> Stats:
        """Mix what each sample sees of the moving statistics, (S, C), with its local ones, (B, C)."""
        if len(self.blocks) > 1:
            mean_BC, var_BC = self.follow(torch.stack(start), torch.stack(rows)[:, : self.samples]).unbind()
            return mix((mean_BC, var_BC), pool_views(rows, self.groups), self.m)
        if self.groups == 1 and self.known(self.alone):
            # Streams are in the order of their samples.
            return mix(start, rows, self.own_weight)
        begin = of_samples(start[0], self.stream_B), of_samples(start[1], self.stream_B)
        if self.mixing_BB is not None:
            return _follow(begin, begin, self.mixing_BB, rows)
        own, *views = by_group(rows, self.groups)
        mixed = mix(begin, own, self.own_weight)
        if views:
            add_views_(mixed, own, views, self.m)
        if not self.blocks or self.known(self.still):
            return mixed
        # What is a sample's own stays out of the product: it rounds differently in another batch.
        return _follow(mixed, begin, self.blocks[0].before_2BB[0], own, 1 - self.own_weight)

    def advance(self, start_2SC: Tensor, rows_2RC: Tensor) -> Tensor:
        """Move with the samples themselves, block by block."""
        samples_2BC = rows_2RC if self.groups == 1 else rows_2RC[:, : self.samples]
        if self.alone:
            return self.tau * (samples_2BC - start_2SC)
        if len(self.blocks) == 1:
            return self.blocks[0].advance(start_2SC, samples_2BC)
        by_2SC = torch.zeros_like(start_2SC)
        for block in self.blocks:
            by_2SC[:, block.streams] += block.advance(start_2SC + by_2SC, samples_2BC[:, block.samples])
        return by_2SC

    def follow(self, start_2SC: Tensor, samples_2BC: Tensor) -> Tensor:
        """Say what each sample sees, (2, B, C), its own update included; gradients do not reach from block to block."""
        if len(self.blocks) == 1:
            begin = of_samples(start_2SC, self.stream_B)
            return torch.baddbmm(begin, self.blocks[0].weights_2BB, samples_2BC - begin)
        by_2SC, seen = torch.zeros_like(start_2SC), []
        for block in self.blocks:
            start, own = start_2SC + by_2SC, samples_2BC[:, block.samples]
            begin = of_samples(start, block.stream_B)
            seen.append(begin + torch.bmm(block.weights_2BB, own - begin))
            by_2SC[:, block.streams] += block.advance(start, own.detach())
        return torch.cat(seen, dim=1)

    def lengths(self) -> list[tuple[Tensor, int]]:
        """Add the weights of samples."""
        each = super().lengths()
        if self.mixing_BB is not None:
            each += [(self.mixing_BB, 0), (self.mixing_BB, 1)]
        for block in self.blocks:
            each += [(block.stream_B, 0), (block.weights_2BB, 1), (block.weights_2BB, 2)]
            each += [(block.before_2BB, 1), (block.before_2BB, 2)]
        return each


def _follow(start: Stats, begin: Stats, weights_BB: Tensor, samples: Stats, part: float = 1) -> Stats:
    """Go from a start as far as the weights say that samples are from where their streams began."""
    return (
        torch.addmm(start[0], weights_BB, samples[0] - begin[0], alpha=part),
        torch.addmm(start[1], weights_BB, samples[1] - begin[1], alpha=part),
    )


@lru_cache(maxsize=CACHED)
@torch.inference_mode(False)
def _moving_plan(rows: Rows, tau: float, device: torch.device, update: bool, m: float) -> MovingPlan:
    update = update and tau > 0
    starts = range(0, rows.samples, BLOCK) if update else ()
    blocks = tuple(_block(rows, start, tau, device) for start in starts)
    return MovingPlan(
        rows=rows,
        slots=_places(rows.slots, device),
        stream_B=_index(rows.stream_of, device),
        update=update,
        device_type=device.type,
        blocks=blocks,
        tau=tau,
        m=m,
        stream_R=_index(rows.stream_of * rows.groups, device),
        own_weight=m + (1 - m) * tau if update else m,
        mixing_BB=_mixing(blocks[0].weights_2BB, m) if len(blocks) == 1 and rows.groups == 1 else None,
        alone=rows.groups == 1 and len(rows.slots) == rows.samples,
        still=not update or len(rows.slots) == rows.samples,
    )


def _mixing(weights_2BB: Tensor, m: float) -> Tensor:
    """Weigh samples for a mixture, (B, B): what each sees of the others, and itself for the rest."""
    return (1 - m) * weights_2BB[0] + m * torch.eye(weights_2BB.shape[1], device=weights_2BB.device)


def _block(rows: Rows, start: int, tau: float, device: torch.device) -> Block:
    streams = rows.stream_of[start : start + BLOCK]
    last = {stream: sample for sample, stream in enumerate(streams)}
    return Block(
        samples=slice(start, start + BLOCK),
        stream_B=_index(streams, device),
        weights_2BB=moving_weights(torch.tensor(streams), tau).to(device).expand(2, -1, -1),
        before_2BB=moving_weights(torch.tensor(streams), tau, own=False).to(device).expand(2, -1, -1),
        streams=_places(sorted(last), device),
        # A single stream's last sample is the block's, however long that is: a compiled model then takes any length.
        last=slice(-1, None) if len(last) == 1 else _index([last[stream] for stream in sorted(last)], device),
    )


@dataclass(frozen=True)
class PoolingPlan(Plan):
    """How the samples of each stream are pooled to batch statistics, and how fast these move the stream's state."""

    m: float
    """How much of what a stream is normalised with is local: over its samples and their views."""
    shares_SB: Tensor
    mixing_SR: Tensor
    """What a stream's mixture takes of each row."""
    kept_S1: Tensor
    """What it takes of the moving statistics as they were."""
    several_S1: Tensor
    """1 for streams with several samples in the batch, 0 for those with one."""
    tau_S1: Tensor
    alone: bool
    """Whether each sample is the only one of its stream."""

    @classmethod
    def make(cls, rows: Rows, tau_max: float, device: torch.device, update: bool, m: float = 0.0) -> "PoolingPlan":
        """Make the plan; `tau = tau_max * 10^(-3/B)` (Algorithm 2), never above 1, with B counted per stream."""
        return _pooling_plan(rows, tau_max, device, update, m)

    def mixed(self, start: Stats, rows: Stats) -> Stats:
        """Mix the moving statistics after the batch's update with the local ones, (S, C), in few operations."""
        if self.groups == 1:
            pooled = self.pool(rows)
            # Nothing is kept with m = 1.
            return pooled if self.m == 1 else mix(pooled, start, self.kept_S1)
        if self.known(self.alone):
            return self._mixed_alone(start, *by_group(rows, self.groups))
        mean_RC, var_RC = rows
        batch_SC = torch.mm(self.shares_SB, mean_RC[: self.samples])
        apart_RC = mean_RC - of_samples(batch_SC, self.stream_R)
        # The variance of the whole is the mean of the variances plus the variance of the means.
        var_RC = torch.addcmul(var_RC, apart_RC, apart_RC)
        mean_SC = torch.addmm(self.kept_S1 * start[0], self.mixing_SR, mean_RC)
        var_SC = torch.addmm(self.kept_S1 * start[1], self.mixing_SR, var_RC)
        if self.m > 0:
            # All rows together are centred on their own mean. The samples' own offsets cancel here: it is m times that.
            drift_SC = torch.mm(self.mixing_SR, apart_RC)
            var_SC.addcmul_(drift_SC, drift_SC, value=-1 / self.m)
        return mean_SC, var_SC

    def lengths(self) -> list[tuple[Tensor, int]]:
        """Add the shares of samples and rows."""
        return [*super().lengths(), (self.shares_SB, 1), (self.mixing_SR, 1)]

    def _mixed_alone(self, start: Stats, own: Stats, *views: Stats) -> Stats:
        """Mix where each sample is the only one of its stream, and has views."""
        mixed = mix(own, start, self.kept_S1)
        add_views_(mixed, own, views, self.m)
        return mixed

    def advance(self, start_2SC: Tensor, rows_2RC: Tensor) -> Tensor:
        """Move towards the statistics of the samples themselves, pooled."""
        mean_BC, var_BC = rows_2RC[:, : self.samples]
        return self.tau_S1 * (torch.stack(self.pool((mean_BC, var_BC))) - start_2SC)

    def pool(self, stats: Stats) -> Stats:
        """Pool the samples of each stream, (S, C)."""
        return stats if self.known(self.alone) else pool_samples(stats, self.shares_SB, self.stream_B)


@lru_cache(maxsize=CACHED)
@torch.inference_mode(False)
def _pooling_plan(rows: Rows, tau_max: float, device: torch.device, update: bool, m: float) -> PoolingPlan:
    stream_B = _index(rows.stream_of, device)
    members_SB = torch.arange(len(rows.slots), device=device)[:, None] == stream_B
    sizes_S1 = members_SB.sum(1, keepdim=True).float()
    shares_SB, tau_S1 = members_SB / sizes_S1, (tau_max * 10 ** (-3 / sizes_S1)).clamp(max=1)
    moved_S1, local_SB = tau_S1 if update else torch.zeros_like(tau_S1), m / rows.groups * shares_SB
    mixing_SR = torch.cat([(1 - m) * moved_S1 * shares_SB + local_SB] + [local_SB] * (rows.groups - 1), dim=1)
    return PoolingPlan(
        rows=rows,
        slots=_places(rows.slots, device),
        stream_B=stream_B,
        update=update and tau_max > 0,
        device_type=device.type,
        m=m,
        stream_R=_index(rows.stream_of * rows.groups, device),
        shares_SB=shares_SB,
        mixing_SR=mixing_SR,
        kept_S1=(1 - m) * (1 - moved_S1),
        several_S1=(sizes_S1 > 1).float(),
        tau_S1=tau_S1,
        alone=len(rows.slots) == rows.samples,
    )


def any_length(rows: Tensor, plan: Plan) -> None:
    """Tell a compiler that the next pass may have any number of samples."""
    for tensor, dimension in [(rows, 0), *plan.lengths()]:
        torch._dynamo.maybe_mark_dynamic(tensor, dimension)


def moving_weights(stream_B: Tensor, tau: float, *, own: bool = True) -> Tensor:
    """Weigh what sample `b` sees of sample `k`: `tau * (1-tau)^(samples of the stream after k, up to b)`.

    It is zero for later samples and for those of other streams. Without its `own` update a sample sees what its stream
    had before it came.

    >>> moving_weights(torch.tensor([0, 1, 0]), tau=0.5)
    tensor([[0.5000, 0.0000, 0.0000],
            [0.0000, 0.5000, 0.0000],
            [0.2500, 0.0000, 0.5000]])
    >>> moving_weights(torch.tensor([0, 1, 0]), tau=0.5, own=False)
    tensor([[0.0000, 0.0000, 0.0000],
            [0.0000, 0.0000, 0.0000],
            [0.5000, 0.0000, 0.0000]])
    """
    arrived_BB = (stream_B[:, None] == stream_B).tril(0 if own else -1)
    # The n-th sample of its stream has n arrivals in its row, itself included.
    position_B = arrived_BB.sum(1)
    age_BB = (position_B[:, None] - position_B - (0 if own else 1)).clamp(min=0)
    # In float64: powers of a rounded 1 - tau would be off by as many roundings as there are samples.
    return (arrived_BB * (tau * (1 - tau) ** age_BB.double())).float()


def _places(values: Sequence[int], device: torch.device) -> Slots:
    return slice(values[0], values[0] + 1) if len(values) == 1 else _index(values, device)


def _index(values: Sequence[int], device: torch.device) -> Tensor:
    return torch.tensor(values, dtype=torch.long, device=device)
