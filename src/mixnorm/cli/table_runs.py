"""Running a table of the paper with a progress bar: what `reproduce` and `tune` share."""

import argparse
import dataclasses
import sys
from pathlib import Path

from mixnorm.cli.executor_arguments import add_executor_arguments, executor_of
from mixnorm.errors import require
from mixnorm.paper import Comparison, Setup, Table, iter_reproduce


def add_table_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what a table is run with and where, but its model and data."""
    parser.add_argument("--checkpoint", metavar="FILE", help="weights to load into the model")
    parser.add_argument("--data-dir", metavar="DIR", help="where data and weights are (default: the data folder)")
    parser.add_argument("--limit", type=int, metavar="N", help="take N images at random (default: all)")
    parser.add_argument("--split", help="split of a data set (default: the one for evaluation)")
    parser.add_argument("--resize", type=int, metavar="PX", help="scale the shorter side of images first")
    parser.add_argument("--crop", type=int, metavar="PX", help="then keep the centre square")
    parser.add_argument(
        "--epochs", type=int, default=0, metavar="N", help="let models see all samples N times first (default: 0)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of order, corruptions and views (default: 0)")
    parser.add_argument("--device", default="cpu", help="default: cpu")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="threads of a run (default: 1)")
    add_executor_arguments(parser)
    parser.add_argument("--results", type=Path, metavar="FOLDER", help="folder of the records (default: results/TABLE)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def with_progress(table: Table, args: argparse.Namespace) -> Comparison:
    """Run a table, with the progress on the standard error."""
    progress = require("rich.progress", "benchmarks")
    console = require("rich.console", "benchmarks").Console(file=sys.stderr)
    columns = (*progress.Progress.get_default_columns(), progress.MofNCompleteColumn())
    steps = iter_reproduce(
        table, results_of(table, args), setup=_setup(args), executor=executor_of(args), retry_failed=args.retry_failed
    )
    comparison = next(steps)
    with progress.Progress(*columns, console=console) as bar:
        task = bar.add_task("runs", total=len(table.cells))
        for comparison in steps:
            bar.update(task, completed=len(comparison.records))
    return comparison


def results_of(table: Table, args: argparse.Namespace) -> Path:
    """Return the folder of the records."""
    return args.results or Path("results") / table.name


def print_all(*parts: object) -> None:
    """Print tables and sentences, one below the other."""
    console = require("rich.console", "benchmarks").Console()
    for part in parts:
        console.print(part, markup=False, highlight=False)


def _setup(args: argparse.Namespace) -> Setup:
    return Setup(**{field.name: getattr(args, field.name) for field in dataclasses.fields(Setup)})
