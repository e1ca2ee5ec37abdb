"""A comparison as a page of Markdown."""

from collections.abc import Sequence

from mixnorm.paper.comparison import Comparison
from mixnorm.paper.numbers import percent
from mixnorm.paper.ranking import rankings
from mixnorm.paper.sentences import sentences
from mixnorm.paper.table import Cell


def page(comparison: Comparison, picture: str | None = None) -> str:
    """Write the numbers, the figure at `picture` if there is one, the rankings, and what is to be known."""
    table = comparison.table
    parts = [
        f"# {table.title}\n\n{table.where}. Measured, and published in brackets.\n",
        _numbers(comparison),
        f"![{table.title}]({picture})\n" if picture else "",
        _rankings(comparison),
        "".join(f"- {sentence}\n" for sentence in sentences(comparison)),
    ]
    return "\n".join(part for part in parts if part)


def _numbers(comparison: Comparison) -> str:
    table = comparison.table
    return _markdown(
        [table.down, *(column.name for column in table.columns)],
        [[row.name, *(_both(comparison, table.cell(row, column)) for column in table.columns)] for row in table.rows],
    )


def _rankings(comparison: Comparison) -> str:
    rows = [[each.row.name, each.published, each.measured] for each in rankings(comparison)]
    heads = [comparison.table.down, "published, lowest error first", "measured, lowest error first"]
    return _markdown(heads, rows) if rows else ""


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, ["---"] * len(head), *rows))


def _both(comparison: Comparison, cell: Cell) -> str:
    return f"{percent(comparison.measured(cell))} ({percent(cell.published)})"
