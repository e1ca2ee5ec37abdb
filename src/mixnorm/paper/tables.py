"""Reading the tables of the paper, which are part of the package as TOML files."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, get_args

from mixnorm.errors import DataError, MixNormError, unknown_name
from mixnorm.paper.table import Kind, Line, Measure, Table

NOT_PRINTED = "-"
DATA_KEYS = ("data", "severity", "corruptions", "resize")
RUN_KEYS = (*DATA_KEYS, "order", "reset", "model", "batch_size", "method", "preset", "settings")
PARTS = ("run", "columns", "rows")
TABLE_KEYS = ("title", "where", "label", "kind", "measure", "down", "across", "notes")


def list_tables() -> tuple[Table, ...]:
    """Return all tables of the paper, by name.

    >>> [table.name for table in list_tables() if table.kind == "datasets"]
    ['corruption-datasets', 'digit-datasets', 'zero-shot-datasets']
    """
    return tuple(load_table(name) for name in _files())


@cache
def load_table(name: str) -> Table:
    """Return a table of the paper by its name.

    >>> load_table("domain-adaptation").published["mixnormbn", "usps"]
    25.71
    """
    if name not in _files():
        raise unknown_name("table", name, _files())
    return read_table(name, _files()[name])


def read_table(name: str, text: str) -> Table:
    """Make a table from the text of its file, and refuse one that is not whole."""
    try:
        table = _table(name, tomllib.loads(text))
        if table.kind == "results":
            for cell in table.cells:
                table.run(cell)
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError, MixNormError) as error:
        raise DataError(f"the table {name} cannot be read: {type(error).__name__}: {error}") from error
    return table


@cache
def _files() -> dict[str, str]:
    """Return the text of each file by its name."""
    files = [file for file in (resources.files(__package__) / "tables").iterdir() if file.name.endswith(".toml")]
    texts = {file.name.removesuffix(".toml"): file.read_text(encoding="utf-8") for file in files}
    return dict(sorted(texts.items()))


def _table(name: str, said: dict[str, Any]) -> Table:
    _refuse_unknown("table", said, (*TABLE_KEYS, *PARTS))
    rows = [(_line("row", row), row["values"]) for row in said.pop("rows")]
    columns = tuple(_line("column", column) for column in said.pop("columns"))
    shared = said.pop("run", {})
    _refuse_unknown("run", shared, RUN_KEYS)
    _check_choice("kind", said["kind"], get_args(Kind))
    _check_choice("measure", said.get("measure", "error"), get_args(Measure))
    return Table(
        name=name,
        rows=_distinct(tuple(row for row, _ in rows)),
        columns=_distinct(columns),
        published={key: value for row, values in rows for key, value in _published(row, columns, values).items()},
        shared=shared,
        notes=tuple(said.pop("notes", ())),
        **said,
    )


def _line(kind: str, said: Mapping[str, Any]) -> Line:
    _refuse_unknown(kind, said, ("id", "name", "printed", "values", *RUN_KEYS))
    settings = {key: value for key, value in said.items() if key in RUN_KEYS}
    # A row that is a batch size goes by its number.
    name = str(said.get("name", said.get("batch_size")))
    return Line(id=said.get("id", name), name=name, settings=settings, printed=said.get("printed", {}))


def _published(row: Line, columns: tuple[Line, ...], values: list[Any]) -> dict[tuple[str, str], float | None]:
    return {
        (row.id, column.id): None if value == NOT_PRINTED else float(value)
        for column, value in zip(columns, values, strict=True)
    }


def _distinct(lines: tuple[Line, ...]) -> tuple[Line, ...]:
    ids = [line.id for line in lines]
    if not ids or len(set(ids)) < len(ids):
        raise DataError(f"there must be lines, each with an id of its own, not {ids}")
    return lines


def _refuse_unknown(kind: str, said: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in said:
        if key not in known:
            raise unknown_name(f"key of a {kind}", key, known)


def _check_choice(key: str, given: object, known: tuple[str, ...]) -> None:
    if given not in known:
        raise unknown_name(key, given, known)
