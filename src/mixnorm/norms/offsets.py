"""The source statistics of a layer, and what rows show beside them: offsets of means, and ratios of variances.

Shapes: 2 for mean and variance, R rows, B samples, C channels of a layer, L layers, N channels of all of them side by
side.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import torch
from torch import Tensor

from mixnorm.norms.side_by_side import SideBySide
from mixnorm.norms.statistics import Stats


@dataclass(frozen=True)
class Source:
    """The source statistics of a layer, and what is shown beside them.

    What a row shows are offsets of its means, in units of what content alone shows, and ratios of its variances.
    """

    origin_21C: Tensor
    unit_21C: Tensor
    per_unit_21C: Tensor
    content: float
    """What content alone shows: the mean square of offsets of means, in source variances."""
    per_root: Tensor
    """One over the deviation of logarithms of variances that content alone shows."""
    share_2C1: Tensor
    """Times squares of offsets it is their mean over the channels, in units of what content alone shows."""
    itself_211: Tensor
    """What the source itself shows: no offset, and a ratio of 1."""
    count_211: Tensor
    """What any row adds to what is known of its stream: 1, and how many positions its maps have."""

    @classmethod
    def of(
        cls,
        mean_C: Tensor,
        var_C: Tensor,
        eps: float,
        content: float,
        spread: float,
        *,
        positions: int = 1,
    ) -> "Source":
        """Look at statistics in float32, whatever the model's dtype is."""
        var_C = var_C.detach().float() + eps
        mean_C = mean_C.detach().float()
        unit_21C = torch.stack([(content * var_C).sqrt(), var_C])[:, None]
        origin_21C = torch.stack([mean_C, torch.full_like(mean_C, -eps)])[:, None]
        count_211 = torch.stack([mean_C.new_ones(1, 1), mean_C.new_full((1, 1), positions)])
        return cls(
            origin_21C=origin_21C,
            unit_21C=unit_21C,
            per_unit_21C=unit_21C.reciprocal(),
            content=content,
            per_root=mean_C.new_full((), 1 / sqrt(spread)),
            share_2C1=mean_C.new_tensor([[[1.0]], [[1 / spread]]]).expand(-1, len(mean_C), -1) / len(mean_C),
            itself_211=mean_C.new_tensor([[[0.0]], [[1.0]]]),
            count_211=count_211,
        )

    def shown(self, rows_2RC: Tensor) -> Tensor:
        """Say what rows of such statistics show, (2, R, C)."""
        return (rows_2RC - self.origin_21C) * self.per_unit_21C

    def offsets(self, shown_2RC: Tensor) -> Tensor:
        """Say how far it is from the source, (2, R, C): offsets of means, and logarithms of ratios."""
        mean_RC, ratio_RC = shown_2RC.unbind()
        return torch.stack([mean_RC, ratio_RC.log()])

    def sizes(self, square_2RC: Tensor) -> Tensor:
        """Take the mean squares of offsets, (2, R, 1), in units of what content alone shows."""
        return torch.bmm(square_2RC, self.share_2C1)

    def statistics(self, shown_2RC: Tensor) -> Stats:
        """Say which statistics show this, (R, C): the inverse of `shown`."""
        mean_RC, var_RC = torch.addcmul(self.origin_21C, shown_2RC, self.unit_21C).unbind()
        # Not in place: a compiler would take the number of rows for fixed.
        return mean_RC, var_RC.relu()


def all_moments(rows_2BN: Tensor, sources: Sequence[Source]) -> Tensor:
    """Say what samples add to what is gathered of their streams, by their statistics, for all layers at once.

    What each layer adds stands side by side, (2, B, 2 N + 2 L).
    """
    side = SideBySide.of(tuple(source.unit_21C.shape[2] for source in sources), rows_2BN.device)
    origin_21N, per_unit_21N = (
        torch.cat(each, dim=2) for each in zip(*((one.origin_21C, one.per_unit_21C) for one in sources), strict=True)
    )
    mean_BN, ratio_BN = ((rows_2BN - origin_21N) * per_unit_21N).unbind()
    per_root_N = side.spread(torch.stack([source.per_root for source in sources]))
    offset_2BN = torch.stack([mean_BN, ratio_BN.log() * per_root_N])
    square_2BN = offset_2BN.square()
    size_2BL = side.mean(square_2BN)
    count_21L = torch.cat([source.count_211 for source in sources], dim=2)
    parts = [offset_2BN, torch.stack([square_2BN[0], ratio_BN]), size_2BL, count_21L.expand_as(size_2BL)]
    return torch.cat(parts, dim=2)[:, :, side.by_layer_M]
