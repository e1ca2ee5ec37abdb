"""Whole numbers that a user gives: Python's and numpy's, but no truth values and no floats."""

import numpy as np

from mixnorm.errors import SettingError


def whole_number(name: str, value: object, least: int) -> int:
    """Return a whole number of at least `least` as Python's, or raise `SettingError`.

    >>> whole_number("limit", np.int64(3), 1)
    3
    """
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise SettingError(f"{name} must be a whole number of {least} or more, got {value!r}")
    return int(value)
