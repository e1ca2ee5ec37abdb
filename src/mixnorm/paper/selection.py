"""Choosing from a table: some of its methods, others beside them, other batch sizes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mixnorm.errors import SettingError, unknown_name
from mixnorm.paper.table import Line, Table

ADDED = {
    "source": Line(id="source", name="Source", settings={"method": "Source"}),
    "bn": Line(id="bn", name="BN", settings={"method": "BatchStatistics"}),
    "ttt": Line(id="ttt", name="TTT", settings={"method": "Ttt"}),
    "shot": Line(id="shot", name="SHOT", settings={"method": "Shot"}),
}
"""What may be run beside the methods of any table, though the paper prints no number for it."""


def select(
    table: Table,
    *,
    methods: Sequence[str] | None = None,
    batch_sizes: Sequence[int] | None = None,
    columns: Sequence[str] | None = None,
) -> Table:
    """Return the table with these methods, batch sizes and columns alone; new ones have no published number.

    >>> from mixnorm.paper import load_table
    >>> chosen = select(load_table("cifar10-c-mixed-wrn28"), methods=["bn", "tent"], batch_sizes=[200, 400])
    >>> [cell.published for cell in chosen.cells]
    [None, 33.12, None, None]
    """
    if methods is not None:
        table = _with_methods(table, methods)
    if batch_sizes is not None:
        table = _with_batch_sizes(table, batch_sizes)
    if columns is not None:
        table = _with_columns(table, columns)
    return table


def known_methods(table: Table) -> tuple[str, ...]:
    """Return the names of all methods that can be run for a table.

    >>> from mixnorm.paper import load_table
    >>> known_methods(load_table("cifar10-c-mixed-wrn28"))
    ('tent', 'mixnorm-fixed', 'mixnorm', 'mixnormbn', 'source', 'bn', 'ttt', 'shot')
    """
    return tuple(_methods(table))


def _methods(table: Table) -> dict[str, Line]:
    lines = table.rows if table.methods_along == "rows" else table.columns
    return {line.id: line for line in lines} | {
        name: line for name, line in ADDED.items() if name not in {each.id for each in lines}
    }


def _with_methods(table: Table, methods: Sequence[str]) -> Table:
    known = _methods(table)
    for name in methods:
        if name not in known:
            raise unknown_name(f"method of {table.name}", name, known)
    chosen = tuple(known[name] for name in dict.fromkeys(methods))
    return replace(table, rows=chosen) if table.methods_along == "rows" else replace(table, columns=chosen)


def _with_batch_sizes(table: Table, sizes: Sequence[int]) -> Table:
    if table.by_batch_size:
        return replace(table, rows=tuple(_row(table, size) for size in dict.fromkeys(sizes)))
    if len(sizes) != 1:
        raise SettingError(f"{table.name} has results at one batch size; give one, not {list(sizes)}")
    return replace(table, shared={**table.shared, "batch_size": sizes[0]})


def _with_columns(table: Table, ids: Sequence[str]) -> Table:
    known = {column.id: column for column in table.columns}
    for column in ids:
        if column not in known:
            raise unknown_name(f"column of {table.name}", column, known)
    places = [table.columns.index(known[column]) for column in dict.fromkeys(ids)]
    rows = tuple(replace(row, settings=_taken(row.settings, places)) for row in table.rows)
    return replace(table, columns=tuple(table.columns[place] for place in places), rows=rows)


def _taken(settings: Mapping[str, Any], places: Sequence[int]) -> dict[str, Any]:
    """Return the settings of a row at some columns alone: a list has one value for each column."""
    return {
        key: [value[place] for place in places] if isinstance(value, list) else value for key, value in settings.items()
    }


def _row(table: Table, size: int) -> Line:
    known = {row.settings["batch_size"]: row for row in table.rows}
    return known.get(size, Line(id=str(size), name=str(size), settings={"batch_size": size}))
