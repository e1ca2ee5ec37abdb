"""Measuring adaptation: protocols, evaluation, metrics, runs as plain data, and their records."""

from mixnorm.evaluation.compare import (
    check_comparable,
    corruption_errors,
    differences,
    relative_mce,
    results_of,
    with_mce,
)
from mixnorm.evaluation.evaluate import Progress, evaluate, iter_evaluate
from mixnorm.evaluation.loader import Loader
from mixnorm.evaluation.method_text import method_from_text
from mixnorm.evaluation.protocol import Protocol
from mixnorm.evaluation.record import Record, read_record, read_records, write_record
from mixnorm.evaluation.rehearsal import refuse_what_cannot_run
from mixnorm.evaluation.run import iter_run, run, run_or_fail
from mixnorm.evaluation.spec import RunSpec

__all__ = [
    "Loader",
    "Progress",
    "Protocol",
    "Record",
    "RunSpec",
    "check_comparable",
    "corruption_errors",
    "differences",
    "evaluate",
    "iter_evaluate",
    "iter_run",
    "method_from_text",
    "read_record",
    "read_records",
    "refuse_what_cannot_run",
    "relative_mce",
    "results_of",
    "run",
    "run_or_fail",
    "with_mce",
    "write_record",
]
