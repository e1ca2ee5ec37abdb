"""Tables for the terminal, made with rich."""

from collections.abc import Callable
from typing import Any

from mixnorm.errors import require
from mixnorm.paper.comparison import Comparison
from mixnorm.paper.numbers import NO_NUMBER, percent, setting
from mixnorm.paper.ranking import rankings
from mixnorm.paper.table import Cell, Table


def heading(table: Table) -> str:
    """Say which table it is, and where in the paper it stands."""
    return f"{table.title}\n{table.where} of the paper"


def comparison_table(comparison: Comparison) -> Any:
    """Lay out a line for each cell: published, measured, difference."""
    table = comparison.table
    lines = require("rich.table", "benchmarks").Table()
    for heading in _headings(table):
        lines.add_column(heading)
    for heading in ("published", "measured", "difference"):
        lines.add_column(heading, justify="right")
    for group in _groups(table):
        for cell in group:
            lines.add_row(*_names(table, cell), *_numbers(comparison, cell), end_section=cell is group[-1])
    return lines


def ranking_table(comparison: Comparison) -> Any | None:
    """Lay out the methods of each batch size, best first; None where there is nothing to rank."""
    ranked = rankings(comparison)
    if not ranked:
        return None
    lines = require("rich.table", "benchmarks").Table(
        comparison.table.down, "published", "measured", title="Lowest error first", show_lines=True
    )
    for each in ranked:
        lines.add_row(each.row.name, each.published, each.measured)
    return lines


def published_table(table: Table) -> Any:
    """Lay out the published numbers, rows and columns as in the paper."""
    form = percent if table.kind == "results" else setting
    return _as_in_the_paper(table, lambda cell: form(cell.published))


def measured_table(comparison: Comparison, marked: Cell | None) -> Any:
    """Lay out the measured numbers, rows and columns as in the paper, with a star at one cell."""
    return _as_in_the_paper(
        comparison.table, lambda cell: f"{'* ' if cell == marked else ''}{percent(comparison.measured(cell))}"
    )


def _as_in_the_paper(table: Table, text: Callable[[Cell], str]) -> Any:
    lines = require("rich.table", "benchmarks").Table()
    lines.add_column(table.down)
    for column in table.columns:
        lines.add_column(column.name, justify="right")
    for row in table.rows:
        lines.add_row(row.name, *(text(table.cell(row, column)) for column in table.columns))
    return lines


def _headings(table: Table) -> list[str]:
    if table.methods_along == "columns":
        return [table.across, table.down]
    return [table.down, table.across] if len(table.columns) > 1 else [table.down]


def _groups(table: Table) -> list[tuple[Cell, ...]]:
    """Return the cells method by method, or as one group where each method has one cell."""
    if table.methods_along == "columns":
        return [tuple(table.cell(row, column) for row in table.rows) for column in table.columns]
    if len(table.columns) == 1:
        return [table.cells]
    return [tuple(table.cell(row, column) for column in table.columns) for row in table.rows]


def _names(table: Table, cell: Cell) -> list[str]:
    names = {table.down: _row_name(table, cell), table.across: cell.column.name}
    return [names[heading] for heading in _headings(table)]


def _row_name(table: Table, cell: Cell) -> str:
    """Return the heading of a row, with its id where the paper has the heading twice."""
    again = [row for row in table.rows if row.name == cell.row.name]
    return f"{cell.row.name} ({cell.row.id})" if len(again) > 1 else cell.row.name


def _numbers(comparison: Comparison, cell: Cell) -> list[str]:
    difference = comparison.difference(cell)
    signed = NO_NUMBER if difference is None else f"{difference:+.2f}"
    return [percent(cell.published), percent(comparison.measured(cell)), signed]
