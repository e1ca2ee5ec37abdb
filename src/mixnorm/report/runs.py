"""A finished run as the page needs it: what a record says, under short names."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from mixnorm.evaluation import Record
from mixnorm.evaluation.record import Cost, Results
from mixnorm.report.labels import label


@dataclass(frozen=True, kw_only=True)
class Run:
    """The results of one record under the label of its method; errors are in percent."""

    id: str
    started: str
    label: str
    fingerprint: Mapping[str, Any]
    results: Results
    cost: Cost

    @property
    def method(self) -> dict[str, Any]:
        """The method with all its settings."""
        return dict(self.fingerprint["method"])

    @property
    def batch_size(self) -> int:
        """How many samples it saw at once."""
        return int(self.fingerprint["batch_size"])

    @property
    def count(self) -> int:
        """The number of samples."""
        return self.results["count"]

    @property
    def error(self) -> float:
        """The share of wrong answers."""
        return self.results["error"]

    @property
    def slowdown(self) -> float | None:
        """The time it takes, in times that of the source model on the same batches, if that was measured."""
        return self.cost["ratio_to_source"]

    @property
    def corruptions(self) -> dict[str, float]:
        """The error under each corruption."""
        return {name: share["error"] for name, share in self.results["by_corruption"].items()}

    def named(self, label: str) -> "Run":
        """Return the same run under another label."""
        return replace(self, label=label)


def finished(records: Iterable[Record]) -> list[Run]:
    """Return the runs of the records that have results."""
    return [
        Run(
            id=record.id,
            started=record.started,
            label=label(record.fingerprint["method"]),
            fingerprint=record.fingerprint,
            results=record.results,
            cost=record.cost,
        )
        for record in records
        if record.results is not None and record.cost is not None
    ]
