"""A user's own `.npz` file with images `x` and labels `y`."""

import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mixnorm.benchmarks.datasets.arrays import ArrayDataset
from mixnorm.benchmarks.datasets.dataset import CLEAN, Shift, numbered_classes
from mixnorm.benchmarks.datasets.npy import UNREADABLE
from mixnorm.benchmarks.datasets.sizing import Sizing
from mixnorm.errors import DataError

Arrays = Mapping[str, npt.NDArray[np.generic]]


def load_npz(path: Path, split: str | None, sizing: Sizing, severity: int) -> ArrayDataset:
    """Return the images of an `.npz` file: `x` and `y`, or `x_test` and `y_test` (`x_<split>` in general).

    `class_names` may name the classes. `corruption` may say what each image suffers, by name or as a position in
    `corruption_names`, and `severity` how much; where the file does not say, the caller's severity is taken. The name
    `clean` marks images that suffer nothing.
    """
    arrays = _read(path)
    suffix = _suffix(path, arrays, split)
    pixels, labels = arrays[f"x{suffix}"], arrays[f"y{suffix}"]
    return ArrayDataset(
        path.name,
        pixels,  # type: ignore[arg-type]  # its type is checked when the data set is made
        labels,
        _class_names(path, arrays, labels),
        shifts=_shifts(path, arrays, severity),
        sizing=sizing,
    )


def _read(path: Path) -> Arrays:
    try:
        with path.open("rb") as file:
            arrays = np.load(file, allow_pickle=False)
            if not isinstance(arrays, Mapping):
                raise DataError("it holds a single array without a name")
            return dict(arrays)
    except (zipfile.BadZipFile, zlib.error, *UNREADABLE) as error:
        raise DataError(f"{path} cannot be read as an .npz file of plain arrays: {error}") from error


def _suffix(path: Path, arrays: Arrays, split: str | None) -> str:
    wanted = [f"_{split}"] if split is not None else ["", "_test"]
    for suffix in wanted:
        if f"x{suffix}" in arrays and f"y{suffix}" in arrays:
            return suffix
    raise DataError(
        f"{path} holds {', '.join(arrays) or 'nothing'}; it needs images x{wanted[0]} and labels y{wanted[0]}"
    )


def _class_names(path: Path, arrays: Arrays, labels: npt.NDArray[np.generic]) -> tuple[str, ...]:
    if "class_names" in arrays:
        return tuple(map(str, arrays["class_names"].reshape(-1)))
    return numbered_classes(str(path), labels)


def _shifts(path: Path, arrays: Arrays, severity: int) -> tuple[Shift, ...] | None:
    if "corruption" not in arrays:
        return None
    names = _corruption_names(path, arrays)
    given = arrays.get("severity", np.asarray(severity)).reshape(-1)
    if given.dtype.kind not in "iu" or given.min(initial=0) < 0:
        raise DataError(f"{path} has severities of type {given.dtype}, not whole numbers of 0 or more")
    severities = given.tolist() * len(names) if len(given) == 1 else given.tolist()
    if len(severities) != len(names):
        raise DataError(f"{path} has {len(names)} corruptions and {len(severities)} severities")
    # A clean image has no severity, whatever the file says of the others.
    return tuple(CLEAN if name == CLEAN[0] else (name, level) for name, level in zip(names, severities, strict=True))


def _corruption_names(path: Path, arrays: Arrays) -> list[str]:
    given = arrays["corruption"]
    if given.dtype.kind == "U" and given.ndim == 1:
        return [str(name) for name in given]
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise DataError(f"{path} has corruptions of type {given.dtype} and shape {given.shape}, not one per image")
    names = [str(name) for name in arrays.get("corruption_names", np.array([])).reshape(-1)]
    positions = given.astype(np.int64)
    if positions.size and (positions.min() < 0 or positions.max() >= len(names)):
        raise DataError(f"{path} has corruptions up to number {positions.max()}, but {len(names)} corruption_names")
    return [names[position] for position in positions]
