"""What to corrupt, how, and where the copies go."""

import tokenize
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from mixnorm.benchmarks.corruptions import CORRUPTIONS, SCALES, SEVERITIES, Scale
from mixnorm.benchmarks.corruptions.severities import settings_of
from mixnorm.benchmarks.datasets import Dataset, load_dataset
from mixnorm.benchmarks.datasets.arrays import ArrayDataset
from mixnorm.errors import DataError, MissingDataError, SettingError, unknown_name

Layout = Literal["arrays", "folders"]
LAYOUTS: tuple[Layout, ...] = get_args(Layout)


@dataclass(frozen=True, kw_only=True)
class CopySettings:
    """The settings of `iter_corrupted_copies`.

    `source` is what `load_dataset` takes (a name, an image folder, an `.npz`) or an `.npy` of images with its `labels`.
    `layout` is CIFAR-10-C's (`"arrays"`) or ImageNet-C's (`"folders"`); by default an image folder becomes folders and
    everything else arrays. `batch_size` and `workers` change the speed, never the bytes.

    >>> CopySettings(source="digits", output=Path("digits-c"), corruptions=("fog",)).layout_name
    'arrays'
    """

    source: str
    output: Path
    corruptions: tuple[str, ...] = CORRUPTIONS
    severities: tuple[int, ...] = SEVERITIES
    seed: int = 0
    scale: Scale | None = None
    layout: Layout | None = None
    labels: Path | None = None
    split: str | None = None
    resize: int | None = None
    crop: int | None = None
    workers: int = 1
    batch_size: int = 64

    def __post_init__(self) -> None:
        """Refuse what cannot be made."""
        self._check_names()
        for field, least in (("seed", 0), ("workers", 1), ("batch_size", 1)):
            value = getattr(self, field)
            if not isinstance(value, int) or value < least:
                raise SettingError(f"{field} must be a whole number of at least {least}, not {value!r}")
        if self.layout_name == "arrays" and self.severities != SEVERITIES:
            raise SettingError(
                f"the layout 'arrays' holds all severities {SEVERITIES}, not {self.severities}; "
                f"use the layout 'folders' to make only some"
            )

    def _check_names(self) -> None:
        if self.layout_name not in LAYOUTS:
            raise unknown_name("layout", self.layout, LAYOUTS)
        if not self.corruptions or not self.severities:
            raise SettingError("give at least one corruption and one severity")
        for name in self.corruptions:
            for severity in self.severities:
                settings_of(name, severity, self.scale or SCALES[0])

    @property
    def layout_name(self) -> Layout:
        """The layout asked for, or the one that fits the source."""
        return self.layout or ("folders" if Path(self.source).expanduser().is_dir() else "arrays")

    def open(self) -> Dataset:
        """Open the images to corrupt, checking them as far as can be done without reading them all."""
        path = Path(self.source).expanduser()
        if path.suffix == ".npy":
            return _open_npy(path, self.labels)
        if self.labels is not None:
            raise SettingError(f"labels={str(self.labels)!r} go with an .npy file; {self.source} has labels of its own")
        return load_dataset(self.source, split=self.split, resize=self.resize, crop=self.crop)


def _open_npy(path: Path, labels: Path | None) -> Dataset:
    if labels is None:
        raise SettingError(f"{path} holds images only; give the .npy file of their labels as well")
    numbers = _load_npy(labels)
    if numbers.dtype.kind not in "iu" or numbers.ndim != 1 or not numbers.size:
        raise DataError(f"{labels} has shape {numbers.shape} and type {numbers.dtype}, not one integer per image")
    return ArrayDataset(path.name, _load_npy(path), numbers, tuple(map(str, range(int(numbers.max()) + 1))))


def _load_npy(path: Path) -> npt.NDArray[np.uint8]:
    try:
        array: npt.NDArray[np.uint8] = np.load(path, mmap_mode="r", allow_pickle=False)
        return array
    except FileNotFoundError as error:
        raise MissingDataError(f"there is nothing at {path}; give the path of an .npy file that exists") from error
    except (ValueError, OSError, EOFError, SyntaxError, tokenize.TokenError) as error:
        raise DataError(f"{path} cannot be read as an .npy file of plain numbers: {error}") from error
