"""All data sets by name."""

from collections.abc import Callable
from dataclasses import dataclass

from mixnorm.benchmarks.datasets.dataset import Dataset
from mixnorm.benchmarks.datasets.digits import load_digits
from mixnorm.benchmarks.datasets.sizing import Sizing
from mixnorm.errors import unknown_name


@dataclass(frozen=True)
class Entry:
    """How a data set is loaded, and its splits, the one for evaluation first."""

    load: Callable[[str, Sizing], Dataset]
    splits: tuple[str, ...] = ("test", "train")


CATALOGUE = {
    "digits": Entry(load_digits),
}


def load_dataset(
    name: str,
    *,
    split: str | None = None,
    resize: int | None = None,
    crop: int | None = None,
) -> Dataset:
    """Return a data set by name.

    Without `split` it is the one meant for evaluation; `resize` scales the shorter side, `crop` keeps the centre.

    >>> load_dataset("digits", split="test")
    ArrayDataset('digits', 600 images, 10 classes)
    """
    if name not in CATALOGUE:
        raise unknown_name("data set", name, CATALOGUE)
    entry = CATALOGUE[name]
    split = split or entry.splits[0]
    if split not in entry.splits:
        raise unknown_name(f"split of {name}", split, entry.splits)
    return entry.load(split, Sizing(resize=resize, crop=crop))
