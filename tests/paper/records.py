"""Records of runs that were never done, with errors that a test can recognise."""

from collections.abc import Callable, Mapping

from mixnorm.evaluation import Record, RunSpec
from mixnorm.evaluation.record import Results
from mixnorm.paper.comparison import Comparison
from mixnorm.paper.specs import Setup, spec_of
from mixnorm.paper.table import Cell, Table


def record(spec: RunSpec, errors: Mapping[str, float], counts: Mapping[str, int] | None = None) -> Record:
    """Make a record with an error for each corruption; the overall one is weighted by how often each occurs."""
    counts = counts or dict.fromkeys(errors, 10)
    total = sum(counts.values())
    results: Results = {
        "count": total,
        "error": sum(errors[name] * counts[name] for name in errors) / total,
        "by_corruption": {name: {"count": counts[name], "error": error} for name, error in errors.items()},
        "over_time": [],
        "mce": None,
        "ece": None,
        "nll": None,
        "rejected": 0,
        "skipped_steps": 0,
        "examples": [],
    }
    return Record(
        id=spec.id,
        spec=spec.to_dict(),
        fingerprint={"order": spec.protocol.order},
        results=results,
        cost={
            "images_per_second": 1.0,
            "latency_p50_ms": 1.0,
            "latency_p95_ms": 1.0,
            "peak_memory_mb": None,
            "ratio_to_source": None,
        },
        hardware={},
        commit=None,
        started="2000-01-01T00:00:00+00:00",
        duration_s=1.0,
        error=None,
    )


def comparison(table: Table, error_of: Callable[[Cell], float], setup: Setup | None = None) -> Comparison:
    """Make a comparison with an error for each cell."""
    setup = setup or Setup()
    return Comparison(
        table=table,
        setup=setup,
        records={
            (cell.row.id, cell.column.id): record(spec_of(table, cell, setup), {"fog": error_of(cell)})
            for cell in table.cells
        },
    )
