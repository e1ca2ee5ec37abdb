"""Means and variances of feature maps, and the normalisation that uses them.

Statistics are two tensors: the means and the variances. They are float32 whatever the features are, and variances are
biased: divided by the count.

Shapes: R rows, C channels, P positions, V groups of rows (the samples themselves, then each view of them), B samples
(R = V * B), S streams.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from math import isfinite
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

Stats = tuple[Tensor, Tensor]
"""Means and variances. Two tensors, not one: putting them together and taking them apart costs as much as mixing."""
Estimate = Callable[[Stats], Stats]
"""Says what rows of some statistics, (R, C), are normalised with; if repeatable, the same when asked again."""
Note = Callable[[Stats, Stats], None]
"""Takes note of the statistics of rows, and of what they are normalised with."""
LARGE = 2**20
"""From how many values on it pays to write into a tensor that is there: the system clears new memory page by page."""


def row_statistics(x: Tensor) -> Stats:
    """Measure each row's own mean and variance per channel over its positions, (R, C, ...) to (R, C).

    >>> row_statistics(torch.tensor([[[1.0, 3.0]]]))
    (tensor([[2.]]), tensor([[1.]]))
    """
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    if torch.compiler.is_compiling():
        return _plain_statistics(wide)
    if torch.is_grad_enabled() and wide.requires_grad:
        return RowStatistics.apply(wide)  # type: ignore[no-untyped-call,no-any-return]
    return _in_any_order(wide)


class RowStatistics(torch.autograd.Function):
    """Statistics of rows with gradients, which need the features and their means alone.

    Features are kept for the normalisation's gradients anyway; the formulas as they stand would keep a second map.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Stats:
        """Measure, and keep what the gradients need."""
        mean_RC, var_RC = _in_any_order(x)
        ctx.save_for_backward(x, mean_RC)
        return mean_RC, var_RC

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_mean_RC: Tensor, of_var_RC: Tensor) -> Tensor:
        """Go back to the features."""
        x, mean_RC = ctx.saved_tensors
        return _scaled(x, *_of_features(of_mean_RC.to(x.dtype), of_var_RC.to(x.dtype), mean_RC, positions(x)))


def _in_any_order(x: Tensor) -> Stats:
    if not x.is_contiguous():
        if x.device.type == "cpu" and _channels_last(x):
            return _channels_last_statistics(x)
        x = x.contiguous()
    (mean_RC, var_RC), _ = measure_natively(x, positions(x))
    return mean_RC.float(), var_RC.float()


def is_native(x: Tensor) -> bool:
    """Tell whether features are such as torch's own kernels measure and normalise: formulas do for all others."""
    # A compiler is not asked about the order in memory: it would compile again for the next number of rows.
    return not torch.compiler.is_compiling() and x.dtype is torch.float32 and x.is_contiguous()


def is_tracked(*tensors: Tensor | None) -> bool:
    """Tell whether any tensor is part of what gradients are asked for."""
    return any(tensor is not None and tensor.requires_grad for tensor in tensors)


def measure_natively(x: Tensor, positions: int) -> tuple[Stats, Tensor | None]:
    """Measure the statistics of rows, and where that leaves one over, return a tensor like `x` to write into."""
    rows, channels = x.shape[:2]
    # Group normalisation with a group for each channel measures just this, in a fraction of the time of var_mean; its
    # own answer is not used. It centres before it squares, so a mean of 1e4 costs no digits of a variance of 1.
    spare, mean, inverse_std = torch.native_group_norm(x, None, None, rows, channels, positions, channels, 0.0)
    # A small map is given back at once: the normalisation is faster without it.
    return (mean, inverse_std.pow_(-2)), spare if x.numel() >= LARGE else None


def _channels_last_statistics(x: Tensor) -> Stats:
    # In this order group normalisation on a CPU is slow on maps below 1024 positions, and on larger ones it takes the
    # square of the mean from the mean of squares: a mean of 1e4 then hides a variance of 1.
    positions_RPC = x.movedim(1, -1).flatten(1, -2)
    share_R1P = x.new_full((1, 1, positions(x)), 1 / positions(x)).expand(len(x), -1, -1)
    mean_R1C = torch.bmm(share_R1P, positions_RPC)
    centred_RPC = positions_RPC - mean_R1C
    # A sum of thousands of large values is a little off; that of the centred ones says by how much.
    off_R1C = torch.bmm(share_R1P, centred_RPC)
    var_R1C = torch.bmm(share_R1P, centred_RPC.square_()).addcmul_(off_R1C, off_R1C, value=-1)
    return (mean_R1C + off_R1C)[:, 0].float(), var_R1C[:, 0].clamp_(min=0).float()


def positions(x: Tensor) -> int:
    """Count the positions of a row: 1 for plain features, height times width for images."""
    return x.shape[2:].numel()


def by_group(stats: Stats, groups: int) -> list[Stats]:
    """Take the statistics of samples, and of each view of them, apart, (R, C) to (B, C) each."""
    if groups == 1:
        return [stats]
    sizes = [stats[0].shape[0] // groups] * groups
    return list(zip(stats[0].split_with_sizes(sizes), stats[1].split_with_sizes(sizes), strict=True))


def pool_views(stats: Stats, groups: int) -> Stats:
    """Pool each sample's rows, (R, C) to (B, C): the statistics over all positions of the sample and its views.

    All rows have the same number of positions.
    """
    own, *views = by_group(stats, groups)
    return _pooled(own, views)


def _pooled(pooled: Stats, views: Sequence[Stats]) -> Stats:
    # One after the other, which for the usual one view is far fewer operations than reductions over all.
    for count, (mean_BC, var_BC) in enumerate(views, start=2):
        apart_BC = mean_BC - pooled[0]
        pooled = (
            torch.add(pooled[0], apart_BC, alpha=1 / count),
            torch.lerp(pooled[1], var_BC, 1 / count).addcmul_(apart_BC, apart_BC, value=(count - 1) / count**2),
        )
    return pooled


def add_views_(mixed: Stats, own: Stats, views: Sequence[Stats], m: float) -> None:
    """Add `m` times how far the statistics over samples and their views are from those of the samples alone."""
    if len(views) > 1:
        for each, all_BC, own_BC in zip(mixed, _pooled(own, views), own, strict=True):
            each.add_(all_BC - own_BC, alpha=m)
        return
    (mean_BC, var_BC), apart_BC = mixed, views[0][0] - own[0]
    mean_BC.add_(apart_BC, alpha=m / 2)
    # Over all positions the variance has how far the means are apart in it too.
    var_BC.add_(views[0][1] - own[1], alpha=m / 2).addcmul_(apart_BC, apart_BC, value=m / 4)


def pool_samples(stats: Stats, shares_SB: Tensor, stream_B: Tensor) -> Stats:
    """Pool the samples of each stream, (B, C) to (S, C): the statistics over all their positions together.

    `shares_SB` holds the share of each sample in its stream: rows sum to 1, entries outside the stream are 0. The
    variance of the whole is the mean of the variances plus the variance of the means.
    """
    mean_BC, var_BC = stats
    mean_SC = torch.mm(shares_SB, mean_BC)
    apart_BC = mean_BC - of_samples(mean_SC, stream_B)
    return mean_SC, torch.mm(shares_SB, torch.addcmul(var_BC, apart_BC, apart_BC))


def of_samples(stat_SC: Tensor, stream_B: Tensor) -> Tensor:
    """Give each sample what its stream has; what a single stream has is everyone's as it is."""
    return stat_SC if stat_SC.size(-2) == 1 else stat_SC[..., stream_B, :]


def mix(start: Stats, end: Stats, weight: float | Tensor) -> Stats:
    """Go from one estimate towards another: `(1 - weight) * start + weight * end`, for mean and variance."""
    return torch.lerp(start[0], end[0], weight), torch.lerp(start[1], end[1], weight)


def normalise(
    x: Tensor,
    stats: Stats,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
    *,
    groups: int = 1,
) -> Tensor:
    """Return `weight * (x - mean) / sqrt(var + eps) + bias` in the dtype of `x`.

    Statistics are those of each row, (R, C), of the rows of a group, which all groups share, (B, C), or of all rows
    alike, (1, C); `groups` says of how many groups the rows are.
    """
    dtype = torch.promote_types(x.dtype, torch.float32)
    mean, var = stats[0].to(dtype), stats[1].to(dtype)
    scale = torch.rsqrt(var + eps)
    scale = scale if weight is None else scale * weight.to(dtype)
    shift = -mean * scale if bias is None else torch.addcmul(bias.to(dtype), mean, scale, value=-1)
    return _scaled(x.to(dtype), scale, shift, groups).to(x.dtype)


def _scaled(x: Tensor, scale: Tensor, shift: Tensor, groups: int = 1) -> Tensor:
    """Return `scale * x + shift` for each channel of each row, or of each row of a group, the same in all groups."""
    repeats = groups if scale.shape[0] not in (1, x.shape[0]) else 1
    if repeats > 1 or torch.compiler.is_compiling():
        # Not by grouping the rows of x: a compiler would divide by the groups again for every value, and take the
        # number of rows for a formula that is longer in every layer, which it thinks about for minutes. What is put
        # together it computes once, where it would take roots again for every value.
        both = torch.cat([scale] * repeats + [shift] * repeats)
        rows = scale.shape[0] * repeats
        scale, shift = both[:rows], both[rows:]
    shape = scale.shape + (1,) * (x.dim() - 2)
    return torch.addcmul(shift.view(shape), x, scale.view(shape))


def normalise_natively(
    x: Tensor, stats: Stats, weight: Tensor | None, bias: Tensor | None, eps: float, *, into: Tensor | None = None
) -> Tensor:
    """Let torch's BatchNorm do it in one pass: to it a group of rows is one row of many channels.

    The answer may be written `into` a tensor that nobody needs any more.
    """
    rows, channels = stats[0].shape
    mean, var = stats[0].view(-1), stats[1].view(-1)
    if rows > 1 or (weight is not None and weight.dtype is not torch.float32):
        weight, bias = _for_rows(weight, rows), _for_rows(bias, rows)
    flat = x if rows == 1 else x.view(-1, rows * channels, *x.shape[2:])
    if into is None:
        # Not torch.batch_norm: it calls this by a detour.
        y = torch.native_batch_norm(flat, weight, bias, mean, var, False, 0.0, eps)[0]
        return y if rows == 1 else y.view(x.shape)
    nothing = x.new_empty(0)
    torch.ops.aten.native_batch_norm.out(
        flat,
        weight,
        bias,
        mean,
        var,
        False,
        0.0,
        eps,
        out=into.view(flat.shape),
        save_mean=nothing,
        save_invstd=nothing,
    )
    return into


class Adaptation(torch.autograd.Function):
    """Measure, estimate and normalise with gradients, which keep the features and the parameters alone.

    What is made of the statistics of each row is made again for the gradients: kept, it would be more than TENT keeps.
    """

    @staticmethod
    def forward(  # noqa: PLR0917 - autograd passes no names
        ctx: Any, x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float, estimate: Estimate, note: Note
    ) -> Tensor:
        """Normalise with what is estimated from the statistics of the rows, and note both."""
        rows, spare = measure_natively(x, positions(x))
        stats = estimate(rows)
        note(rows, stats)
        ctx.save_for_backward(x, weight)
        ctx.eps, ctx.estimate = eps, estimate
        # Not a view of what torch's BatchNorm answers: a model may go on in place, with a ReLU.
        return normalise_natively(x, stats, weight, bias, eps, into=torch.empty_like(x) if spare is None else spare)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """Go back through `y = weight * n + bias` and `n = (x - mean) / sqrt(var + eps)`, and through the estimate."""
        x, weight = ctx.saved_tensors
        own = measure_natively(x, positions(x))[0]
        with torch.enable_grad(), full_precision(x.device):
            stats = ctx.estimate((own[0].requires_grad_(), own[1].requires_grad_()))
        rows, channels = stats[0].shape
        mean, var = (each.detach().view(-1) for each in stats)
        flat, repeated = x.view(-1, rows * channels, *x.shape[2:]), _for_rows(weight, rows)
        of_x, of_weight, of_bias = ctx.needs_input_grad[:3]
        # To torch's BatchNorm what belongs to a row is a parameter, and its gradients are sums over that row.
        grad_x, sum_of_n, sum_of_1 = torch.ops.aten.native_batch_norm_backward(
            gradient.contiguous().view(flat.shape), flat, repeated, mean, var, None, None, False, ctx.eps,
            [of_x, True, True],
        )  # fmt: skip
        if of_x and is_tracked(*stats):
            scale = torch.rsqrt(var + ctx.eps)
            of_n = scale if repeated is None else scale * repeated
            of_stats = (-of_n * sum_of_1).view(rows, channels), (-0.5 * of_n * scale * sum_of_n).view(rows, channels)
            tracked = [(each, of_each) for each, of_each in zip(stats, of_stats, strict=True) if each.requires_grad]
            outputs, gradients = zip(*tracked, strict=True)
            with full_precision(x.device):
                of_mean, of_var = torch.autograd.grad(
                    outputs, own, gradients, allow_unused=True, materialize_grads=True
                )
            scale_RC, shift_RC = _of_features(of_mean, of_var, own[0].detach(), positions(x))
            shape = scale_RC.shape + (1,) * (x.dim() - 2)
            grad_x = grad_x.view(x.shape).addcmul_(x, scale_RC.view(shape)).add_(shift_RC.view(shape))
        return (
            grad_x.view(x.shape) if of_x else None,
            sum_of_n.view(rows, channels).sum(0) if of_weight else None,
            sum_of_1.view(rows, channels).sum(0) if of_bias else None,
            None,
            None,
            None,
        )


def _of_features(of_mean_RC: Tensor, of_var_RC: Tensor, mean_RC: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Go back through `mean = sum x / P` and `var = sum (x - mean)^2 / P`: to a multiple of x, and something beside."""
    scale_RC = of_var_RC * (2 / count)
    return scale_RC, torch.addcmul(of_mean_RC / count, scale_RC, mean_RC, value=-1)


def _for_rows(parameter: Tensor | None, rows: int) -> Tensor | None:
    """Repeat a parameter for each row, in float32 as the statistics are."""
    if parameter is None:
        return None
    parameter = parameter if parameter.dtype == torch.float32 else parameter.float()
    return parameter if rows == 1 else torch.cat([parameter] * rows)


def _plain_statistics(x: Tensor) -> Stats:
    """Measure by formulas, in one reading, which a compiler puts together with what comes before and after."""
    positions_RCP = x.flatten(2) if x.dim() > 2 else x.unsqueeze(2)
    count = positions_RCP.shape[2]
    # Any value of a map is within sqrt(count) deviations of its mean: squares of differences from it lose few digits.
    pivot_RC1 = positions_RCP[:, :, :1].detach()
    # Four sums side by side: each addition would otherwise wait for the one before it.
    lanes = 4 if count % 4 == 0 else 1
    apart_RCLP = (positions_RCP - pivot_RC1).view(*x.shape[:2], lanes, count // lanes)
    mean_RC = apart_RCLP.sum(2).sum(2) / count
    square_RC = apart_RCLP.square().sum(2).sum(2) / count
    var_RC = (square_RC - mean_RC.square()).clamp(min=0)
    return (mean_RC + pivot_RC1[:, :, 0]).float(), var_RC.float()


def sums_up(values: Tensor) -> bool:
    """Tell in one pass over memory that all values are finite; of very large ones it may not know."""
    return isfinite(values.sum().item())


def full_precision(device: torch.device) -> AbstractContextManager[object]:
    """Keep autocast from rounding the algebra of the statistics."""
    if torch.is_autocast_enabled(device.type):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()


def _channels_last(x: Tensor) -> bool:
    """Tell whether the channels of a position lie together in memory, in features that are not contiguous."""
    order = {4: torch.channels_last, 5: torch.channels_last_3d}.get(x.dim())
    return order is not None and x.is_contiguous(memory_format=order)
