"""Random numbers for a batch, where each image's numbers depend on nothing but that image."""

from functools import cached_property
from zlib import crc32

import numpy as np
import numpy.typing as npt


class Draws:
    """Draws random arrays for a batch of images, each image from a generator of its own.

    The generator of an image is made from the seed, the corruption's name, the severity and the image's index, so an
    image gets the same numbers in every batch, order and process.

    >>> both = Draws(seed=0, name="fog", severity=5, indices=np.array([7, 8])).uniform((2,))
    >>> alone = Draws(seed=0, name="fog", severity=5, indices=np.array([8])).uniform((2,))
    >>> bool((both[1] == alone[0]).all())
    True
    """

    def __init__(self, *, seed: int, name: str, severity: int, indices: npt.NDArray[np.integer]) -> None:
        self._keys = [(seed, crc32(name.encode()), severity, int(index)) for index in indices]

    @cached_property
    def _generators(self) -> list[np.random.Generator]:
        return [np.random.Generator(np.random.SFC64(np.random.SeedSequence(key))) for key in self._keys]

    def normal(self, shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
        """Draw standard normal numbers, an array of `shape` per image."""
        out = np.empty((len(self._keys), *shape), dtype=np.float32)
        for generator, row in zip(self._generators, out, strict=True):
            generator.standard_normal(out=row, dtype=np.float32)
        return out

    def uniform(self, shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
        """Draw numbers uniform in [0, 1), an array of `shape` per image."""
        out = np.empty((len(self._keys), *shape), dtype=np.float32)
        for generator, row in zip(self._generators, out, strict=True):
            generator.random(out=row, dtype=np.float32)
        return out

    def integers(self, low: int, high: int, shape: tuple[int, ...]) -> npt.NDArray[np.int32]:
        """Draw integers from `low` up to but without `high`, an array of `shape` per image."""
        return np.stack([generator.integers(low, high, shape, dtype=np.int32) for generator in self._generators])

    def shorts(self, shape: tuple[int, ...]) -> npt.NDArray[np.uint16]:
        """Draw whole numbers uniform in 0..65535, an array of `shape` per image."""
        return np.stack([generator.integers(2**16, size=shape, dtype=np.uint16) for generator in self._generators])
