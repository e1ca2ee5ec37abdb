"""A table of the paper: its rows, its columns, the published numbers, and the run behind each."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from mixnorm.adaptation import Method
from mixnorm.errors import unknown_name

Kind = Literal["results", "settings", "datasets"]
Measure = Literal["error", "accuracy"]
Axis = Literal["rows", "columns"]


@dataclass(frozen=True, kw_only=True)
class Run:
    """What a published result is the result of: data, model, protocol and method."""

    data: str
    order: str
    reset: str
    severity: int
    model: str
    batch_size: int
    method: Method
    corruptions: tuple[str, ...] | None = None
    """None for all that the data set has for testing."""
    resize: int | None = None
    """The side in pixels to which images are scaled; None leaves them as they are."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """A row or column: a short name to ask for it, its heading in the paper, and what it says about its runs."""

    id: str
    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    printed: Mapping[str, float] = field(default_factory=dict)
    """Further numbers that the paper prints in this row."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One place in a table; `published` is None where the paper has no number."""

    row: Line
    column: Line
    published: float | None


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of the paper as data.

    `results` have a run behind each cell; `settings` and `datasets` are what the paper says about methods and data.
    """

    name: str
    title: str
    where: str
    """Where in the paper it stands."""
    kind: Kind
    down: str
    """What the headings of the rows are."""
    across: str
    """What the headings of the columns are."""
    rows: tuple[Line, ...]
    columns: tuple[Line, ...]
    published: Mapping[tuple[str, str], float | None]
    """The numbers by the ids of their row and column, results in percent."""
    shared: Mapping[str, Any] = field(default_factory=dict)
    """What all runs of the table have in common."""
    measure: Measure = "error"
    label: str | None = None
    """The label of the table in the paper's source."""
    notes: tuple[str, ...] = ()
    """Misprints and gaps, and what is assumed."""

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """All cells, row by row."""
        return tuple(self.cell(row, column) for row in self.rows for column in self.columns)

    def cell(self, row: Line, column: Line) -> Cell:
        """Return the cell where a row and a column meet."""
        return Cell(row=row, column=column, published=self.published.get((row.id, column.id)))

    def run(self, cell: Cell) -> Run:
        """Return the run behind a cell, put together from what the table, its column and its row say.

        >>> from mixnorm.paper import load_table
        >>> table = load_table("cifar10-c-mixed-wrn28")
        >>> table.run(table.cells[-1]).method.m, table.run(table.cells[-1]).batch_size
        (0.2, 200)
        """
        place = self.columns.index(cell.column)
        sayings = (self.shared, cell.column.settings, _at(place, cell.row.settings))
        said = {key: value for saying in sayings for key, value in saying.items()}
        settings = {key: value for saying in sayings for key, value in saying.get("settings", {}).items()}
        method = _method(said.pop("method"), said.pop("preset", None), settings)
        return Run(method=method, **{key: value for key, value in said.items() if key != "settings"})

    @property
    def can_run(self) -> bool:
        """Whether there are runs behind the numbers."""
        return self.kind == "results"

    @property
    def methods_along(self) -> Axis:
        """Whether each row or each column is a method of its own."""
        return "rows" if any({"method", "preset"} & set(row.settings) for row in self.rows) else "columns"

    @property
    def by_batch_size(self) -> bool:
        """Whether each row is a batch size, so that the table can be drawn as curves."""
        return all("batch_size" in row.settings for row in self.rows)


def _at(place: int, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a row at one of its columns: a list has one value for each column."""
    return {key: value[place] if isinstance(value, list) else value for key, value in settings.items()}


def _method(name: str, preset: str | None, settings: Mapping[str, Any]) -> Method:
    if name not in Method.registry:
        raise unknown_name("method", name, Method.registry)
    kind = Method.registry[name]
    method = kind() if preset is None else kind.preset(preset)
    return Method.from_dict({**method.to_dict(), **settings})
