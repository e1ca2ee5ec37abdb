"""Means and variances of feature maps, and the normalisation that uses them.

Statistics are one tensor: the means, then the variances. They are float32 whatever the features are, and variances are
biased: divided by the count.

Shapes: 2 for mean and variance, R rows, C channels, P positions, V groups of rows (the samples themselves, then each
view of them), B samples (R = V * B), S streams.
"""

import torch
from torch import Tensor


def row_statistics(x: Tensor) -> Tensor:
    """Measure each row's own mean and variance per channel over its positions, (R, C, ...) to (2, R, C).

    >>> row_statistics(torch.tensor([[[1.0, 3.0]]]))
    tensor([[[2.]],
    <BLANKLINE>
            [[1.]]])
    """
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    if _tracked(wide):
        return _differentiable_statistics(wide)
    # Group normalisation with a group for each channel measures just this, in a fraction of the time of var_mean; its
    # own answer is not used. It centres before it squares, so a mean of 1e4 costs no digits of a variance of 1.
    rows, channels = x.shape[:2]
    _, mean, inverse_std = torch.native_group_norm(
        _dense(wide), None, None, rows, channels, positions(x), channels, 0.0
    )
    return torch.stack([mean, inverse_std.pow(-2)]).view(2, rows, channels).float()


def positions(x: Tensor) -> int:
    """Count the positions of a row: 1 for plain features, height times width for images."""
    return x.shape[2:].numel()


def pool_views(stats_2RC: Tensor, groups: int) -> Tensor:
    """Pool each sample's rows, (2, R, C) to (2, B, C): the statistics over all positions of the sample and its views.

    All rows have the same number of positions, so the variance of the whole is the mean of the variances plus the
    variance of the means.
    """
    if groups == 1:
        return stats_2RC
    stats_2VBC = stats_2RC.view(2, groups, -1, stats_2RC.shape[2])
    mean_VBC, var_VBC = stats_2VBC
    return torch.stack([mean_VBC.mean(0), var_VBC.mean(0) + mean_VBC.var(0, correction=0)])


def pool_samples(stats_2BC: Tensor, shares_SB: Tensor, stream_B: Tensor) -> Tensor:
    """Pool the samples of each stream, (2, B, C) to (2, S, C): the statistics over all their positions together.

    `shares_SB` holds the share of each sample in its stream: rows sum to 1, entries outside the stream are 0.
    """
    mean_BC, var_BC = stats_2BC
    mean_SC = shares_SB @ mean_BC
    return torch.stack([mean_SC, shares_SB @ (var_BC + (mean_BC - mean_SC[stream_B]).square())])


def mix(start: Tensor, end: Tensor, weight: float | Tensor) -> Tensor:
    """Go from one estimate towards another: `(1 - weight) * start + weight * end`, for mean and variance."""
    return torch.lerp(start, end, weight)


def normalise(x: Tensor, stats: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
    """Return `weight * (x - mean) / sqrt(var + eps) + bias` in the dtype of `x`; statistics are (2, R or 1, C)."""
    dtype = torch.promote_types(x.dtype, torch.float32)
    stats = stats.to(dtype)
    weight, bias = (None if parameter is None else parameter.to(dtype) for parameter in (weight, bias))
    if x.dtype == dtype and x.is_contiguous() and not _tracked(x, stats, weight, bias):
        return _normalise_natively(x, stats, weight, bias, eps)
    mean, var = stats
    scale = torch.rsqrt(var + eps)
    scale = scale if weight is None else scale * weight
    shift = -mean * scale
    shift = shift if bias is None else shift + bias
    shape = scale.shape + (1,) * (x.dim() - 2)
    return torch.addcmul(shift.view(shape), x.to(dtype), scale.view(shape)).to(x.dtype)


def _normalise_natively(x: Tensor, stats: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
    """Let torch's BatchNorm do it in one pass: rows with statistics of their own are channels of a single row."""
    rows = stats.shape[1]
    mean, var = stats.flatten(1)
    if rows == 1:
        return torch.batch_norm(x, weight, bias, mean, var, False, 0.0, eps, False)
    weight, bias = (None if parameter is None else parameter.repeat(rows) for parameter in (weight, bias))
    flat = x.view(1, -1, *x.shape[2:])
    return torch.batch_norm(flat, weight, bias, mean, var, False, 0.0, eps, False).view(x.shape)


def _differentiable_statistics(x: Tensor) -> Tensor:
    positions_RCP = x.flatten(2) if x.dim() > 2 else x.unsqueeze(2)
    mean_RC = positions_RCP.mean(2)
    return torch.stack([mean_RC, (positions_RCP - mean_RC[:, :, None]).square().mean(2)]).float()


def _tracked(*tensors: Tensor | None) -> bool:
    """Tell whether gradients will be asked for."""
    return torch.is_grad_enabled() and any(tensor is not None and tensor.requires_grad for tensor in tensors)


def _dense(x: Tensor) -> Tensor:
    """Bring features into one of the two orders in memory that torch's kernels know."""
    channels_last = x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last)
    return x if channels_last else x.contiguous()
