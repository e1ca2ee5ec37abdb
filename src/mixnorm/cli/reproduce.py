"""Repeat a table of the paper, and show what is published beside what is measured.

Each of these is a whole command:
  mixnorm reproduce cifar10-c-mixed-wrn28                      with the paper's own model and data
  mixnorm reproduce cifar10-c-mixed-wrn28 --published          the published numbers alone; nothing is run
  mixnorm reproduce cifar10-c-mixed-wrn28 --model digits --data digits-c
                                                               the same protocol on the bundled model and data
  mixnorm reproduce cifar10-c-mixed-wrn28 --model models.py:resnet --data corrupted.npz --limit 1000
  mixnorm reproduce cifar10-c-single-wrn40 --methods source bn tent mixnorm-fixed --batch-sizes 1 8 64
  mixnorm reproduce domain-adaptation --model digit-cnn --checkpoint mine.safetensors --data usps=a.npz mnist=b.npz
  mixnorm reproduce ablation-statistics --executor processes --workers 4

`mixnorm list tables` names the tables. What is not at hand is listed, with how to get it, before any work. Each number
is a record in the results folder: an interrupted command goes on when it is given again. A page with the table is
written beside the records, and the figure of error against batch size. The exit code is 1 if runs failed.
"""

import argparse
import json
from pathlib import Path

from mixnorm.cli.table_runs import add_table_arguments, print_all, results_of, with_progress
from mixnorm.errors import SettingError
from mixnorm.files import write_whole
from mixnorm.paper import Comparison, Setup, Table, load_table, select
from mixnorm.paper.figure import draw
from mixnorm.paper.page import page
from mixnorm.paper.sentences import sentences
from mixnorm.paper.terminal import comparison_table, heading, published_table, ranking_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `mixnorm reproduce`."""
    parser.add_argument("table", metavar="TABLE", help="name of a table; mixnorm list tables shows them")
    parser.add_argument("--published", action="store_true", help="show the published numbers and run nothing")
    parser.add_argument(
        "--methods",
        nargs="+",
        metavar="NAME",
        help="some of the table's, and source, bn, ttt or shot (default: the table's)",
    )
    parser.add_argument("--batch-sizes", nargs="+", type=int, metavar="N", help="default: the table's")
    parser.add_argument("--model", help="name or FILE.py:FACTORY, in the place of the paper's")
    parser.add_argument(
        "--data",
        nargs="+",
        type=_data,
        metavar="[COLUMN=]DATA",
        help="name or path of a data set, in the place of the paper's; or one for each of some columns of the table",
    )
    add_table_arguments(parser)
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="folder of page and figure (default: results)")


def run(args: argparse.Namespace) -> int:
    """Repeat the table, print and write the comparison; return 1 if runs failed."""
    args.data = _by_column(args.data)
    columns = list(args.data) if isinstance(args.data, dict) else None
    table = select(load_table(args.table), methods=args.methods, batch_sizes=args.batch_sizes, columns=columns)
    if args.published:
        _show_published(table, as_json=args.json)
        return 0
    comparison = with_progress(table, args)
    files = _write(comparison, args.output or results_of(table, args))
    if args.json:
        print(json.dumps(comparison.to_dict() | {"files": [str(path) for path in files]}))
    else:
        _show(comparison, files)
    return 1 if comparison.failures else 0


def _data(text: str) -> tuple[str, str]:
    """Split what is given for a column; a path that exists is never split."""
    column, equals, data = text.partition("=")
    return (column, data) if equals and not Path(text).exists() else ("", text)


def _by_column(given: list[tuple[str, str]] | None) -> str | dict[str, str] | None:
    if given is None or (len(given) == 1 and not given[0][0]):
        return given[0][1] if given else None
    if not all(column for column, _ in given) or len(dict(given)) < len(given):
        named = " ".join(f"{column}={data}" if column else data for column, data in given)
        raise SettingError(f"--data {named}: give one data set, or COLUMN=DATA for some columns, each once")
    return dict(given)


def _show_published(table: Table, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(Comparison(table=table, setup=Setup(), records={}).to_dict()))
        return
    print_all(heading(table), published_table(table), *(f"In the paper: {note}" for note in table.notes))


def _show(comparison: Comparison, files: list[Path]) -> None:
    ranking = ranking_table(comparison)
    print_all(
        heading(comparison.table),
        comparison_table(comparison),
        *([ranking] if ranking else []),
        *sentences(comparison),
        f"Written: {', '.join(map(str, files))}",
    )


def _write(comparison: Comparison, folder: Path) -> list[Path]:
    """Write page and figure, and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    figures = draw(comparison, folder) if comparison.table.by_batch_size else ()
    path = folder / f"{comparison.table.name}.md"
    write_whole(path, page(comparison, figures[-1].name if figures else None).encode())
    return [path, *figures]
