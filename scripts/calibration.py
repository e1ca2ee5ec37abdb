"""Say what `calibrate` changes: the errors of ShrinkNorm on clean images and in a mixture, with it and without it.

python scripts/calibration.py --model ../shared/real/models.py:cifar_resnet56 --data ../shared/real/cifar10_test.npz \
    --limit 2000 -o results/study/calibration-resnet56.json
"""

import argparse
import json
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import torch
from torch import nn

import mixnorm as mn
from mixnorm.benchmarks import load_model
from mixnorm.benchmarks.corruptions import CORRUPTIONS
from mixnorm.benchmarks.streams.stream import Stream
from mixnorm.files import write_whole

STREAMS = {"clean": None, "mixed": list(CORRUPTIONS)}


@torch.no_grad()
def error(model: nn.Module, stream: Stream, batch_size: int, skip: int) -> float:
    """Return the error in per cent of all but the first batches."""
    wrong: list[bool] = []
    for batch in islice(stream.batches(batch_size), skip, None):
        wrong += (model(batch.images).argmax(1) != torch.as_tensor(batch.labels)).tolist()
    return 100 * sum(wrong) / len(wrong)


def compared(source: nn.Module, data: str, limit: int, batch_size: int, first: int) -> dict[str, dict[str, float]]:
    """Return the errors by stream and model; calibrated on the first batches of clean images, which no error counts."""
    streams = {
        name: mn.load_stream(data, order="mixed", corruptions=corruptions, limit=limit)
        for name, corruptions in STREAMS.items()
    }
    clean = [batch.images for batch in islice(streams["clean"].batches(batch_size), first)]
    models: dict[str, Callable[[], nn.Module]] = {
        "Source": lambda: source,
        "ShrinkNorm": lambda: mn.adapt(source),
        "ShrinkNorm, calibrated": lambda: mn.adapt(source).calibrate(clean),
    }
    found: dict[str, dict[str, float]] = {}
    for name, stream in streams.items():
        found[name] = {
            key: error(make(), stream, batch_size, first if name == "clean" else 0) for key, make in models.items()
        }
        print(name, found[name])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="source model, by name or as FILE:FACTORY")
    parser.add_argument("--data", required=True, help="clean data set, by name or path")
    parser.add_argument("--limit", type=int, required=True, help="how many images take part")
    parser.add_argument("--batch-size", type=int, default=200)
    parser.add_argument("--batches", type=int, default=1, help="how many batches are calibrated on (default: 1)")
    parser.add_argument("-o", "--output", type=Path, required=True)
    args = parser.parse_args()
    calibrated_on = args.batches * args.batch_size
    if args.limit <= calibrated_on:
        parser.error(f"--limit {args.limit} leaves no clean image beside the {calibrated_on} that are calibrated on")
    found = compared(load_model(args.model), args.data, args.limit, args.batch_size, args.batches)
    facts = {"model": args.model, "data": args.data, "limit": args.limit, "calibrated_on": calibrated_on}
    record = {**facts, "method": mn.ShrinkNorm().to_dict(), "errors": found}
    write_whole(args.output, (json.dumps(record, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
