"""Streams by the name or path of their data set."""

from collections.abc import Callable, Sequence
from pathlib import Path

from mixnorm.benchmarks.corruptions import EXTRA_CORRUPTIONS, Scale
from mixnorm.benchmarks.corruptions.severities import corruption_names
from mixnorm.benchmarks.datasets.array_benchmark import (
    ArrayBenchmark,
    is_array_benchmark,
    load_cifar10_c,
    load_cifar100_c,
)
from mixnorm.benchmarks.datasets.catalogue import CATALOGUE, existing_path, load_dataset
from mixnorm.benchmarks.datasets.dataset import CLEAN
from mixnorm.benchmarks.datasets.folder_benchmark import FolderBenchmark, is_folder_benchmark, load_imagenet_c
from mixnorm.benchmarks.datasets.shifted import AsStored, CorruptedOnTheFly, ShiftedDataset
from mixnorm.benchmarks.paths import user_path
from mixnorm.benchmarks.streams.stream import Stream
from mixnorm.errors import SettingError

RELEASED: dict[str, Callable[[Path | None], ShiftedDataset]] = {
    "cifar10-c": load_cifar10_c,
    "cifar100-c": load_cifar100_c,
    "imagenet-c": load_imagenet_c,
}
EMBEDDED = "digits-c"
USUAL_SEVERITY = 5


def load_stream(
    name: str | Path,
    *,
    order: str = "mixed",
    severity: int = USUAL_SEVERITY,
    corruptions: str | Sequence[str] | None = None,
    seed: int = 0,
    limit: int | None = None,
    concentration: float = 0.1,
    data_dir: str | Path | None = None,
    split: str | None = None,
    resize: int | None = None,
    crop: int | None = None,
    scale: Scale | None = None,
) -> Stream:
    """Return the stream of a data set by its name or path.

    `digits-c`, and any clean set for which `corruptions` are named, is corrupted on the fly; `cifar10-c`, `cifar100-c`,
    `imagenet-c` and folders of their layouts come as they are stored, with the 15 test corruptions unless others are
    named; a clean set without `corruptions` comes clean, and an `.npz` that says what its images suffer comes whole,
    each image at its own severity. What is corrupted on the fly takes the constants of `scale`, by default those that
    the data set prefers (the digits those for large images), else those for the size of its images.

    >>> load_stream("digits-c", severity=3, corruptions=["fog", "snow"], limit=100, order="single").describe()["order"]
    'single'
    """
    asked = None if corruptions is None else corruption_names(corruptions)
    data = _stored(name, data_dir)
    if data is not None and any(each is not None for each in (resize, crop, split, scale)):
        raise SettingError(f"{name} is used as it is stored; leave out resize, crop, split and scale")
    if data is None:
        clean = "digits" if name == EMBEDDED else name
        dataset = load_dataset(clean, data_dir=data_dir, split=split, resize=resize, crop=crop, severity=severity)
        on_the_fly = dataset.shifts is None and (name == EMBEDDED or asked is not None)
        if scale is not None and not on_the_fly:
            raise SettingError(f"scale={scale!r} is for corruptions made on the fly; {name} is used as it is stored")
        data = CorruptedOnTheFly(dataset, seed=seed, scale=scale) if on_the_fly else AsStored(dataset)
        _check_own_severities(data, severity)
    return Stream(
        data=data,
        corruptions=asked if asked is not None else _for_testing(data.corruptions),
        order=order,
        severity=severity,
        seed=seed,
        limit=limit,
        concentration=concentration,
    )


def _check_own_severities(data: ShiftedDataset, severity: int) -> None:
    """Refuse to pass over a severity that was asked for where images have their own."""
    own = {level for name in data.corruptions for level in data.own_severities(name) or () if name != CLEAN[0]}
    if own - {severity} and severity != USUAL_SEVERITY:
        raise SettingError(
            f"{data.name} says that its images have the severities {sorted(own)}, so severity={severity} "
            f"cannot be chosen; leave it out to use all of them, or make a file of those you want"
        )


def _stored(name: str | Path, data_dir: str | Path | None) -> ShiftedDataset | None:
    """Return a corrupted set that is stored as such, or None."""
    user_path("data set", name)
    if name in RELEASED:
        return RELEASED[str(name)](None if data_dir is None else user_path("data folder", data_dir))
    if name in CATALOGUE or name == EMBEDDED:
        return None
    path = existing_path(name, sorted([*CATALOGUE, *RELEASED, EMBEDDED]))
    if is_array_benchmark(path):
        return ArrayBenchmark(path.name, path)
    return FolderBenchmark(path.name, path) if is_folder_benchmark(path) else None


def _for_testing(corruptions: tuple[str, ...]) -> tuple[str, ...]:
    """Leave out the corruptions that are meant for validation."""
    return tuple(name for name in corruptions if name not in EXTRA_CORRUPTIONS) or corruptions
