"""The peak memory of this process."""

import contextlib
from pathlib import Path

import torch

PROCESS = Path("/proc/self")
MEGABYTE = 2**20


def forget_peak_memory(device: torch.device) -> None:
    """Start the measurement anew, where the system can."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    with contextlib.suppress(OSError):
        (PROCESS / "clear_refs").write_text("5")


def peak_memory_mb(device: torch.device) -> float | None:
    """Return the peak since the last `forget_peak_memory`, or None where the system does not tell.

    On a GPU it is what torch has allocated there. Otherwise it is the resident memory of the whole process: Python,
    torch, the data and the model are in it. Where the system cannot forget (anything but Linux) it is the peak since
    the process began, so that of a run after a larger one is too high.
    """
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / MEGABYTE
    try:
        status = dict(line.split(":", 1) for line in (PROCESS / "status").read_text().splitlines())
        return int(status["VmHWM"].split()[0]) / 1024
    except (OSError, KeyError):
        return _peak_since_start()


def _peak_since_start() -> float | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    import sys

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / MEGABYTE
