"""The command line: `mixnorm COMMAND`, one file per command, no logic."""

import argparse
import os
import sys
from collections.abc import Sequence

from mixnorm import __version__
from mixnorm.cli import corrupt, demo, evaluate, report, reproduce, sweep, tune
from mixnorm.cli import list as list_
from mixnorm.errors import MixNormError

# A command is a module with `add_arguments(parser)` and `run(args)`; its name and help are its own and its docstring.
COMMANDS = (demo, evaluate, sweep, report, reproduce, tune, corrupt, list_)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    0, 1 for a job with failures, 2 for a user's mistake or a machine that cannot, 130 for Ctrl-C, and 141 where nobody
    reads what it prints any more.
    """
    args = _parser().parse_args(argv)
    try:
        code = int(args.run(args))
        # Now, not when Python ends: then nobody could catch that the reader has gone or the device is full.
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # What is still to be written goes nowhere, or Python would complain at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except (MixNormError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mixnorm", description="Test-time adaptation of BatchNorm models.")
    parser.add_argument("--version", action="version", version=f"mixnorm {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in COMMANDS:
        description = module.__doc__ or ""
        command = commands.add_parser(
            module.__name__.rpartition(".")[2].replace("_", "-"),
            help=description.splitlines()[0],
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return parser
