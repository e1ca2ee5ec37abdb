"""Images per second of processor time of every corruption at severity 5, beside `imagecorruptions` where that runs.

    OMP_NUM_THREADS=1 python benchmarks/corruptions.py

The package has only the constants for large images, so it is compared with ours at those constants.
"""

import argparse
import importlib
import time
import warnings
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch

from mixnorm.benchmarks.corruptions import CORRUPTIONS, EXTRA_CORRUPTIONS, corrupt

Bytes = npt.NDArray[np.uint8]
SIDES = (32, 224)


def scenes(count: int, side: int) -> Bytes:
    """Draw smooth coloured images with some noise."""
    random = np.random.default_rng(0)
    coarse = random.integers(0, 200, (count, 8, 8, 3))
    return (
        np.kron(coarse, np.ones((1, side // 8, side // 8, 1))) + random.integers(0, 56, (count, side, side, 3))
    ).astype(np.uint8)


def per_second(work: Callable[[], object], images: int, seconds: float) -> float:
    """Repeat the work for some time after a first, uncounted run; return the rate of the fastest run.

    Processor time, because other programs on the machine take from the other kind.
    """
    work()
    best, end = float("inf"), time.process_time() + seconds
    while time.process_time() < end:
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return images / best


def package_rate(name: str, images: Bytes, seconds: float) -> float | str:
    """Measure the package on the same images, or say why it does not run."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            package = importlib.import_module("imagecorruptions")
            return per_second(lambda: [package.corrupt(image, 5, name) for image in images], len(images), seconds)
    except ImportError:
        return "not installed"
    except Exception as error:  # noqa: BLE001  # whatever stops it is the finding
        return f"fails ({type(error).__name__})"


def row(name: str, side: int, seconds: float) -> str:
    images = scenes(256 if side == 32 else 16, side)
    default = per_second(lambda: corrupt(images, name, 5), len(images), seconds)
    large = per_second(lambda: corrupt(images, name, 5, scale="large"), len(images), seconds)
    package = package_rate(name, images[:16], seconds)
    theirs, ratio = (package, "") if isinstance(package, str) else (f"{package:,.0f}", f"{large / package:.1f}x")
    return f"| {name} | {side} | {default:,.0f} | {large:,.0f} | {theirs} | {ratio} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=0.5, help="time for each measurement (default: 0.5)")
    seconds = parser.parse_args().seconds
    torch.set_num_threads(1)
    print("| corruption | side | images/s | with large constants | imagecorruptions | ratio |")
    print("|---|---:|---:|---:|---:|---:|")
    for side in SIDES:
        for name in CORRUPTIONS + EXTRA_CORRUPTIONS:
            print(row(name, side, seconds), flush=True)


if __name__ == "__main__":
    main()
