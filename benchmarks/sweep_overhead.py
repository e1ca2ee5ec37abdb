"""How much of a sweep is spent outside of the models: 200 runs on digits, one process, one thread.

    python benchmarks/sweep_overhead.py
    python benchmarks/sweep_overhead.py --executor processes --workers 2

What counts as the models' own time is every call of an adapted model, the source model's calls for the comparison of
costs included. The rest is loading, corrupting, measuring, writing records, and starting and feeding workers.
"""

import argparse
import tempfile
import time
from typing import Any

import torch

from mixnorm.adaptation import AdaptedModel
from mixnorm.evaluation import RunSpec
from mixnorm.sweeps import Processes, Serial, grid, run_sweep

BASE = {"model": "digits", "data": {"name": "digits-c"}}


def specs(runs: int) -> list[RunSpec]:
    """Make a grid of runs over all 600 digits."""
    axes: dict[str, list[Any]] = {
        "method": ["Source", "BatchStatistics", "Tent", "MixNorm:m=0.2", "MixNormBN:m=0.2"],
        "protocol.batch_size": [8, 32, 64, 200],
        "seed": list(range(-(-runs // 20))),
    }
    return grid(BASE, axes)[:runs]


class Clock:
    """Adds up the time spent in calls of adapted models."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def watch(self) -> None:
        """Put itself around every call of an adapted model in this process."""
        forward = AdaptedModel.forward

        def timed(model: AdaptedModel, *args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter()
            try:
                return forward(model, *args, **kwargs)
            finally:
                self.seconds += time.perf_counter() - start

        AdaptedModel.forward = timed  # type: ignore[method-assign]


def serial(runs: list[RunSpec]) -> None:
    clock = Clock()
    clock.watch()
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        count = sum(record.error is None for record in run_sweep(runs, folder, executor=Serial()))
    wall = time.perf_counter() - start
    print(f"{count} runs in {wall:.1f} s, {clock.seconds:.1f} s of them in the models")
    print(f"overhead: {100 * (wall - clock.seconds) / clock.seconds:.1f} % of the models' own time")


def processes(runs: list[RunSpec], workers: int) -> None:
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        records = list(run_sweep(runs, folder, executor=Processes(workers=workers)))
    wall = time.perf_counter() - start
    inside = sum(record.duration_s for record in records)
    print(f"{len(records)} runs in {wall:.1f} s by {workers} workers, {inside:.1f} s of these in evaluations")
    print(f"outside of evaluations: {100 * (workers * wall - inside) / inside:.1f} % of their time")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200, help="default: 200")
    parser.add_argument("--executor", choices=("serial", "processes"), default="serial", help="default: serial")
    parser.add_argument("--workers", type=int, default=2, help="default: 2")
    args = parser.parse_args()
    torch.set_num_threads(1)
    serial(specs(args.runs)) if args.executor == "serial" else processes(specs(args.runs), args.workers)


if __name__ == "__main__":
    main()
