"""Make one HTML page from records, which says whether adaptation helps and what it costs.

Each of these is a whole command:
  mixnorm report results/                              writes report.html
  mixnorm report results/ -o pages/mine.html
  mixnorm report results/ more-results/                several folders on one page
  mixnorm report results/ --json                       where the page is and what it says, for machines

The page needs nothing but itself: it can be mailed, printed, and read without a network. Runs of different protocols
are never put into one figure, and runs that failed are listed with their error.
"""

import argparse
import json
from pathlib import Path

from mixnorm.evaluation import read_records
from mixnorm.files import write_whole
from mixnorm.report import Findings, page


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `mixnorm report`."""
    parser.add_argument("results", metavar="RESULTS", nargs="+", type=Path, help="folder of records")
    parser.add_argument("-o", "--output", type=Path, default=Path("report.html"), help="default: %(default)s")
    parser.add_argument("--json", action="store_true", help="print what was made as JSON")


def run(args: argparse.Namespace) -> int:
    """Write the page and say where it is."""
    findings = Findings.of(record for folder in args.results for record in read_records(folder))
    write_whole(args.output, page(findings).encode())
    made = {"report": str(args.output), "answer": findings.answer, "runs": len(findings.records)}
    made["failed"] = len(findings.failed)
    print(json.dumps(made) if args.json else f"{findings.answer}\n{args.output}: made from {made['runs']} records")
    return 0
