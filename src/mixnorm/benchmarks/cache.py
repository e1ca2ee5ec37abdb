"""Where downloaded data and weights are kept, and how files get there whole."""

import os
import tempfile
from pathlib import Path

from mixnorm.errors import require


def data_dir() -> Path:
    """Return the one folder of all data: `MIXNORM_DATA` when it is set, else the platform's cache folder.

    The variable is read on each call, and the folder need not exist yet.
    """
    chosen = os.environ.get("MIXNORM_DATA")
    if chosen:
        return Path(chosen).expanduser()
    return Path(require("platformdirs", "benchmarks").user_cache_dir("mixnorm", appauthor=False))


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that other processes see all of it or nothing: to a temporary file beside it, then renamed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
