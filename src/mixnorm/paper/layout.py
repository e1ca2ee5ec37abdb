"""A comparison as people read it: a table for the terminal, a table for a page, and the sentences below."""

from collections.abc import Iterator
from typing import Any

from mixnorm.errors import require
from mixnorm.paper.comparison import Comparison
from mixnorm.paper.ranking import rankings
from mixnorm.paper.table import Cell, Table

NO_NUMBER = "-"


def for_terminal(comparison: Comparison) -> Any:
    """Return a rich table with a line for each cell: published, measured, difference."""
    table = comparison.table
    lines = require("rich.table", "benchmarks").Table(title=f"{table.title} ({table.where})")
    for heading in _headings(table):
        lines.add_column(heading)
    for heading in ("published", "measured", "difference"):
        lines.add_column(heading, justify="right")
    for group in _groups(table):
        for cell in group:
            lines.add_row(*_names(table, cell), *_numbers(comparison, cell), end_section=cell is group[-1])
    return lines


def ranking_for_terminal(comparison: Comparison) -> Any | None:
    """Return a rich table with the methods of each batch size, best first, or None where there is nothing to rank."""
    ranked = rankings(comparison)
    if not ranked:
        return None
    lines = require("rich.table", "benchmarks").Table(
        comparison.table.down, "published", "measured", title="Lowest error first", show_lines=True
    )
    for each in ranked:
        lines.add_row(each.row.name, each.published, each.measured)
    return lines


def for_page(comparison: Comparison) -> str:
    """Return the table as Markdown, rows and columns as in the paper: measured, and published in brackets."""
    table = comparison.table
    head = [table.down, *(column.name for column in table.columns)]
    rows = [
        [row.name, *(_measured_and_published(comparison, table.cell(row, column)) for column in table.columns)]
        for row in table.rows
    ]
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def sentences(comparison: Comparison) -> tuple[str, ...]:
    """Say what the numbers are, what to compare, what failed, and what is odd about the published ones."""
    return (*_about(comparison), *_failures(comparison), *(f"In the paper: {note}" for note in comparison.table.notes))


def _about(comparison: Comparison) -> Iterator[str]:
    table, setup = comparison.table, comparison.setup
    if table.kind != "results":
        return
    run = table.run(table.cells[0])
    yield f"{table.measure.capitalize()} in %, difference = measured - published."
    if not comparison.records:
        return
    data = f"{setup.data or run.data}{f', {setup.limit} images' if setup.limit else ''}"
    yield f"Measured with {setup.model or run.model} on {data}; published with {run.model} on {run.data}."
    if not comparison.like_the_paper:
        yield "These are not the paper's data and model in full: compare the order of the methods, not the numbers."


def _failures(comparison: Comparison) -> Iterator[str]:
    if comparison.failures:
        yield f"{len(comparison.failures)} of {len(comparison.table.cells)} runs failed:"
    for where, why in comparison.failures.items():
        yield f"  {where}: {why}"


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
    names = {table.down: _with_id(table, cell), table.across: cell.column.name}
    return [names[heading] for heading in _headings(table)]


def _with_id(table: Table, cell: Cell) -> str:
    """Return the heading of a row, with its id where the paper has the heading twice."""
    again = [row for row in table.rows if row.name == cell.row.name]
    return f"{cell.row.name} ({cell.row.id})" if len(again) > 1 else cell.row.name


def _numbers(comparison: Comparison, cell: Cell) -> list[str]:
    difference = comparison.difference(cell)
    return [
        _number(cell.published),
        _number(comparison.measured(cell)),
        NO_NUMBER if difference is None else f"{difference:+.2f}",
    ]


def _number(value: float | None) -> str:
    return NO_NUMBER if value is None else f"{value:.2f}"


def _measured_and_published(comparison: Comparison, cell: Cell) -> str:
    return f"{_number(comparison.measured(cell))} ({_number(cell.published)})"
