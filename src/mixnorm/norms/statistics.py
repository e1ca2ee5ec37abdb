"""Means and variances of feature maps, and the normalisation that uses them.

Shapes: R rows, C channels, V views of each sample (the sample itself is view 0), B samples, S streams; R = V * B.
Statistics are float32 whatever the features are, and variances are biased: divided by the count.
"""

from typing import NamedTuple

import torch
from torch import Tensor


class Statistics(NamedTuple):
    """A mean and a variance for each channel, with the same leading dimensions."""

    mean: Tensor
    var: Tensor

    def at(self, index: Tensor | int) -> "Statistics":
        """Pick entries of the leading dimension."""
        return Statistics(self.mean[index], self.var[index])

    def detach(self) -> "Statistics":
        """Cut the statistics off the graph of the features they come from."""
        return Statistics(self.mean.detach(), self.var.detach())


def row_statistics(x: Tensor) -> Statistics:
    """Measure each row's own mean and variance per channel over its positions, (R, C, ...) to (R, C).

    >>> row_statistics(torch.tensor([[[1.0, 3.0]]]))
    Statistics(mean=tensor([[2.]]), var=tensor([[1.]]))
    """
    # var_mean centres before it squares, so a mean of 1e4 costs no digits of a variance of 1.
    positions_RCP = x.flatten(2) if x.dim() > 2 else x.unsqueeze(2)
    wide = positions_RCP.to(torch.promote_types(x.dtype, torch.float32))
    var, mean = torch.var_mean(wide, dim=2, correction=0)
    return Statistics(mean.float(), var.float())


def pool_views(stats_RC: Statistics, views: int) -> Statistics:
    """Pool each sample's rows, (R, C) to (B, C): the statistics over all positions of the sample and its views.

    All rows have the same number of positions, so the variance of the whole is the mean of the variances plus the
    variance of the means.
    """
    if views == 1:
        return stats_RC
    mean_VBC, var_VBC = (stat.view(views, -1, stat.shape[1]) for stat in stats_RC)
    return Statistics(mean_VBC.mean(0), var_VBC.mean(0) + mean_VBC.var(0, correction=0))


def pool_samples(stats_BC: Statistics, shares_SB: Tensor, stream_B: Tensor) -> Statistics:
    """Pool the samples of each stream, (B, C) to (S, C): the statistics over all their positions together.

    `shares_SB` holds the share of each sample in its stream: rows sum to 1, entries outside the stream are 0.
    """
    mean_SC = shares_SB @ stats_BC.mean
    spread_BC = (stats_BC.mean - mean_SC[stream_B]).square()
    return Statistics(mean_SC, shares_SB @ (stats_BC.var + spread_BC))


def mix(start: Statistics, end: Statistics, weight: float | Tensor) -> Statistics:
    """Go from one estimate towards another: `(1 - weight) * start + weight * end`, for mean and variance."""
    return Statistics(*(torch.lerp(a, b, weight) for a, b in zip(start, end, strict=True)))


def normalise(x: Tensor, stats: Statistics, weight: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
    """Return `weight * (x - mean) / sqrt(var + eps) + bias` in the dtype of `x`; statistics are (R, C) or (1, C)."""
    dtype = torch.promote_types(x.dtype, torch.float32)
    scale = torch.rsqrt(stats.var.to(dtype) + eps)
    if weight is not None:
        scale = scale * weight
    shift = -stats.mean.to(dtype) * scale
    if bias is not None:
        shift = shift + bias
    shape = scale.shape + (1,) * (x.dim() - 2)
    return torch.addcmul(shift.view(shape), x.to(dtype), scale.view(shape)).to(x.dtype)
