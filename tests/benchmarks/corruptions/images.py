"""Images and draws for the tests of corruptions."""

import numpy as np
import numpy.typing as npt

from mixnorm.benchmarks.corruptions.plasma import plasma
from mixnorm.benchmarks.corruptions.randomness import Draws

Bytes = npt.NDArray[np.uint8]


def scenes(count: int, height: int = 32, width: int = 32) -> Bytes:
    """Smooth coloured pictures with fine noise, and one flat corner, where rounding would show."""
    random = np.random.default_rng(count)
    coarse = random.integers(0, 256, (count, -(-height // 8), -(-width // 8), 3))
    smooth = np.kron(coarse, np.ones((1, 8, 8, 1)))[:, :height, :width]
    pictures = np.clip(smooth + random.normal(0, 12, smooth.shape), 0, 255).astype(np.uint8)
    pictures[:, : height // 3, : width // 3] = (37, 137, 255)
    return pictures


def landscapes(count: int, side: int) -> Bytes:
    """Pictures with structure at all scales, like natural ones: a shared relief and a little colour."""
    noise = np.random.default_rng(count).uniform(-1, 1, (4 * count, side, side)).astype(np.float32)
    reliefs = plasma(noise, 1.4).reshape(count, 4, side, side)
    return (255 * (0.7 * reliefs[:, :1] + 0.3 * reliefs[:, 1:])).transpose(0, 2, 3, 1).astype(np.uint8)


def draws(count: int, seed: int = 0) -> Draws:
    """The same random numbers at each call."""
    return Draws(seed=seed, name="test", severity=1, indices=np.arange(count))


def assert_nearly_equal(actual: Bytes, expected: Bytes, share: float = 0.001) -> None:
    """Bytes are cut from floats, so a value at a whole number may fall to either side: off by one, and rarely."""
    difference = np.abs(actual.astype(int) - expected)
    assert difference.max() <= 1
    assert (difference > 0).mean() <= share
