"""Choose the settings of MixNorm as the paper does: a grid on Gaussian noise of severity 5, the lowest error wins.

Each of these is a whole command:
  mixnorm tune                                                 the bundled model and data
  mixnorm tune --method mixnormbn --m 0.01 0.05 0.2 --speed 0.5 0.75 1
  mixnorm tune --model models.py:resnet --data photos/ --resize 256 --crop 224 --limit 500
  mixnorm tune --model models.py:resnet --data corrupted.npz --batch-size 64

The choice looks at labels: make it on labelled images of your own, before the model meets the ones that count. Clean
images are corrupted on the fly. By default the values are those that the paper's Appendix B uses, as its grid is not
published. Source, the model as it came, is measured beside them. Each run is a record in the results folder: an
interrupted command goes on when it is given again.
"""

import argparse
import json

from mixnorm.cli.table_runs import add_table_arguments, print_all, with_progress
from mixnorm.paper import Comparison
from mixnorm.paper.numbers import percent
from mixnorm.paper.sentences import failed
from mixnorm.paper.terminal import heading, measured_table
from mixnorm.paper.tune import TUNED, best, best_settings, grid_of, source_error, tried, tuning_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `mixnorm tune`."""
    parser.add_argument("--method", choices=TUNED, default="mixnorm-fixed", help="default: %(default)s")
    parser.add_argument("--m", nargs="+", type=float, metavar="X", help="values of m (default: the paper's)")
    parser.add_argument(
        "--speed",
        nargs="+",
        type=float,
        metavar="X",
        help="values of tau, or tau_max of mixnormbn (default: the paper's)",
    )
    parser.add_argument("--batch-size", type=int, default=200, metavar="N", help="default: %(default)s")
    parser.add_argument("--model", default="digits", help="name or FILE.py:FACTORY (default: %(default)s)")
    parser.add_argument("--data", default="digits-c", help="name or path of a data set (default: %(default)s)")
    add_table_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Run the grid and print it with the best settings; return 1 if runs failed."""
    grid = grid_of(args.method, m=args.m, speed=args.speed, batch_size=args.batch_size)
    comparison = with_progress(tuning_table(grid, data=args.data, model=args.model), args)
    if args.json:
        chosen = {"best": best_settings(comparison), "source": source_error(comparison)}
        print(json.dumps(tried(comparison).to_dict() | {"failures": comparison.failures} | chosen))
    else:
        _show(comparison)
    return 1 if comparison.failures else 0


def _show(comparison: Comparison) -> None:
    print_all(
        heading(comparison.table),
        measured_table(tried(comparison), best(comparison)),
        f"Error in %. {_choice(comparison)}",
        *failed(comparison),
    )


def _choice(comparison: Comparison) -> str:
    """Say which settings are best, and whether they are better than none."""
    chosen, source = best(comparison), source_error(comparison)
    settings = ", ".join(f"{name}={value:g}" for name, value in (best_settings(comparison) or {}).items())
    without = f"Source, without adaptation: {percent(source)}"
    if chosen is None:
        return f"Best: none, all runs failed. {without}"
    error = comparison.measured(chosen)
    helps = source is None or error is None or error < source
    return f"Best (*): {settings}. {without}" + ("" if helps else ", so no setting helps")
