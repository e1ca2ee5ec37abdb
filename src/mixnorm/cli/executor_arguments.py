"""The arguments that say where runs are done, shared by the commands that do many."""

import argparse
import os

from mixnorm.sweeps import Executor, OnRay, Processes, Serial


def add_executor_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare where runs are done."""
    parser.add_argument("--executor", choices=("serial", "processes", "ray"), default="serial", help="default: serial")
    parser.add_argument(
        "--workers", type=int, default=os.cpu_count() or 1, metavar="N", help="processes (default: %(default)s)"
    )
    parser.add_argument("--ray-address", metavar="ADDRESS", help="a cluster (default: a new one on this machine)")
    parser.add_argument("--retry-failed", action="store_true", help="run again what failed before")


def executor_of(args: argparse.Namespace) -> Executor:
    """Return the executor that the arguments name."""
    if args.executor == "ray":
        return OnRay(address=args.ray_address)
    return Processes(workers=args.workers) if args.executor == "processes" else Serial()
