"""Where the real data and networks are, and the mark of tests that need them."""

import os
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent
REAL = Path(os.environ.get("MIXNORM_REAL", PROJECT.parent / "shared" / "real"))


def needs_real(test):  # type: ignore[no-untyped-def]
    """Mark a test as needing the real data, and skip it, saying so, where the data is absent."""
    absent = pytest.mark.skipif(
        not (REAL / "models.py").exists(),
        reason=f"the real data and networks are not at {REAL}; set MIXNORM_REAL to where they are",
    )
    return pytest.mark.real(absent(test))
