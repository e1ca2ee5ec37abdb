"""Checks that the settings of methods share."""

import sys

from mixnorm.errors import SettingError


def check_number(name: str, value: object, low: float, high: float) -> None:
    """Refuse what is not a number of a closed range."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        bounds = f"from {low:g} to {high:g}" if high < sys.float_info.max else f"of {low:g} or more"
        raise SettingError(f"{name} must be a number {bounds}, got {value!r}")


def check_count(name: str, value: object, *, least: int = 0) -> None:
    """Refuse what is not a whole number of zero or more, or of the least that is allowed."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise SettingError(f"{name} must be a whole number of {least} or more, got {value!r}")


def check_kind(name: str, value: object, kind: type) -> None:
    """Refuse what is neither None nor of the kind expected."""
    if value is not None and not isinstance(value, kind):
        raise SettingError(f"{name} must be None or a {kind.__name__}(...), got {value!r}")


def check_name(name: str, value: object) -> None:
    """Refuse what is neither None nor a name."""
    if value is not None and (not isinstance(value, str) or not value):
        raise SettingError(f"{name} must be None or the name of a module, got {value!r}")
