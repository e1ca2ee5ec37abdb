"""Grids: the runs of all combinations of some settings."""

import copy
import itertools
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mixnorm.errors import DataError, MissingDataError, SettingError
from mixnorm.evaluation import RunSpec
from mixnorm.evaluation.plain import check_fields


def grid(base: Mapping[str, Any], axes: Mapping[str, Sequence[Any]]) -> list[RunSpec]:
    """Make a run for each combination of the axes' values, the last axis changing fastest.

    An axis is a field of a run, or with dots a field of its data, protocol or method.

    >>> base = {"model": "digits", "data": {"name": "digits-c"}}
    >>> runs = grid(base, {"method": ["Source", "MixNorm:m=0.2"], "protocol.batch_size": [1, 64]})
    >>> [(run.method["method"], run.protocol.batch_size) for run in runs]
    [('Source', 1), ('Source', 64), ('MixNorm', 1), ('MixNorm', 64)]
    """
    for name, values in axes.items():
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise SettingError(f"the axis {name!r} must have a list of one value or more, got {values!r}")
    return [_spec(base, dict(zip(axes, values, strict=True))) for values in itertools.product(*axes.values())]


def read_grid(path: str | Path) -> list[RunSpec]:
    """Read a grid from a TOML file: a table `base` of what all runs share, and a table `axes` of lists."""
    path = Path(path)
    if not path.is_file():
        raise MissingDataError(f"there is no grid {str(path)!r}; write one with the tables [base] and [axes]")
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is not a TOML file: {error}") from error
    check_fields("grid", content, ("base", "axes"))
    return grid(content.get("base", {}), dict(_flat(content.get("axes", {}))))


def _flat(axes: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Name nested axes with dots: TOML reads `data.severity = [1, 5]` as a table in a table."""
    for name, values in axes.items():
        if isinstance(values, Mapping):
            yield from _flat(values, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", values


def _spec(base: Mapping[str, Any], settings: Mapping[str, Any]) -> RunSpec:
    data = copy.deepcopy(dict(base))
    for name, value in settings.items():
        *tables, field = name.split(".")
        place = data
        for table in tables:
            place = place.setdefault(table, {})
        if not isinstance(place, dict):
            raise SettingError(f"the axis {name!r} needs a table {'.'.join(tables)!r} in the base, not {place!r}")
        place[field] = value
    return RunSpec.from_dict(data)
