"""The layer of MixNormBN (Algorithm 2): the samples of a batch are normalised together."""

from functools import partial

from mixnorm.norms.layer import AdaptiveNorm
from mixnorm.norms.memory import Call
from mixnorm.norms.plan import PoolingPlan
from mixnorm.norms.statistics import Estimate, Stats, mix, of_samples


class MixNormBNLayer(AdaptiveNorm):
    """Global statistics that move with each batch, mixed with the statistics of the batch and its views.

    With `m = 1` and no moving speed these are the batch statistics alone: the layer of BN and TENT.
    """

    def estimate(self, positions: int, plan: PoolingPlan, call: Call) -> Estimate:
        """Mix each stream's moving statistics with those of its samples in the batch, (1, C) for a single stream."""
        if positions == 1 and plan.alone:
            self.context.kept.append(self.name)
        start = self.start(call, plan)
        if positions > 1 and start[0].size(0) == 1:
            return partial(plan.mixed, start)

        def mixed(rows: Stats) -> Stats:
            found = plan.mixed(start, rows)
            if positions == 1:
                # A single value has no variance: such a stream stays where it is.
                found = mix(start, found, plan.several_S1)
            return of_samples(found[0], plan.stream_B), of_samples(found[1], plan.stream_B)

        return mixed

    def take_note(self, rows: Stats, stats: Stats, positions: int, plan: PoolingPlan, call: Call) -> None:
        """Note the statistics that move, and those that the samples of a stream share."""
        # A sample that is alone shares nothing: its rows tell whether all is finite.
        pooled = None if plan.known(plan.alone) else stats
        self.note(call, rows, pooled=pooled, part_S1=plan.several_S1 if positions == 1 else None)
