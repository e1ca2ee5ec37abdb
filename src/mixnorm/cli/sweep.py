"""Do many runs, one record each, and go on where an earlier sweep ended.

Each of these is a whole command:
  mixnorm sweep -o results --methods Source Tent MixNorm --batch-sizes 1 8 64 --orders single mixed
  mixnorm sweep -o results --methods MixNorm:cifar10-c/mixed --seeds 0 1 2 --executor processes --workers 2
  mixnorm sweep -o results --grid grid.toml                 runs as a file, see below
  mixnorm sweep -o results --grid grid.toml --executor ray --ray-address auto
  mixnorm sweep -o results --grid grid.toml --retry-failed  once more the runs that failed

A grid.toml has what all runs share, and lists of which every combination is a run:
  [base]
  model = "digits"
  data = {name = "digits-c", limit = 200}
  [axes]
  method = ["Source", "MixNorm:m=0.2", {method = "MixNorm", m = 0.3, views = 0}]
  protocol.batch_size = [1, 64]
  data.severity = [1, 3, 5]

Results are the same whichever executor runs them. A run that fails leaves its error in its record, the rest goes on,
and the exit code is then 1. Ctrl-C stops it; the same command goes on.
"""

import argparse
import json
import sys
from pathlib import Path

from mixnorm.cli.executor_arguments import add_executor_arguments, executor_of
from mixnorm.cli.record_table import record_table
from mixnorm.cli.run_arguments import METHODS, add_order_argument, add_run_arguments, base_of
from mixnorm.errors import require
from mixnorm.evaluation import Record, RunSpec, results_of, with_mce
from mixnorm.sweeps import Executor, done_before, grid, read_grid, run_sweep


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `mixnorm sweep`."""
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER", help="folder of the records")
    parser.add_argument("--grid", type=Path, metavar="FILE", help="grid of runs; the arguments of runs are then unused")
    parser.add_argument("--methods", nargs="+", metavar="METHOD", default=["Source", "MixNorm"], help=METHODS)
    parser.add_argument("--batch-sizes", nargs="+", type=int, metavar="N", default=[1], help="default: 1")
    add_order_argument(parser, "--orders", "+", ["mixed"])
    parser.add_argument("--severities", nargs="+", type=int, metavar="N", default=[5], help="default: 5")
    parser.add_argument("--seeds", nargs="+", type=int, metavar="N", default=[0], help="of the views (default: 0)")
    add_run_arguments(parser)
    add_executor_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")


def run(args: argparse.Namespace) -> int:
    """Run the sweep with a progress bar; return 1 if some runs failed."""
    specs = read_grid(args.grid) if args.grid else _specs(args)
    records = with_mce(with_progress(specs, args.output, executor_of(args), retry_failed=args.retry_failed))
    failures = {record.id: record.error["message"] for record in records if record.error}
    if args.json:
        made = {"folder": str(args.output), "runs": [record.id for record in records], "failed": failures}
        print(json.dumps(made | {"results": [_summary(record) for record in records if record.results]}))
        return 1 if failures else 0
    require("rich.console", "benchmarks").Console().print(record_table(records))
    for run_id, message in failures.items():
        print(f"failed: {run_id}: {message}", file=sys.stderr)
    print(f"{args.output}: {len(records)} runs" + (f", {len(failures)} of them failed" if failures else ""))
    return 1 if failures else 0


def _summary(record: Record) -> dict[str, object]:
    """Return what a run was and what it found, as far as a comparison needs it; the record has all of it."""
    results, asked = results_of(record), ("method", "order", "reset", "severity", "batch_size", "seed")
    return {"id": record.id, **{name: record.fingerprint[name] for name in asked}} | {
        name: value for name, value in results.items() if name in ("count", "error", "mce", "ece", "nll")
    }


def _specs(args: argparse.Namespace) -> list[RunSpec]:
    axes = {
        "data.severity": args.severities,
        "protocol.order": args.orders,
        "method": args.methods,
        "protocol.batch_size": args.batch_sizes,
        "seed": args.seeds,
    }
    return grid(base_of(args), axes)


def with_progress(specs: list[RunSpec], folder: Path, executor: Executor, *, retry_failed: bool) -> list[Record]:
    """Do runs with a progress bar, and return their records."""
    progress = require("rich.progress", "benchmarks")
    console = require("rich.console", "benchmarks").Console(file=sys.stderr)
    earlier = done_before(specs, folder, retry_failed=retry_failed)
    columns = (*progress.Progress.get_default_columns(), progress.MofNCompleteColumn())
    records: list[Record] = []
    with progress.Progress(*columns, console=console) as bar:
        task = bar.add_task("runs", total=len({spec.id for spec in specs}), completed=len(earlier))
        for record in run_sweep(specs, folder, executor=executor, retry_failed=retry_failed):
            records.append(record)
            if record.id not in earlier:
                bar.advance(task)
    return records
