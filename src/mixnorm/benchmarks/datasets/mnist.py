"""MNIST in its idx format."""

import gzip
import struct
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mixnorm.benchmarks.datasets.arrays import ArrayDataset
from mixnorm.benchmarks.datasets.digits import DIGITS
from mixnorm.benchmarks.datasets.fetch import find
from mixnorm.benchmarks.datasets.sizing import Sizing
from mixnorm.errors import DataError

PREFIX = {"test": "t10k", "train": "train"}
UNSIGNED_BYTE = 0x08


def load_mnist(split: str, sizing: Sizing, data_dir: Path | None) -> ArrayDataset:
    """Return MNIST: 60,000 training and 10,000 test digits of 28 px."""
    pixels = _read_idx(find("mnist", f"mnist/{PREFIX[split]}-images-idx3-ubyte.gz", data_dir))
    labels = _read_idx(find("mnist", f"mnist/{PREFIX[split]}-labels-idx1-ubyte.gz", data_dir))
    return ArrayDataset("mnist", pixels, labels, DIGITS, sizing=sizing)


def _read_idx(path: Path) -> npt.NDArray[np.uint8]:
    """Read two zero bytes, the type, the number of axes, each axis' length (big-endian), then the values."""
    try:
        content = gzip.decompress(path.read_bytes())
        zeros, kind, axes = struct.unpack_from(">HBB", content)
        shape = struct.unpack_from(f">{axes}I", content, 4)
        if zeros or kind != UNSIGNED_BYTE:
            raise DataError("its values are not bytes")
        return np.frombuffer(content, np.uint8, offset=4 + 4 * axes).reshape(shape)
    except (OSError, EOFError, ValueError, struct.error, zlib.error) as error:
        raise DataError(f"{path} cannot be read as a gzipped idx file: {error}; download it again") from error
