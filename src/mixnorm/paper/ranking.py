"""Which method comes before which: what can be compared even where data and model are not the paper's."""

from collections.abc import Mapping
from dataclasses import dataclass

from mixnorm.paper.comparison import Comparison
from mixnorm.paper.table import Line


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """The methods of one row, best first, in the paper and as measured."""

    row: Line
    published: str
    measured: str


def rankings(comparison: Comparison) -> tuple[Ranking, ...]:
    """Return the ranking of each batch size, among the methods that have both numbers, if there are two or more."""
    table = comparison.table
    ranked = []
    for row in table.rows if table.by_batch_size else ():
        cells = [table.cell(row, column) for column in table.columns]
        both = [cell for cell in cells if comparison.difference(cell) is not None]
        published = {cell.column.id: cell.published or 0.0 for cell in both}
        measured = {cell.column.id: comparison.measured(cell) or 0.0 for cell in both}
        if len(both) > 1:
            ranked.append(Ranking(row=row, published=best_first(published), measured=best_first(measured)))
    return tuple(ranked)


def best_first(errors: Mapping[str, float]) -> str:
    """Write names in the order of their errors, the lowest first.

    >>> best_first({"tent": 39.4, "mixnorm": 32.0, "mixnormbn": 32.0})
    'mixnorm = mixnormbn < tent'
    """
    by_error: dict[float, list[str]] = {}
    for name, error in sorted(errors.items(), key=lambda item: item[1]):
        by_error.setdefault(round(error, 2), []).append(name)
    return " < ".join(" = ".join(names) for names in by_error.values())
