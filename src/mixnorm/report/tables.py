"""Tables of a protocol: errors with their uncertainty, and everything that was measured."""

from collections.abc import Iterable, Sequence

from mixnorm.report.chart import legend
from mixnorm.report.groups import Group
from mixnorm.report.html import Html, element
from mixnorm.report.interval import wilson
from mixnorm.report.runs import Run

ABSENT = "n/a"
_COSTS = (
    ("images_per_second", "images/s", ",.0f"),
    ("latency_p50_ms", "p50 (ms)", ",.1f"),
    ("latency_p95_ms", "p95 (ms)", ",.1f"),
    ("peak_memory_mb", "memory (MB)", ",.0f"),
    ("ratio_to_source", "time / Source", ".2f"),
)
_QUALITIES = (("mce", "mCE (%)", ".1f"), ("ece", "ECE", ".3f"), ("nll", "NLL", ".2f"), ("rejected", "rejected", ","))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Html:
    """Make a table whose first column names the rows; it scrolls by itself where the page is narrow."""
    header = element("tr", *(element("th", cell, scope="col") for cell in head))
    body = [
        element(
            "tr",
            element("th", row[0], scope="row"),
            *(cell if _is_cell(cell) else element("td", cell) for cell in row[1:]),
        )
        for row in rows
    ]
    whole = element("table", element("thead", header), element("tbody", *body))
    return element("div", whole, class_="scroll", tabindex="0")


def _is_cell(cell: str) -> bool:
    return isinstance(cell, Html) and cell.startswith("<td")


def error_table(group: Group, numbers: dict[str, int]) -> Html:
    """Show the error of each method at each batch size with its 95 % interval; the lowest of a column stands out."""
    sizes = group.batch_sizes
    lowest = {size: min(run.error for run in group.runs if run.batch_size == size) for size in sizes}
    rows = [
        [
            legend([(method, numbers[method])]),
            *(_error_cell(group.run(method, size), lowest[size]) for size in sizes),
            _time_cell(group.of(method)),
        ]
        for method in group.methods
    ]
    return table(["error (%)", *(f"batch {size}" for size in sizes), "time / Source"], rows)


def _error_cell(run: Run | None, lowest: float) -> Html:
    if run is None:
        return element("td", ABSENT)
    low, high = (100 * bound for bound in wilson(run.error / 100, run.count))
    best = "best" if run.error == lowest else None
    return element("td", f"{run.error:.1f}", element("small", f"{low:.1f} to {high:.1f}"), class_=best)


def _time_cell(runs: Sequence[Run]) -> Html:
    measured = [run.slowdown for run in runs if run.slowdown is not None]
    if not measured:
        return element("td", ABSENT)
    low, high = f"{min(measured):.1f}", f"{max(measured):.1f}"
    return element("td", low if low == high else f"{low} to {high}")


def run_table(group: Group) -> Html:
    """Show everything that was measured, a row for each run."""
    head = ["method", "batch", "error (%)", *(name for _, name, _ in (*_QUALITIES, *_COSTS))]
    rows = [_run_row(run) for method in group.methods for run in group.of(method)]
    return table(head, rows)


def _run_row(run: Run) -> list[str]:
    qualities = [number(run.results.get(field), shape) for field, _, shape in _QUALITIES]
    costs = [number(run.cost.get(field), shape) for field, _, shape in _COSTS]
    return [run.label, str(run.batch_size), f"{run.error:.2f}", *qualities, *costs]


def number(value: object, shape: str) -> str:
    """Write a number, or a dash where there is none."""
    return ABSENT if value is None else format(value, shape)
