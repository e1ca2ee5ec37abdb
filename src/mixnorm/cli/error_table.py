"""Errors by method and batch size as tables for the terminal."""

from collections.abc import Iterator
from typing import Any

from mixnorm.errors import require
from mixnorm.report import Findings, Group


def error_tables(findings: Findings) -> Iterator[Any]:
    """Make a table for each protocol: a row for each method, a column for each batch size."""
    for group in findings.groups:
        title = f"Error in %, {group.name}, {group.count:,} samples"
        columns = [f"batch {size}" for size in group.batch_sizes]
        table = require("rich.table", "benchmarks").Table("method", *columns, "time / Source", title=title)
        for method in group.methods:
            table.add_row(*_row(group, method))
        yield table


def _row(group: Group, method: str) -> list[str]:
    runs = [group.run(method, size) for size in group.batch_sizes]
    times = [run.slowdown for run in runs if run is not None and run.slowdown is not None]
    span = f"{min(times):.1f} to {max(times):.1f}" if times else "n/a"
    return [method, *("n/a" if run is None else f"{run.error:.1f}" for run in runs), span]
