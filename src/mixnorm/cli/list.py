"""List what has a name: methods, data sets, models, tables of the paper, corruptions.

mixnorm list methods            with their settings and the presets of the paper
mixnorm list models --json
"""

import argparse
import dataclasses
import json
from collections.abc import Callable, Iterator

from mixnorm.adaptation import Method
from mixnorm.benchmarks import list_models
from mixnorm.benchmarks.corruptions import CORRUPTIONS, EXTRA_CORRUPTIONS
from mixnorm.benchmarks.datasets.catalogue import CATALOGUE
from mixnorm.benchmarks.streams.load import EMBEDDED, RELEASED

Row = dict[str, object]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `mixnorm list`."""
    parser.add_argument("kind", choices=LISTS, metavar="KIND", help=", ".join(LISTS))
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Print the names, each with what there is to know about it."""
    rows = list(LISTS[args.kind]())
    if args.json:
        print(json.dumps(rows, indent=1))
        return 0
    width = max(len(str(row["name"])) for row in rows)
    for row in rows:
        print(f"{row['name']:<{width}}  {_details(row)}".rstrip())
    return 0


def _details(row: Row) -> str:
    return "; ".join(f"{key}: {value}" for key, value in row.items() if key != "name" and value not in (None, ""))


def _methods() -> Iterator[Row]:
    for name, method in Method.registry.items():
        yield {"name": name, "settings": ", ".join(field.name for field in dataclasses.fields(method))}
        for preset in method.presets:
            yield {"name": f"{name}:{preset.name}", "source": preset.table}


def _datasets() -> Iterator[Row]:
    for name, entry in CATALOGUE.items():
        yield {"name": name, "splits": ", ".join(entry.splits)}
    yield {"name": EMBEDDED, "corruptions": "made on the fly from digits"}
    for name in RELEASED:
        yield {"name": name, "corruptions": "as released"}


def _models() -> Iterator[Row]:
    for model in list_models():
        yield {"name": model.name, "trained on": model.dataset, "accuracy": model.accuracy}


def _corruptions() -> Iterator[Row]:
    for name in (*CORRUPTIONS, *EXTRA_CORRUPTIONS):
        yield {"name": name, "use": "test" if name in CORRUPTIONS else "validation"}


def _tables() -> Iterator[Row]:
    from mixnorm.paper import list_tables

    for table in list_tables():
        yield {"name": table.name, "title": table.title, "where": table.where, "can be run": table.can_run}


LISTS: dict[str, Callable[[], Iterator[Row]]] = {
    "methods": _methods,
    "datasets": _datasets,
    "models": _models,
    "tables": _tables,
    "corruptions": _corruptions,
}
