"""Where a run takes place: the machine, the libraries and the commit."""

import os
import platform
import shutil
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

LIBRARIES = ("numpy", "scipy", "pillow", "scikit-learn", "torchvision", "timm")
"""Libraries that decode, corrupt or model; one that is not installed is left out."""


@cache
def library_versions() -> dict[str, str]:
    """Return the versions of what may move a number."""
    import mixnorm

    versions = {"python": platform.python_version(), "mixnorm": mixnorm.__version__, "torch": torch.__version__}
    for name in LIBRARIES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def hardware(device: torch.device) -> dict[str, Any]:
    """Describe the machine."""
    return {
        "system": platform.system(),
        "machine": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "gpu": torch.cuda.get_device_name(device) if device.type == "cuda" else None,
    }


@cache
def commit() -> str | None:
    """Return the commit of mixnorm's own source, `-dirty` with changes; None where it is not a checkout."""
    git = shutil.which("git")
    here = Path(__file__)
    # An installed copy inside another project's checkout is not that project's: its files are not tracked there.
    if git is None or _answer([git, "-C", str(here.parent), "ls-files", here.name]) is None:
        return None
    return _answer([git, "-C", str(here.parent), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"])


def _answer(command: list[str]) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)  # noqa: S603 - our own
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


@cache
def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(": ", 1)[1] for line in lines if line.startswith("model name")), platform.processor())
