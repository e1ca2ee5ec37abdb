"""What is published beside what was measured."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from mixnorm.evaluation import Record
from mixnorm.paper.specs import Setup
from mixnorm.paper.table import Cell, Table


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A table of the paper with the records of its cells, as far as there are any."""

    table: Table
    setup: Setup
    records: Mapping[tuple[str, str], Record]
    """By the ids of row and column."""

    def record(self, cell: Cell) -> Record | None:
        """Return the record of a cell, or None where it has not been run."""
        return self.records.get((cell.row.id, cell.column.id))

    def measured(self, cell: Cell) -> float | None:
        """Return the measured number in percent, or None where there is none."""
        record = self.record(cell)
        error = reported_error(record) if record else None
        return error if error is None or self.table.measure == "error" else 100 - error

    def difference(self, cell: Cell) -> float | None:
        """Return measured minus published, or None where one of them is missing."""
        measured = self.measured(cell)
        return None if measured is None or cell.published is None else measured - cell.published

    @property
    def failures(self) -> dict[str, str]:
        """Why runs failed, by row and column."""
        return {
            f"{cell.row.id}, {cell.column.id}": f"{record.error['type']}: {record.error['message']}"
            for cell in self.table.cells
            if (record := self.record(cell)) and record.error
        }

    @property
    def like_the_paper(self) -> bool:
        """Whether data, model, the number of images and how often they are seen are the paper's own."""
        setup = self.setup
        return not (setup.data or setup.model or setup.checkpoint or setup.limit or setup.split or setup.epochs)

    def to_dict(self) -> dict[str, Any]:
        """Write the comparison as plain data."""
        return {
            "table": self.table.name,
            "title": self.table.title,
            "where": self.table.where,
            "measure": f"{self.table.measure} in %" if self.table.kind == "results" else None,
            "setup": asdict(self.setup),
            "cells": [self._cell(cell) for cell in self.table.cells],
            "failures": self.failures,
            "notes": list(self.table.notes),
        }

    def _cell(self, cell: Cell) -> dict[str, Any]:
        record = self.record(cell)
        return {
            "row": cell.row.id,
            "column": cell.column.id,
            "published": cell.published,
            "measured": self.measured(cell),
            "difference": self.difference(cell),
            "record": record.id if record else None,
        }


def reported_error(record: Record) -> float | None:
    """Return the error as the paper reports it, or None for a run that failed.

    Corruptions one after another are evaluations of their own, and their errors are averaged; a mixture is one.
    """
    if record.results is None:
        return None
    if record.fingerprint["order"] != "single":
        return record.results["error"]
    errors = [share["error"] for share in record.results["by_corruption"].values()]
    return sum(errors) / len(errors)
