"""Make the corrupted copies (-C version) of a data set.

Each of these is a whole command:
  mixnorm corrupt digits digits-c                      a data set by name: CIFAR-10-C's arrays
  mixnorm corrupt photos/ photos-c                     a folder of class folders: ImageNet-C's folders
  mixnorm corrupt photos/ photos-c --resize 256 --crop 224
  mixnorm corrupt mine.npz mine-c                      arrays x (N, H, W, 3) and y (N,)
  mixnorm corrupt x.npy mine-c --labels y.npy
  mixnorm corrupt photos/ photos-c --corruptions fog snow --severities 1 3 5

INPUT and OUTPUT come first. A name means the data set of that name; a folder of yours that is called the same is
./name. An interrupted run goes on when the same command is given again. An image that cannot be read is reported at
the end, and the exit code is then 1; mend it and give the command again to add its copies. The same seed gives the same
bytes with any number of workers.
"""

import argparse
import os
import sys

from mixnorm.benchmarks.corruptions import CORRUPTIONS, EXTRA_CORRUPTIONS, SCALES, SEVERITIES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `mixnorm corrupt`."""
    parser.usage = "mixnorm corrupt INPUT OUTPUT [--corruptions NAME ...] [--severities N ...] [further options]"
    # Not required by the parser: an option with several values in front of them takes them too, and `run` says so.
    parser.add_argument("input", nargs="?", metavar="INPUT", help="name of a data set, image folder, .npz or .npy")
    parser.add_argument("output", nargs="?", metavar="OUTPUT", help="folder to make; an interrupted run goes on in it")
    parser.add_argument(
        "--corruptions",
        nargs="+",
        metavar="NAME",
        default=list(CORRUPTIONS),
        help=f"which ones (default: the 15 test corruptions); known: {', '.join(CORRUPTIONS + EXTRA_CORRUPTIONS)}",
    )
    parser.add_argument(
        "--severities", nargs="+", type=int, metavar="N", default=list(SEVERITIES), help="default: 1 2 3 4 5"
    )
    parser.add_argument("--layout", choices=("arrays", "folders"), help="default: folders for a folder, else arrays")
    parser.add_argument(
        "--scale", choices=SCALES, help="constants for 32 px or 224 px (default: the data set's, else by size)"
    )
    parser.add_argument("--seed", type=int, default=0, help="default: 0")
    parser.add_argument("--labels", metavar="FILE", help="labels (.npy) of an .npy of images")
    parser.add_argument("--split", help="split of a named data set (default: the one for evaluation)")
    parser.add_argument("--resize", type=int, metavar="PX", help="scale the shorter side first")
    parser.add_argument("--crop", type=int, metavar="PX", help="then keep the centre square")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes (default: %(default)s)")


def run(args: argparse.Namespace) -> int:
    """Make the copies with a progress bar; return 1 if some images failed."""
    failures = _with_progress(args)
    for failure in failures:
        print(f"left out: {failure}", file=sys.stderr)
    print(f"{args.output}: made" + (f", but {len(failures)} images failed" if failures else ""))
    return 1 if failures else 0


def _with_progress(args: argparse.Namespace) -> tuple[str, ...]:
    # Loaded when the command runs, so that --help of any command stays quick.
    from mixnorm.benchmarks.corrupted_copies import CopySettings, iter_corrupted_copies
    from mixnorm.errors import SettingError, require

    if args.output is None:
        raise SettingError("give INPUT and OUTPUT, before the options: mixnorm corrupt INPUT OUTPUT --corruptions fog")
    rich = require("rich.progress", "benchmarks")
    settings = CopySettings(
        source=args.input,
        output=args.output,
        corruptions=tuple(args.corruptions),
        severities=tuple(sorted(set(args.severities))),
        seed=args.seed,
        scale=args.scale,
        layout=args.layout,
        labels=args.labels,
        split=args.split,
        resize=args.resize,
        crop=args.crop,
        workers=args.workers,
    )
    failures: tuple[str, ...] = ()
    with rich.Progress(console=rich.Console(stderr=True), disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("reading the input", total=None)
        for step in iter_corrupted_copies(settings):
            bar.update(task, description=step.corruption, completed=step.done, total=step.total)
            failures = step.failures
    return failures
