"""Records as a table for the terminal."""

from collections.abc import Sequence
from typing import Any

from mixnorm.errors import require
from mixnorm.evaluation import Record

COLUMNS = ("method", "order", "batch", "error %", "ECE", "NLL", "images/s", "x source")


def record_table(records: Sequence[Record]) -> Any:
    """Make a table with a row for each record."""
    table = require("rich.table", "benchmarks").Table(*COLUMNS)
    for record in records:
        table.add_row(*_row(record))
    return table


def method_text(method: dict[str, Any]) -> str:
    """Write a method in one line, without the settings it has not.

    >>> method_text({"method": "MixNorm", "m": 0.2, "views": 1, "learn": None})
    'MixNorm m=0.2 views=1'
    """
    settings = {name: value for name, value in method.items() if name != "method" and value is not None}
    learn = settings.pop("learn", None)
    words = [method["method"], *(f"{name}={value}" for name, value in settings.items())]
    return " ".join([*words, *([f"{learn['optimizer']} lr={learn['lr']}"] if learn else [])])


def _row(record: Record) -> list[str]:
    spec = record.spec or {"method": record.fingerprint["method"], "protocol": record.fingerprint}
    name = [method_text(spec["method"]), spec["protocol"]["order"], str(spec["protocol"]["batch_size"])]
    if record.results is None or record.cost is None:
        return [*name, "failed"]
    results, cost = record.results, record.cost
    numbers = [(results["error"], ".1f"), (results["ece"], ".3f"), (results["nll"], ".2f")]
    numbers += [(cost["images_per_second"], ".0f"), (cost["ratio_to_source"], ".2f")]
    return [*name, *("-" if number is None else format(number, style) for number, style in numbers)]
