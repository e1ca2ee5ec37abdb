"""Digital: what software and codecs do to colours and resolution."""

from io import BytesIO

import numpy as np
from PIL import Image

from mixnorm.benchmarks.corruptions.pixels import Bytes, to_bytes
from mixnorm.benchmarks.corruptions.randomness import Draws

# The hue of red, as the gap of each channel to the brightest one.
_RED = np.array([0, 1, 1], dtype=np.float32)


def brightness(images: Bytes, _draws: Draws, added: float) -> Bytes:
    """Add to the value of HSV: with hue and saturation kept, every colour is scaled by new value over old."""
    value = images.max(axis=3, keepdims=True).astype(np.float32)
    brighter = np.minimum(value + 255 * added, 255)
    # Black has no hue and no saturation, so it becomes grey.
    return to_bytes(np.where(value > 0, images * (brighter / np.maximum(value, 1)), brighter))


def saturate(images: Bytes, _draws: Draws, factor: float, added: float) -> Bytes:
    """Scale the saturation of HSV and add to it: with hue and value kept, every gap to the value is scaled."""
    value = images.max(axis=3, keepdims=True).astype(np.float32)
    gaps = value - images
    largest = gaps.max(axis=3, keepdims=True)
    saturation = np.clip(factor * largest / np.maximum(value, 1) + added, 0, 1)
    # Grey has saturation 0 and, by convention, the hue of red.
    relative = np.where(largest > 0, gaps / np.maximum(largest, 1), _RED)
    return to_bytes(value - value * saturation * relative)


def contrast(images: Bytes, _draws: Draws, factor: float) -> Bytes:
    """Scale each channel about its mean over the image."""
    means = images.mean(axis=(1, 2), keepdims=True, dtype=np.float32)
    scaled = images * np.float32(factor)
    scaled += (1 - factor) * means
    return to_bytes(scaled)


def pixelate(images: Bytes, _draws: Draws, fraction: float) -> Bytes:
    """Shrink by area averaging and enlarge again with hard edges."""
    height, width = images.shape[1:3]
    small = (max(1, int(width * fraction)), max(1, int(height * fraction)))
    out = np.empty_like(images)
    for image, row in zip(images, out, strict=True):
        shrunk = Image.fromarray(image).resize(small, Image.Resampling.BOX)
        row[:] = np.asarray(shrunk.resize((width, height), Image.Resampling.NEAREST))
    return out


def jpeg_compression(images: Bytes, _draws: Draws, quality: float) -> Bytes:
    """Encode as JPEG and decode again."""
    height, width = images.shape[1:3]
    out = np.empty_like(images)
    for image, row in zip(images, out, strict=True):
        encoded = BytesIO()
        Image.fromarray(image).save(encoded, "JPEG", quality=int(quality))
        # The decoder itself: Image.open would first parse the header, which at 32 px takes longer than decoding.
        row[:] = np.asarray(Image.frombytes("RGB", (width, height), encoded.getvalue(), "jpeg", "RGB", ""))
    return out
