"""Measure whether adaptation helps on a model and data, and what it costs.

Each of these is a whole command:
  mixnorm evaluate                                          the bundled model on corrupted digits, Source and MixNorm
  mixnorm evaluate --methods Source Tent MixNorm:m=0.3,tau=0,views=0 --batch-size 64
  mixnorm evaluate --model mine.py:network --data photos-c/ -o results
  mixnorm evaluate --data digits-c --corruptions fog snow --severity 3 --order single --reset segment
  mixnorm evaluate --json > records.json

Samples come one batch at a time, are answered first and learned from afterwards, and no label is used but to count
errors. With -o the records are kept, a run that is there already is not repeated, and `mixnorm report` draws them.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

from mixnorm.cli.run_arguments import METHODS, add_order_argument, add_run_arguments, base_of
from mixnorm.errors import require
from mixnorm.evaluation import (
    Loader,
    Record,
    RunSpec,
    iter_run,
    read_record,
    refuse_what_cannot_run,
    with_mce,
    write_record,
)
from mixnorm.sweeps import done_before, grid, results_folder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `mixnorm evaluate`."""
    parser.add_argument("--methods", nargs="+", metavar="METHOD", default=["Source", "MixNorm"], help=METHODS)
    add_run_arguments(parser)
    parser.add_argument("--batch-size", type=int, default=1, metavar="N", help="default: 1")
    add_order_argument(parser, "--order", None, "mixed")
    parser.add_argument("--severity", type=int, default=5, metavar="N", help="default: 5")
    parser.add_argument("--seed", type=int, default=0, help="of the stream and of the views (default: 0)")
    parser.add_argument(
        "--baseline", type=Path, metavar="RECORD", help="record that the mCE is relative to (default: that of Source)"
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FOLDER", help="folder to keep the records in")
    parser.add_argument("--json", action="store_true", help="print the records as JSON")


def run(args: argparse.Namespace) -> int:
    """Run each method with a progress bar and print the results."""
    baseline = None if args.baseline is None else read_record(args.baseline)
    records = [with_mce([record], baseline)[0] if baseline else record for record in _records(args, _specs(args))]
    records = records if baseline else with_mce(records)
    if args.json:
        print(json.dumps([record.to_dict() for record in records], indent=1))
        return 0
    from mixnorm.cli.record_table import record_table

    require("rich.console", "benchmarks").Console().print(record_table(records))
    return 0


def _specs(args: argparse.Namespace) -> list[RunSpec]:
    base = base_of(args)
    base["data"] |= {"severity": args.severity, "seed": args.seed}
    base["protocol"] |= {"order": args.order, "batch_size": args.batch_size}
    return grid({**base, "seed": args.seed}, {"method": args.methods})


def _records(args: argparse.Namespace, specs: list[RunSpec]) -> Iterator[Record]:
    progress = require("rich.progress", "benchmarks")
    console = require("rich.console", "benchmarks").Console(file=sys.stderr)
    loader = Loader()
    with results_folder(args.output) if args.output else nullcontext(), progress.Progress(console=console) as bar:
        done = done_before(specs, args.output, retry_failed=True) if args.output else {}
        refuse_what_cannot_run([spec for spec in specs if spec.id not in done], loader)
        for spec in specs:
            if spec.id in done:
                yield done[spec.id]
                continue
            task = bar.add_task(spec.method["method"], total=None)
            for step in iter_run(spec, loader):
                bar.update(task, completed=step.done, total=step.total)
                if step.record is not None:
                    if args.output:
                        write_record(step.record, args.output)
                    yield step.record
