"""Follow a method through a long stream: all corruptions mixed, then one of them, then clean images, never forgetting.

python scripts/long_stream.py --model ../shared/real/models.py:cifar_resnet20 --data ../shared/real/cifar10_test.npz \
    -o results/study/long-stream.json
"""

import argparse
import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

import torch

import mixnorm as mn
from mixnorm.benchmarks import load_model
from mixnorm.benchmarks.corruptions import CORRUPTIONS
from mixnorm.benchmarks.streams.batches import Batch
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
def wrong(adapted: mn.AdaptedModel, batches: Iterable[Batch]) -> list[bool]:
    """Say of each sample, in order, whether it is answered wrongly."""
    answers: list[bool] = []
    for batch in batches:
        answers += (adapted(batch.images).argmax(1) != torch.as_tensor(batch.labels)).tolist()
    return answers


def remembered(batches: Iterable[Batch], last: deque[Batch]) -> Iterator[Batch]:
    """Pass batches on, and keep as many of the last ones as there is room for."""
    for batch in batches:
        last.append(batch)
        yield batch


def error(answers: list[bool]) -> float:
    return 100 * sum(answers) / len(answers)


def followed(
    make: Callable[[], mn.AdaptedModel], data: str, limit: int | None, batch_size: int
) -> dict[str, dict[str, float]]:
    """Return for each part its length, and the errors of its first and its last thousand samples.

    A model that has seen nothing yet answers the last ones too: the same samples tell what the long stream has changed.
    The source model answers the first and the last ones: it tells how hard they are.
    """
    found: dict[str, dict[str, float]] = {}
    adapted = make()
    for part in PARTS:
        kept = -(-WINDOW // batch_size)
        last: deque[Batch] = deque(maxlen=kept)
        answers = wrong(adapted, remembered(stream_of(data, part, limit).batches(batch_size), last))
        first = islice(stream_of(data, part, limit).batches(batch_size), kept)
        with adapted.paused():
            found[part] = {
                "count": len(answers),
                "first": error(answers[:WINDOW]),
                "last": error(answers[-WINDOW:]),
                "last, fresh": error(wrong(make(), last)[-WINDOW:]),
                "first, source": error(wrong(adapted, first)[:WINDOW]),
                "last, source": error(wrong(adapted, last)[-WINDOW:]),
                "all": error(answers),
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
    model = load_model(args.model)
    found = followed(lambda: mn.adapt(model, method), args.data, args.limit, args.batch_size)
    record = {"model": args.model, "data": args.data, "limit": args.limit, "method": method.to_dict(), "parts": found}
    write_whole(args.output, (json.dumps(record, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
