"""Between bytes and floats: corruptions calculate with float32 pixels on the byte scale, 0 to 255."""

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]


def to_bytes(pixels: Floats) -> Bytes:
    """Clip to 0..255 and cut off the fraction, as the published generator does, in place where it can.

    >>> to_bytes(np.float32([-3.0, 7.9, 300.0])).tolist()
    [0, 7, 255]
    """
    # A thousandth more, so that rounding errors do not turn a whole 7 into a 6.
    pixels += 0.001
    return np.clip(pixels, 0, 255, out=pixels).astype(np.uint8)
