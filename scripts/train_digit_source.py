"""Train a source network for digits, to be adapted to other digits.

    python scripts/train_digit_source.py --data mnist --output DIR
    python scripts/train_digit_source.py --data ../shared/real/mnist_m_test.npz --name mnist-m --output DIR

The data is one of the digit sets by name (svhn, mnist, usps, mnist-m), or an `.npz` file. Training uses the split
`train`, measuring the split `test`. A file that has one split alone is cut in two by the seed, two thirds to train.
Grey images become RGB, and all are scaled to 32 px. The network is `digit-cnn`, trained jointly with its rotation head;
load it with `--model digit-cnn --checkpoint DIR/NAME.safetensors`. NAME.json is the record of the training.
"""

import argparse
from pathlib import Path

import numpy as np
from training import Training, bytes_of, contents, cpu_seconds, described, errors, start, train, write

from mixnorm.benchmarks.datasets import Dataset, load_dataset
from mixnorm.benchmarks.datasets.arrays import ArrayDataset
from mixnorm.benchmarks.models import find_model
from mixnorm.errors import DataError

SIDE = 32
DIGITS = 10
HELD_OUT = 1 / 3
SEEN = 60_000


def load(name: str, data_dir: str | None, seed: int) -> tuple[Dataset, Dataset, str]:
    """Return what to train on and what to measure on, and how they were told apart."""
    if has_one_split(Path(name)):
        return *cut(load_dataset(name, resize=SIDE), seed), f"one split, cut by seed {seed}"
    train, test = (load_dataset(name, data_dir=data_dir, split=split, resize=SIDE) for split in ("train", "test"))
    return train, test, "the splits of the data set"


def has_one_split(path: Path) -> bool:
    """Whether a file has images without saying which are for training."""
    if path.suffix != ".npz" or not path.is_file():
        return False
    with np.load(path) as arrays:
        return "x" in arrays.files


def cut(data: Dataset, seed: int) -> tuple[Dataset, Dataset]:
    """Cut a data set in two at random: the larger part, and what is held out."""
    order = np.random.default_rng(seed).permutation(len(data))
    count = round(len(data) * HELD_OUT)
    held_out, rest = (np.sort(rows) for rows in (order[:count], order[count:]))
    return part(data, rest), part(data, held_out)


def part(data: Dataset, rows: np.ndarray) -> Dataset:  # type: ignore[type-arg]
    """Return some of the images."""
    return ArrayDataset(data.name, data.images(rows), data.labels[rows], data.class_names)


def refuse_other_classes(data: Dataset) -> None:
    """Refuse what is not ten digits."""
    if len(data.class_names) != DIGITS:
        raise DataError(f"{data.name} has {len(data.class_names)} classes; digit-cnn tells the ten digits apart")


def settings_of(arguments: argparse.Namespace, images: int) -> Training:
    """Return the settings of the training, by default with as many epochs as it takes to see enough images."""
    return Training(
        seed=arguments.seed,
        epochs=arguments.epochs or max(1, round(SEEN / images)),
        batch_size=64,
        learning_rate=0.02,
        shift=2,
        edges="repeated",
        threads=arguments.threads,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="svhn, mnist, usps, mnist-m, or the path of an .npz file")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="folder of weights and record")
    parser.add_argument("--name", help="name of the two files (default: that of the data)")
    parser.add_argument("--data-dir", metavar="DIR", help="where data is (default: the data folder)")
    often = f"how often each image is seen (default: as often as it takes to see {SEEN:,} images)"
    parser.add_argument("--epochs", type=int, metavar="N", help=often)
    parser.add_argument("--seed", type=int, default=0, help="default: 0")
    parser.add_argument("--threads", type=int, default=1, help="default: 1; another number gives other last bits")
    arguments = parser.parse_args()
    training, test, told_apart = load(arguments.data, arguments.data_dir, arguments.seed)
    refuse_other_classes(training)
    settings = settings_of(arguments, len(training))
    start(settings)
    before = cpu_seconds()
    model = train(find_model("digit-cnn").build(), *bytes_of(training), settings)
    spent = cpu_seconds() - before
    error, rotation_error = errors(model, *bytes_of(test))
    made = {
        "made_by": "scripts/train_digit_source.py",
        "network": "digit-cnn",
        **described(model, settings),
        "data": {"name": arguments.data, "splits": told_apart, **contents([("train", training), ("test", test)])},
        "test_error": error,
        "rotation_test_error": rotation_error,
    }
    name = arguments.name or Path(arguments.data).stem
    write(arguments.output, name, model, made)
    print(f"error {error:.2%}, of the rotation head {rotation_error:.2%}, {spent:.0f} s of CPU time: {name} is written")


if __name__ == "__main__":
    main()
