"""Paths that a user gives."""

import os
from pathlib import Path

from mixnorm.errors import SettingError


def user_path(what: str, given: object) -> Path:
    """Return what a user gave as a path, with `~` replaced by the home folder, or raise `SettingError`.

    >>> user_path("data set", "")
    Traceback (most recent call last):
    ...
    mixnorm.errors.SettingError: the data set must be a name or a path, got ''
    """
    if not isinstance(given, str | os.PathLike) or not os.fspath(given) or "\0" in str(given):
        raise SettingError(f"the {what} must be a name or a path, got {given!r}")
    try:
        return Path(given).expanduser()
    except RuntimeError as error:  # ~name of a user who does not exist
        raise SettingError(f"the {what} {str(given)!r} is no path: {error}") from error
