"""The layer of MixNormBN (Algorithm 2): the samples of a batch are normalised together."""

from torch import Tensor

from mixnorm.norms.layer import AdaptiveNorm
from mixnorm.norms.memory import Call
from mixnorm.norms.plan import PoolingPlan
from mixnorm.norms.statistics import Estimate, mix, of_samples


class MixNormBNLayer(AdaptiveNorm):
    """Global statistics that move with each batch, mixed with the statistics of the batch and its views.

    With `m = 1` and no moving speed these are the batch statistics alone: the layer of BN and TENT.
    """

    def estimate(self, positions: int, plan: PoolingPlan, call: Call) -> Estimate:
        """Mix each stream's moving statistics with those of its samples in the batch, (2, 1, C) for a single stream."""
        self.keeps_source(positions == 1 and plan.alone)
        start_2SC = self.start(call, plan)

        def mixed(rows_2RC: Tensor) -> Tensor:
            mixed_2SC = plan.mixed(start_2SC, rows_2RC)
            if positions == 1:
                # A single value has no variance: such a stream stays where it is.
                mixed_2SC = mix(start_2SC, mixed_2SC, plan.several_S1)
            return of_samples(mixed_2SC, plan.stream_B)

        return mixed

    def take_note(self, rows_2RC: Tensor, stats: Tensor, positions: int, plan: PoolingPlan, call: Call) -> None:
        """Note the statistics that move, and those that the samples of a stream share."""
        self.note(call, rows_2RC, stats, plan.several_S1 if positions == 1 else None)
