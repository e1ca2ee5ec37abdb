"""Plain data: what JSON can hold, its one canonical form, and the checks that everything made from it shares."""

import hashlib
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from mixnorm.errors import SettingError, unknown_name

ID_LENGTH = 16


def plain(name: str, value: object) -> Any:
    """Copy a value as JSON would give it back: tuples become lists and paths text.

    >>> plain("data", {"name": Path("photos"), "corruptions": ("fog",)})
    {'name': 'photos', 'corruptions': ['fog']}
    """
    try:
        return json.loads(json.dumps(value, default=_path, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise SettingError(f"{name} must be plain data that JSON can hold, got {value!r}: {error}") from error


def stable_id(data: object) -> str:
    """Hash plain data; the order of its keys does not matter.

    >>> stable_id({"a": 1, "b": 2}) == stable_id({"b": 2, "a": 1})
    True
    """
    canonical = json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:ID_LENGTH]


def check_fields(kind: str, given: Mapping[str, Any], known: Collection[str]) -> None:
    """Refuse a field that is not known."""
    if not isinstance(given, Mapping):
        raise SettingError(f"a {kind} must be a table of fields ({', '.join(known)}), got {given!r}")
    for field in given:
        if field not in known:
            raise unknown_name(f"field of a {kind}", field, known)


def check_whole_number(name: str, value: object, least: int) -> None:
    """Refuse what is not a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise SettingError(f"{name} must be a whole number of {least} or more, got {value!r}")


def _path(value: object) -> str:
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"a {type(value).__name__} is not plain data")
