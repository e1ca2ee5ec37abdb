"""Means and variances of feature maps, and the normalisation that uses them.

Statistics are one tensor: the means, then the variances. They are float32 whatever the features are, and variances are
biased: divided by the count.

Shapes: 2 for mean and variance, R rows, C channels, P positions, V groups of rows (the samples themselves, then each
view of them), B samples (R = V * B), S streams.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

Estimate = Callable[[Tensor], Tensor]
"""Says what rows of some statistics, (2, R, C), are normalised with; if repeatable, the same when asked again."""
Note = Callable[[Tensor, Tensor], None]
"""Takes note of the statistics of rows, and of what they are normalised with."""
LARGE = 2**20
"""From how many values on it pays to write into a tensor that is there: the system clears new memory page by page."""


def row_statistics(x: Tensor) -> Tensor:
    """Measure each row's own mean and variance per channel over its positions, (R, C, ...) to (2, R, C).

    >>> row_statistics(torch.tensor([[[1.0, 3.0]]]))
    tensor([[[2.]],
    <BLANKLINE>
            [[1.]]])
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
    def forward(ctx: Any, x: Tensor) -> Tensor:
        """Measure, and keep what the gradients need."""
        stats_2RC = _in_any_order(x)
        ctx.save_for_backward(x, stats_2RC[0])
        return stats_2RC

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient_2RC: Tensor) -> Tensor:
        """Go back to the features."""
        x, mean_RC = ctx.saved_tensors
        return _scaled(x, *_of_features(gradient_2RC.to(x.dtype), mean_RC, positions(x)))


def _in_any_order(x: Tensor) -> Tensor:
    if not x.is_contiguous():
        if x.device.type == "cpu" and _channels_last(x):
            return _channels_last_statistics(x)
        x = x.contiguous()
    return measure_natively(x, positions(x))[0].float()


def is_native(x: Tensor) -> bool:
    """Tell whether features are such as torch's own kernels measure and normalise: formulas do for all others."""
    # A compiler is not asked about the order in memory: it would compile again for the next number of rows.
    return not torch.compiler.is_compiling() and x.dtype is torch.float32 and x.is_contiguous()


def is_tracked(*tensors: Tensor | None) -> bool:
    """Tell whether any tensor is part of what gradients are asked for."""
    return any(tensor is not None and tensor.requires_grad for tensor in tensors)


def measure_natively(x: Tensor, positions: int) -> tuple[Tensor, Tensor | None]:
    """Measure the statistics of rows, and where that leaves one over, return a tensor like `x` to write into."""
    rows, channels = x.shape[:2]
    # Group normalisation with a group for each channel measures just this, in a fraction of the time of var_mean; its
    # own answer is not used. It centres before it squares, so a mean of 1e4 costs no digits of a variance of 1.
    spare, mean, inverse_std = torch.native_group_norm(x, None, None, rows, channels, positions, channels, 0.0)
    # A small map is given back at once: the normalisation is faster without it.
    return torch.stack((mean, inverse_std.pow_(-2))), spare if x.numel() >= LARGE else None


def _channels_last_statistics(x: Tensor) -> Tensor:
    # In this order group normalisation on a CPU is slow on maps below 1024 positions, and on larger ones it takes the
    # square of the mean from the mean of squares: a mean of 1e4 then hides a variance of 1.
    positions_RPC = x.movedim(1, -1).flatten(1, -2)
    share_R1P = x.new_full((1, 1, positions(x)), 1 / positions(x)).expand(len(x), -1, -1)
    mean_R1C = torch.bmm(share_R1P, positions_RPC)
    centred_RPC = positions_RPC - mean_R1C
    # A sum of thousands of large values is a little off; that of the centred ones says by how much.
    off_R1C = torch.bmm(share_R1P, centred_RPC)
    var_R1C = torch.bmm(share_R1P, centred_RPC.square_()).addcmul_(off_R1C, off_R1C, value=-1)
    return torch.stack([(mean_R1C + off_R1C)[:, 0], var_R1C[:, 0].clamp_(min=0)]).float()


def positions(x: Tensor) -> int:
    """Count the positions of a row: 1 for plain features, height times width for images."""
    return x.shape[2:].numel()


def by_group(stats_2RC: Tensor, groups: int) -> tuple[Tensor, ...]:
    """Take the statistics of samples, and of each view of them, apart, (2, B, C) each."""
    if groups == 1:
        return (stats_2RC,)
    return stats_2RC.view(2, groups, stats_2RC.shape[1] // groups, stats_2RC.shape[2]).unbind(1)


def pool_views(stats_2RC: Tensor, groups: int) -> Tensor:
    """Pool each sample's rows, (2, R, C) to (2, B, C): the statistics over all positions of the sample and its views.

    All rows have the same number of positions.
    """
    own_2BC, *views = by_group(stats_2RC, groups)
    return _pooled(own_2BC, views)


def _pooled(pooled_2BC: Tensor, views: Sequence[Tensor]) -> Tensor:
    # One after the other, which for the usual one view is far fewer operations than reductions over all.
    for count, view_2BC in enumerate(views, start=2):
        apart_2BC = view_2BC - pooled_2BC
        pooled_2BC = torch.add(pooled_2BC, apart_2BC, alpha=1 / count)
        _add_square_(pooled_2BC, apart_2BC, (count - 1) / count**2)
    return pooled_2BC


def add_views_(mixed_2BC: Tensor, own_2BC: Tensor, views: Sequence[Tensor], m: float) -> None:
    """Add `m` times how far the statistics over samples and their views are from those of the samples alone."""
    if len(views) > 1:
        mixed_2BC.add_(_pooled(own_2BC, views) - own_2BC, alpha=m)
        return
    apart_2BC = views[0] - own_2BC
    mixed_2BC.add_(apart_2BC, alpha=m / 2)
    _add_square_(mixed_2BC, apart_2BC, m / 4)


def _add_square_(stats_2BC: Tensor, apart_2BC: Tensor, part: float) -> None:
    """Add a part of the square of how far means are apart to variances, which have it in them over all positions."""
    apart_BC = apart_2BC[0]
    stats_2BC[1].addcmul_(apart_BC, apart_BC, value=part)


def pool_samples(stats_2BC: Tensor, shares_SB: Tensor, stream_B: Tensor) -> Tensor:
    """Pool the samples of each stream, (2, B, C) to (2, S, C): the statistics over all their positions together.

    `shares_SB` holds the share of each sample in its stream: rows sum to 1, entries outside the stream are 0. The
    variance of the whole is the mean of the variances plus the variance of the means.
    """
    pooled_2SC = torch.bmm(shares_SB.expand(2, -1, -1), stats_2BC)
    apart_BC = stats_2BC[0] - of_samples(pooled_2SC, stream_B)[0]
    pooled_2SC[1].addmm_(shares_SB, apart_BC.square())
    return pooled_2SC


def of_samples(stats_2SC: Tensor, stream_B: Tensor) -> Tensor:
    """Give each sample the statistics of its stream; those of a single stream are everyone's as they are."""
    return stats_2SC if stats_2SC.size(1) == 1 else stats_2SC[:, stream_B]


def mix(start: Tensor, end: Tensor, weight: float | Tensor) -> Tensor:
    """Go from one estimate towards another: `(1 - weight) * start + weight * end`, for mean and variance."""
    return torch.lerp(start, end, weight)


def normalise(
    x: Tensor,
    stats: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
    *,
    groups: int = 1,
) -> Tensor:
    """Return `weight * (x - mean) / sqrt(var + eps) + bias` in the dtype of `x`.

    Statistics are those of each row, (2, R, C), of the rows of a group, which all groups share, (2, B, C), or of all
    rows alike, (2, 1, C); `groups` says of how many groups the rows are.
    """
    dtype = torch.promote_types(x.dtype, torch.float32)
    mean, var = stats.to(dtype)
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
    x: Tensor, stats: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float, *, into: Tensor | None = None
) -> Tensor:
    """Let torch's BatchNorm do it in one pass: to it a group of rows is one row of many channels.

    The answer may be written `into` a tensor that nobody needs any more.
    """
    _, rows, channels = stats.shape
    mean, var = stats.view(2, rows * channels).unbind()
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
        rows_2RC, spare = measure_natively(x, positions(x))
        stats = estimate(rows_2RC)
        note(rows_2RC, stats)
        ctx.save_for_backward(x, weight)
        ctx.eps, ctx.estimate = eps, estimate
        # Not a view of what torch's BatchNorm answers: a model may go on in place, with a ReLU.
        return normalise_natively(x, stats, weight, bias, eps, into=torch.empty_like(x) if spare is None else spare)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """Go back through `y = weight * n + bias` and `n = (x - mean) / sqrt(var + eps)`, and through the estimate."""
        x, weight = ctx.saved_tensors
        rows_2RC = measure_natively(x, positions(x))[0].requires_grad_()
        with torch.enable_grad(), full_precision(x.device):
            stats = ctx.estimate(rows_2RC)
        _, rows, channels = stats.shape
        mean, var = stats.detach().view(2, rows * channels).unbind()
        flat, repeated = x.view(-1, rows * channels, *x.shape[2:]), _for_rows(weight, rows)
        of_x, of_weight, of_bias = ctx.needs_input_grad[:3]
        # To torch's BatchNorm what belongs to a row is a parameter, and its gradients are sums over that row.
        grad_x, sum_of_n, sum_of_1 = torch.ops.aten.native_batch_norm_backward(
            gradient.contiguous().view(flat.shape), flat, repeated, mean, var, None, None, False, ctx.eps,
            [of_x, True, True],
        )  # fmt: skip
        if of_x and stats.requires_grad:
            scale = torch.rsqrt(var + ctx.eps)
            of_n = scale if repeated is None else scale * repeated
            grad_stats = -torch.stack([of_n * sum_of_1, 0.5 * of_n * scale * sum_of_n]).view(stats.shape)
            with full_precision(x.device):
                (grad_rows_2RC,) = torch.autograd.grad(stats, rows_2RC, grad_stats)
            scale_RC, shift_RC = _of_features(grad_rows_2RC, rows_2RC.detach()[0], positions(x))
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


def _of_features(gradient_2RC: Tensor, mean_RC: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Go back through `mean = sum x / P` and `var = sum (x - mean)^2 / P`: to a multiple of x, and something beside."""
    of_mean_RC, of_var_RC = gradient_2RC / count
    scale_RC = 2 * of_var_RC
    return scale_RC, of_mean_RC - scale_RC * mean_RC


def _for_rows(parameter: Tensor | None, rows: int) -> Tensor | None:
    """Repeat a parameter for each row, in float32 as the statistics are."""
    if parameter is None:
        return None
    parameter = parameter if parameter.dtype == torch.float32 else parameter.float()
    return parameter if rows == 1 else torch.cat([parameter] * rows)


def _plain_statistics(x: Tensor) -> Tensor:
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
    return torch.stack([mean_RC + pivot_RC1[:, :, 0], var_RC]).float()


def full_precision(device: torch.device) -> AbstractContextManager[object]:
    """Keep autocast from rounding the algebra of the statistics."""
    if torch.is_autocast_enabled(device.type):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()


def _channels_last(x: Tensor) -> bool:
    """Tell whether the channels of a position lie together in memory, in features that are not contiguous."""
    order = {4: torch.channels_last, 5: torch.channels_last_3d}.get(x.dim())
    return order is not None and x.is_contiguous(memory_format=order)
