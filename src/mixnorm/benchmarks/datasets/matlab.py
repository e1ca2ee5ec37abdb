"""Reading MATLAB's `.mat` files."""

from pathlib import Path
from typing import Any

from mixnorm.errors import DataError, require


def read_mat(path: Path, *keys: str) -> dict[str, Any]:
    """Return the arrays of a `.mat` file, which must hold `keys`."""
    scipy_io = require("scipy.io", "benchmarks")
    try:
        content: dict[str, Any] = scipy_io.loadmat(path, squeeze_me=False)
    except (ValueError, TypeError, OSError, NotImplementedError, scipy_io.matlab.MatReadError) as error:
        raise DataError(f"{path} cannot be read as a .mat file: {error}; download it again") from error
    for key in keys:
        if key not in content:
            raise DataError(f"{path} has no {key!r}; download it again")
    return content
