"""All data sets by name or by path."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from mixnorm.benchmarks.corruptions.severities import checked_severity
from mixnorm.benchmarks.datasets.cifar import load_cifar10, load_cifar100
from mixnorm.benchmarks.datasets.dataset import Dataset
from mixnorm.benchmarks.datasets.digits import load_digits
from mixnorm.benchmarks.datasets.folder import load_folder, load_imagenet
from mixnorm.benchmarks.datasets.food101 import load_food101
from mixnorm.benchmarks.datasets.mnist import load_mnist
from mixnorm.benchmarks.datasets.mnist_m import load_mnist_m
from mixnorm.benchmarks.datasets.npz import load_npz
from mixnorm.benchmarks.datasets.sizing import Sizing
from mixnorm.benchmarks.datasets.stanford_cars import load_stanford_cars
from mixnorm.benchmarks.datasets.stl10 import load_stl10
from mixnorm.benchmarks.datasets.svhn import load_svhn
from mixnorm.benchmarks.datasets.usps import load_usps
from mixnorm.benchmarks.paths import user_path
from mixnorm.errors import DataError, MissingDataError, SettingError, unknown_name


@dataclass(frozen=True)
class Entry:
    """How a data set is loaded from the data folder, and its splits, the one for evaluation first."""

    load: Callable[[str, Sizing, Path | None], Dataset]
    splits: tuple[str, ...] = ("test", "train")


CATALOGUE = {
    "cifar10": Entry(load_cifar10),
    "cifar100": Entry(load_cifar100),
    "digits": Entry(load_digits),
    "food101": Entry(load_food101),
    "imagenet": Entry(load_imagenet, ("val",)),
    "mnist": Entry(load_mnist),
    "mnist-m": Entry(load_mnist_m),
    "stanford-cars": Entry(load_stanford_cars),
    "stl10": Entry(load_stl10),
    "svhn": Entry(load_svhn),
    "usps": Entry(load_usps),
}


def load_dataset(
    name: str | Path,
    *,
    data_dir: str | Path | None = None,
    split: str | None = None,
    resize: int | None = None,
    crop: int | None = None,
    severity: int = 5,
) -> Dataset:
    """Return a data set by its name, or a user's own by its path: an image folder or an `.npz` with `x` and `y`.

    Without `split` it is the one meant for evaluation; `resize` scales the shorter side, `crop` keeps the centre.
    `severity` is that of an `.npz` whose images are corrupted already and which does not say how much. A name always
    means the data set of that name: a folder of one's own that is called the same is `./name`.

    >>> load_dataset("digits", split="test")
    ArrayDataset('digits', 600 images, 10 classes)
    """
    sizing = Sizing(resize=resize, crop=crop)
    severity = checked_severity(severity)
    user_path("data set", name)
    if split is not None and not isinstance(split, str):
        raise SettingError(f"split must be a name, got {split!r}")
    if name not in CATALOGUE:
        return _load_path(name, split, sizing, severity)
    entry = CATALOGUE[str(name)]
    split = entry.splits[0] if split is None else split
    if split not in entry.splits:
        raise unknown_name(f"split of {name}", split, entry.splits)
    return entry.load(split, sizing, None if data_dir is None else user_path("data folder", data_dir))


def _load_path(name: str | Path, split: str | None, sizing: Sizing, severity: int) -> Dataset:
    path = existing_path(name, CATALOGUE)
    if path.suffix == ".npz":
        return load_npz(path, split, sizing, severity)
    if not path.is_dir():
        raise DataError(f"{path} is neither a folder of images nor an .npz file")
    if split is not None:
        raise DataError(f"the image folder {path} has no splits; give the path of its {split!r} folder instead")
    return load_folder(path, sizing)


def existing_path(name: str | Path, known: Iterable[str]) -> Path:
    """Return the path that a user gave in place of a name, or say what is wrong with it."""
    path = user_path("data set", name)
    try:
        if path.exists():
            return path
    except OSError as error:  # a name that is too long, a folder that may not be read
        raise MissingDataError(f"there is nothing to read at {name}: {error}") from error
    if isinstance(name, Path) or len(path.parts) > 1 or path.suffix:
        raise MissingDataError(f"there is nothing at {name}; give the path of a folder or an .npz file that exists")
    raise unknown_name("data set", str(name), known)
