"""A data set whose pixels are one array, in memory or memory-mapped."""

import hashlib

import numpy as np
import numpy.typing as npt

from mixnorm.benchmarks.corruptions import Scale
from mixnorm.benchmarks.datasets.dataset import Dataset, Indices, Pixels, Shift, checked_indices
from mixnorm.benchmarks.datasets.sizing import Sizing, resized, to_rgb
from mixnorm.errors import DataError

HASHED_AT_ONCE = 1024


class ArrayDataset(Dataset):
    """Labelled images out of one uint8 array of shape (N, H, W), (N, H, W, 1), (N, H, W, 3) or (N, H, W, 4).

    Grey becomes RGB and an alpha channel is dropped; only the rows asked for are read from a memory map.

    >>> ArrayDataset("two", np.zeros((2, 8, 8), np.uint8), [0, 1], ("a", "b")).images([1]).shape
    (1, 8, 8, 3)
    """

    def __init__(
        self,
        name: str,
        pixels: npt.NDArray[np.uint8],
        labels: npt.ArrayLike,
        class_names: tuple[str, ...],
        *,
        shifts: tuple[Shift, ...] | None = None,
        sizing: Sizing | None = None,
        preferred_scale: Scale | None = None,
    ) -> None:
        super().__init__(name, labels, class_names, shifts, preferred_scale)
        check_pixels(name, pixels)
        if len(pixels) != len(self):
            raise DataError(f"{name} has {len(pixels)} images and {len(self)} labels")
        # A read-only view: the hash below is taken once, so the pixels must not change through this object.
        self._pixels = pixels.view()
        self._pixels.flags.writeable = False
        self._sizing = sizing or Sizing()
        self._fingerprint: str | None = None

    def images(self, indices: npt.ArrayLike) -> Pixels:
        """Return the images at `indices` as uint8 RGB of shape (n, H, W, 3)."""
        rows = np.asarray(self._pixels[checked_indices(self.name, indices, len(self))])
        return resized(to_rgb(rows), self._sizing)

    def fingerprint(self) -> str:
        """Return a hash of the pixels as stored, the labels, the shifts and the size asked for."""
        if self._fingerprint is None:
            digest = pixels_digest(self._pixels)
            digest.update(self.labels.tobytes())
            digest.update(repr((self.class_names, self.shifts, self._sizing)).encode())
            self._fingerprint = digest.hexdigest()
        return self._fingerprint


def check_pixels(name: str, pixels: npt.NDArray[np.uint8]) -> None:
    """Raise `DataError` unless an array can be images."""
    is_images = pixels.ndim == 3 or (pixels.ndim == 4 and pixels.shape[-1] in (1, 3, 4))
    if not is_images or pixels.dtype != np.uint8:
        raise DataError(
            f"{name} has images of shape {pixels.shape} and type {pixels.dtype}; "
            f"give uint8 of shape (N, H, W) or (N, H, W, channels) with 1, 3 or 4 channels"
        )


def pixels_digest(pixels: npt.NDArray[np.uint8], indices: Indices | None = None) -> "hashlib._Hash":
    """Return the running hash of an array's shape and bytes, or of the rows at `indices`, read piece by piece."""
    rows = np.arange(len(pixels)) if indices is None else indices
    digest = hashlib.sha256(repr((len(rows), *pixels.shape[1:])).encode())
    for start in range(0, len(rows), HASHED_AT_ONCE):
        digest.update(np.ascontiguousarray(pixels[rows[start : start + HASHED_AT_ONCE]]).data)
    return digest
