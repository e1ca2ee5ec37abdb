"""Follow a method through a long stream: all corruptions mixed, then one of them, then clean images, never forgetting.

python scripts/long_stream.py --model ../shared/real/models.py:cifar_resnet20 --data ../shared/real/cifar10_test.npz \
    -o results/study/long-stream.json
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import torch

import mixnorm as mn
from mixnorm.benchmarks import load_model
from mixnorm.benchmarks.corruptions import CORRUPTIONS
from mixnorm.benchmarks.streams.stream import Stream
from mixnorm.files import write_whole

PARTS = {
    "mixed": ("mixed-all", None),
    "one corruption": ("single", ["gaussian_noise"]),
    "clean": ("single", ["clean"]),
}
WINDOW = 1000


def stream_of(data: str, part: str, limit: int | None) -> Stream:
    order, names = PARTS[part]
    if names == ["clean"]:
        return mn.load_stream(data, order=order, limit=limit)
    return mn.load_stream(data, order=order, corruptions=names or list(CORRUPTIONS), limit=limit)


@torch.no_grad()
def wrong(adapted: mn.AdaptedModel, stream: Stream, batch_size: int) -> Iterator[bool]:
    """Say of each sample, in order, whether it is answered wrongly."""
    for batch in stream.batches(batch_size):
        yield from (adapted(batch.images).argmax(1) != torch.as_tensor(batch.labels)).tolist()


def followed(adapted: mn.AdaptedModel, data: str, limit: int | None, batch_size: int) -> dict[str, dict[str, float]]:
    """Return for each part its length, and the errors of its first and its last thousand samples."""
    found: dict[str, dict[str, float]] = {}
    for part in PARTS:
        answers = list(wrong(adapted, stream_of(data, part, limit), batch_size))
        window = min(WINDOW, len(answers))
        first, last = answers[:window], answers[-window:]
        found[part] = {
            "count": len(answers),
            "first": 100 * sum(first) / window,
            "last": 100 * sum(last) / window,
            "all": 100 * sum(answers) / len(answers),
        }
        print(part, found[part])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="source model, by name or as FILE:FACTORY")
    parser.add_argument("--data", required=True, help="clean data set, by name or path")
    parser.add_argument("--limit", type=int, help="how many images take part (default: all)")
    parser.add_argument("--batch-size", type=int, default=200)
    parser.add_argument("-o", "--output", type=Path, required=True)
    args = parser.parse_args()
    method = mn.ShrinkNorm()
    adapted = mn.adapt(load_model(args.model), method)
    found = followed(adapted, args.data, args.limit, args.batch_size)
    record = {"model": args.model, "data": args.data, "limit": args.limit, "method": method.to_dict(), "parts": found}
    write_whole(args.output, (json.dumps(record, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
