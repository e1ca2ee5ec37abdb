"""What to corrupt, how, and where the copies go."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from mixnorm.benchmarks.corruptions import CORRUPTIONS, SCALES, SEVERITIES, Scale
from mixnorm.benchmarks.corruptions.severities import corruption_names, settings_of
from mixnorm.benchmarks.datasets import Dataset, load_dataset
from mixnorm.benchmarks.datasets.catalogue import CATALOGUE
from mixnorm.benchmarks.datasets.npy import load_npy
from mixnorm.benchmarks.datasets.sizing import Sizing
from mixnorm.benchmarks.paths import user_path
from mixnorm.benchmarks.whole_numbers import whole_number
from mixnorm.errors import DataError, SettingError, unknown_name

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
        user_path("input", self.source)
        object.__setattr__(self, "output", user_path("output", self.output))
        object.__setattr__(self, "corruptions", corruption_names(self.corruptions))
        self._check_names()
        Sizing(resize=self.resize, crop=self.crop)
        for field, least in (("seed", 0), ("workers", 1), ("batch_size", 1)):
            object.__setattr__(self, field, whole_number(field, getattr(self, field), least))
        if self.layout_name == "arrays" and self.severities != SEVERITIES:
            raise SettingError(
                f"the layout 'arrays' holds all severities {SEVERITIES}, not {self.severities}; "
                f"use the layout 'folders' to make only some"
            )

    def _check_names(self) -> None:
        if self.layout is not None and (not isinstance(self.layout, str) or self.layout not in LAYOUTS):
            raise unknown_name("layout", self.layout, LAYOUTS)
        if not isinstance(self.severities, tuple):
            raise SettingError(f"severities must be a tuple of numbers, got {self.severities!r}")
        if not self.corruptions or not self.severities:
            raise SettingError("give at least one corruption and one severity")
        for name in self.corruptions:
            for severity in self.severities:
                settings_of(name, severity, SCALES[0] if self.scale is None else self.scale)

    @property
    def layout_name(self) -> Layout:
        """The layout asked for, or the one that fits the source; a name means the data set, whatever lies here."""
        is_folder = self.source not in CATALOGUE and user_path("input", self.source).is_dir()
        return self.layout or ("folders" if is_folder else "arrays")

    def scale_for(self, dataset: Dataset) -> Scale | None:
        """Return the scale asked for, or the one that the data set prefers; None leaves it to the size of images."""
        return self.scale or dataset.preferred_scale

    def open(self) -> Dataset:
        """Open the images to corrupt, checking them as far as can be done without reading them all."""
        path = user_path("input", self.source)
        if path.suffix == ".npy":
            return self._open_npy(path)
        if self.labels is not None:
            raise SettingError(f"labels={str(self.labels)!r} go with an .npy file; {self.source} has labels of its own")
        dataset = load_dataset(self.source, split=self.split, resize=self.resize, crop=self.crop)
        if dataset.shifts is not None:
            raise DataError(f"{self.source} says that its images are corrupted already; give the clean ones")
        return dataset

    def _open_npy(self, path: Path) -> Dataset:
        if self.labels is None:
            raise SettingError(f"{path} holds images only; give the .npy file of their labels as well")
        if self.split is not None:
            raise SettingError(f"split={self.split!r} is for data sets that have several; {path} is one array")
        return load_npy(path, user_path("file of labels", self.labels), Sizing(resize=self.resize, crop=self.crop))
