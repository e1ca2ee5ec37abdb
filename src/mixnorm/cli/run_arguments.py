"""The arguments that say what is run, shared by the commands that run something."""

import argparse
from typing import Any

from mixnorm.benchmarks.corruptions import SCALES
from mixnorm.benchmarks.streams import ORDERS
from mixnorm.evaluation.protocol import RESETS, Protocol
from mixnorm.evaluation.spec import DTYPES

METHODS = "NAME, NAME:PRESET or NAME:SETTING=VALUE,... such as MixNorm:m=0.2,views=0 (see mixnorm list methods)"


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what decides a run but its method, order and batch size."""
    parser.add_argument("--model", default="digits", help="name, or path/to/file.py:FACTORY (default: %(default)s)")
    parser.add_argument("--checkpoint", metavar="FILE", help="weights to load into the model")
    parser.add_argument("--data", default="digits-c", help="name or path of a data set (default: %(default)s)")
    parser.add_argument("--data-dir", metavar="DIR", help="where data and weights are (default: the data folder)")
    parser.add_argument("--corruptions", nargs="+", metavar="NAME", help="which ones (default: all of the data set)")
    parser.add_argument("--limit", type=int, metavar="N", help="take N images at random (default: all)")
    parser.add_argument("--split", help="split of a data set (default: the one for evaluation)")
    parser.add_argument("--resize", type=int, metavar="PX", help="scale the shorter side first")
    parser.add_argument("--crop", type=int, metavar="PX", help="then keep the centre square")
    parser.add_argument("--scale", choices=SCALES, help="constants of corruptions made on the fly")
    parser.add_argument("--reset", choices=RESETS, default="never", help="when the model forgets (default: never)")
    parser.add_argument(
        "--window", type=int, default=Protocol().window, help="samples per point of the error over time"
    )
    parser.add_argument(
        "--epochs",
        type=int,
        default=0,
        metavar="N",
        help="adapt to all samples N times, then answer them without learning (default: 0, each when it comes)",
    )
    parser.add_argument("--dtype", choices=DTYPES, default="float32", help="default: float32")
    parser.add_argument("--device", default="cpu", help="default: cpu")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="threads of a run (default: 1)")


def add_order_argument(parser: argparse.ArgumentParser, flag: str, nargs: str | None, default: Any) -> None:
    """Declare in which order samples come."""
    parser.add_argument(
        flag, nargs=nargs, choices=sorted(ORDERS), default=default, metavar="ORDER", help=f"one of {', '.join(ORDERS)}"
    )


def base_of(args: argparse.Namespace) -> dict[str, Any]:
    """Return what all runs of a command share, as plain data of a run."""
    names = ("data_dir", "corruptions", "limit", "split", "resize", "crop", "scale")
    return {
        "model": args.model,
        "checkpoint": args.checkpoint,
        "data": {"name": args.data, **{name: getattr(args, name) for name in names}},
        "protocol": {"reset": args.reset, "window": args.window, "epochs": args.epochs},
        "dtype": args.dtype,
        "device": args.device,
        "threads": args.threads,
    }
