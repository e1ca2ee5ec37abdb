"""Adapt the bundled network to corrupted handwritten digits, and print its error with and without adaptation."""

import time

import torch
from rich.console import Console
from rich.table import Table

import mixnorm as mn
from mixnorm.benchmarks import Stream

METHODS = {
    "Source (no adaptation)": mn.Source(),
    "BN": mn.BatchStatistics(),
    "TENT": mn.Tent(),
    "MixNorm, fixed affine": mn.MixNorm.preset("cifar10-c/mixed"),
    "MixNorm": mn.MixNorm.preset("cifar10-c/mixed/learnable"),
    "MixNormBN": mn.MixNormBN.preset("cifar10-c/mixed"),
}
BATCH_SIZES = (1, 8, 64)


def error(method: mn.Method, stream: Stream, batch_size: int) -> float:
    adapted = mn.adapt(mn.load_model("digits"), method)
    wrong = sum(int((adapted(batch.images).argmax(1) != batch.labels).sum()) for batch in stream.batches(batch_size))
    return 100 * wrong / len(stream)


@torch.no_grad()
def main() -> None:
    started = time.perf_counter()
    clean, corrupted = mn.load_stream("digits"), mn.load_stream("digits-c", order="mixed", severity=5, seed=0)
    table = Table("method", *(f"batch {size}" for size in BATCH_SIZES), title="Error in %")
    console = Console()
    console.print(f"Network: a small WRN trained on clean digits, error {error(mn.Source(), clean, 64):.1f} % on them.")
    console.print(f"Stream: {len(corrupted)} digits it has never seen, each under one of 15 corruptions, shuffled.")
    with console.status("adapting"):
        for name, method in METHODS.items():
            table.add_row(name, *(f"{error(method, corrupted, size):.1f}" for size in BATCH_SIZES))
    console.print(table)
    console.print(f"{time.perf_counter() - started:.0f} s; no labels, no training data and no second look were used.")


if __name__ == "__main__":
    main()
