"""See what adaptation does to a small bundled network on corrupted digits, in a few minutes.

Each of these is a whole command:
  mixnorm demo                                         the usual methods; records and the page go to mixnorm-demo/
  mixnorm demo --methods all                           TTT and SHOT beside them
  mixnorm demo --methods MixNorm-fixed --limit 100     quicker
  mixnorm demo --output elsewhere --open               shows the page in a browser

The network has never seen a corrupted digit. It meets 400 of them, each under one of 15 corruptions, shuffled (mixed),
and then 200 under each of three corruptions, one corruption after the other (single), at batch sizes 1, 8, 64 and 200.
The settings are the paper's for CIFAR-10-C; ShrinkNorm is not in the paper, and has one setting for all. An interrupted
demo goes on when the same command is given again.
"""

import argparse
import json
import os
import sys
import webbrowser
from collections.abc import Mapping
from pathlib import Path

from mixnorm.cli.error_table import error_tables
from mixnorm.cli.sweep import with_progress
from mixnorm.errors import require, unknown_name
from mixnorm.evaluation import RunSpec
from mixnorm.files import write_whole
from mixnorm.report import Findings, page
from mixnorm.sweeps import Processes, grid

METHODS = {
    "Source": "Source",
    "BN": "BatchStatistics",
    "TENT": "Tent",
    "MixNorm-fixed": "MixNorm:cifar10-c/{order}",
    "MixNorm": "MixNorm:cifar10-c/{order}/learnable",
    "MixNormBN": "MixNormBN:cifar10-c/{order}",
    "ShrinkNorm": "ShrinkNorm",
    "TTT": "Ttt",
    "SHOT": "Shot",
}
USUAL = tuple(METHODS)[:7]
"""Those that the paper compares in its figures, and this project's own."""
ALL = "all"
BATCH_SIZES = (1, 8, 64, 200)
WINDOW = 100
MIXED_IMAGES = 400
# A batch never reaches across two corruptions of the single order, so each must hold the largest batch.
SINGLE_IMAGES = 200
# The first corruptions of noise, of blur and of weather.
SINGLE_CORRUPTIONS = ("gaussian_noise", "defocus_blur", "snow")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `mixnorm demo`."""
    folder = Path("mixnorm-demo")
    parser.add_argument("-o", "--output", type=Path, default=folder, metavar="FOLDER", help="default: %(default)s")
    parser.add_argument("--limit", type=int, default=MIXED_IMAGES, metavar="N", help="take at most N images per stream")
    known = f"beside Source, some of {', '.join(METHODS)}, or {ALL} (default: {', '.join(USUAL)})"
    parser.add_argument("--methods", nargs="+", default=list(USUAL), metavar="NAME", help=known)
    cores = os.cpu_count() or 1
    parser.add_argument("--workers", type=int, default=cores, metavar="N", help="processes (default: %(default)s)")
    parser.add_argument("--open", action="store_true", help="show the page in a browser")
    parser.add_argument("--json", action="store_true", help="print where the page is and what it says as JSON")


def run(args: argparse.Namespace) -> int:
    """Do the runs, print the tables, write the page and say where it is; return 1 if some runs failed."""
    specs = demo_runs(args.methods, args.limit)
    findings = Findings.of(with_progress(specs, args.output, Processes(workers=args.workers), retry_failed=True))
    report = args.output / "report.html"
    write_whole(report, page(findings).encode())
    _say(findings, report, as_json=args.json)
    if args.open:
        webbrowser.open(report.resolve().as_uri())
    return 1 if findings.failed else 0


def demo_runs(methods: list[str], limit: int) -> list[RunSpec]:
    """Return the runs of some methods and of Source, at most `limit` images in each stream."""
    mixed = {"limit": min(limit, MIXED_IMAGES)}
    single = {"limit": min(limit, SINGLE_IMAGES), "corruptions": SINGLE_CORRUPTIONS}
    return [*_runs(methods, "mixed", "never", mixed), *_runs(methods, "single", "segment", single)]


def _runs(methods: list[str], order: str, reset: str, data: Mapping[str, object]) -> list[RunSpec]:
    base = {
        "model": "digits",
        "data": {"name": "digits-c", **data},
        "protocol": {"order": order, "reset": reset, "window": WINDOW},
    }
    names = METHODS if ALL in methods else dict.fromkeys(["Source", *methods])
    chosen = [_setting(name).format(order=order) for name in names]
    # Small batches take longest and come first, so that no process waits for a long run at the end.
    return grid(base, {"protocol.batch_size": BATCH_SIZES, "method": chosen})


def _setting(name: str) -> str:
    if name not in METHODS:
        raise unknown_name("method of the demo", name, METHODS)
    return METHODS[name]


def _say(findings: Findings, report: Path, *, as_json: bool) -> None:
    for record in findings.failed:
        print(f"failed: {record.id}: {record.error and record.error['message']}", file=sys.stderr)
    if as_json:
        print(json.dumps({"report": str(report), "answer": findings.answer, "failed": len(findings.failed)}))
        return
    console = require("rich.console", "benchmarks").Console()
    for table in error_tables(findings):
        console.print(table)
    print(f"{findings.answer}\n{report}: the same with figures and sample pictures; records are beside it")
