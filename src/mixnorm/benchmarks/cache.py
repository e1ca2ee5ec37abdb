"""Where downloaded data and weights are kept."""

import os
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
