"""Pictures as PNG, with nothing but the standard library, so that records need no image library."""

import struct
import zlib

import torch
from torch import Tensor
from torch.nn.functional import interpolate

SIGNATURE = b"\x89PNG\r\n\x1a\n"
RGB_8_BIT = (8, 2, 0, 0, 0)
LARGEST_SIDE = 96


def encode_png(image: Tensor) -> bytes:
    """Encode an RGB image (3, H, W) of floats in [0, 1], made smaller if a side is longer than 96 pixels."""
    image = _thumbnail(image.detach().float().cpu())
    pixels = (image.clamp(0, 1) * 255).round().to(torch.uint8).permute(1, 2, 0)
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.numpy().tobytes() for row in pixels.contiguous())
    header = struct.pack(">IIBBBBB", width, height, *RGB_8_BIT)
    chunks = (_chunk(b"IHDR", header), _chunk(b"IDAT", zlib.compress(rows, 9)), _chunk(b"IEND", b""))
    return SIGNATURE + b"".join(chunks)


def _thumbnail(image: Tensor) -> Tensor:
    scale = LARGEST_SIDE / max(image.shape[-2:])
    if scale >= 1:
        return image
    size = [max(1, round(side * scale)) for side in image.shape[-2:]]
    return interpolate(image[None], size, mode="bilinear", antialias=True)[0]


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
