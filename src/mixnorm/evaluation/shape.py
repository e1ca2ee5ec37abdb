"""Checking that plain data has the shape that its type says, so that nothing fails on it later."""

from collections.abc import Mapping
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints, is_typeddict

from mixnorm.errors import DataError


def check_shape(place: str, value: object, kind: Any) -> None:
    """Refuse a value that is not of a type made of numbers, text, lists, tables and their unions.

    >>> check_shape("errors", [1.5, 2], list[float])
    >>> check_shape("errors", [1.5, "2"], list[float])
    Traceback (most recent call last):
    mixnorm.errors.DataError: its errors[1] is '2', not a number
    """
    if kind is Any:
        return
    if isinstance(kind, UnionType):
        if not (value is None and type(None) in get_args(kind)):
            check_shape(place, value, next(one for one in get_args(kind) if one is not type(None)))
    elif is_typeddict(kind):
        _check_table(place, value, kind)
    elif get_origin(kind) in (list, dict):
        _check_members(place, value, kind)
    elif not _is_plain(value, kind):
        raise DataError(f"its {place} is {value!r:.60}, not {NAMES[kind]}")


NAMES = {int: "a whole number", float: "a number", str: "text", list: "a list", dict: "a table"}


def _check_table(place: str, value: object, kind: Any) -> None:
    if not isinstance(value, Mapping):
        raise DataError(f"its {place} is {value!r:.60}, not a table")
    if lacking := kind.__required_keys__ - set(value):
        raise DataError(f"its {place} lacks {', '.join(sorted(lacking))}")
    for name, inner in get_type_hints(kind).items():
        if name in value:
            check_shape(f"{place}.{name}", value[name], inner)


def _check_members(place: str, value: object, kind: Any) -> None:
    if not isinstance(value, get_origin(kind)):
        raise DataError(f"its {place} is {value!r:.60}, not {NAMES[get_origin(kind)]}")
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for name, member in members:
        check_shape(f"{place}[{name}]", member, get_args(kind)[-1])


def _is_plain(value: object, kind: Any) -> bool:
    return isinstance(value, (int, float) if kind is float else kind) and not isinstance(value, bool)
