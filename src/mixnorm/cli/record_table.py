"""Records as a table for the terminal."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from mixnorm.adaptation import Method
from mixnorm.errors import require
from mixnorm.evaluation import Record

FIELDS: dict[str, Callable[[dict[str, Any]], object]] = {
    "model": lambda spec: Path(spec["model"]).name,
    "data": lambda spec: Path(spec["data"]["name"]).name,
    "severity": lambda spec: spec["data"]["severity"],
    "order": lambda spec: spec["protocol"]["order"],
    "reset": lambda spec: spec["protocol"]["reset"],
    "batch": lambda spec: spec["protocol"]["batch_size"],
    "seed": lambda spec: spec["seed"],
}
"""What tells runs of one method apart."""
NUMBERS = ("error %", "mCE", "ECE", "NLL", "images/s", "x source")


def record_table(records: Sequence[Record]) -> Any:
    """Make a table with a row for each record of a spec; what all of them share stands above it."""
    specs = [record.spec or {} for record in records]
    values = {name: [str(field(spec)) for spec in specs] for name, field in FIELDS.items()}
    own = [name for name in FIELDS if len(set(values[name])) > 1]
    shared = ", ".join(f"{name} {values[name][0]}" for name in FIELDS if name not in own)
    box = require("rich.box", "benchmarks").SIMPLE_HEAD
    table = require("rich.table", "benchmarks").Table(title=shared, title_justify="left", box=box)
    table.add_column("method", overflow="fold")
    for name in (*own, *NUMBERS):
        table.add_column(name, justify="right", no_wrap=True)
    for place, (record, spec) in enumerate(zip(records, specs, strict=True)):
        table.add_row(method_text(spec["method"]), *(values[name][place] for name in own), *_numbers(record))
    return table


def method_text(method: dict[str, Any]) -> str:
    """Write a method in one line, with the settings that are not its defaults.

    >>> method_text({"method": "MixNorm", "m": 0.2, "views": 1, "learn": None})
    'MixNorm m=0.2'
    """
    defaults = {field.name: field.default for field in fields(Method.registry[method["method"]])}
    settings = {name: value for name, value in method.items() if name != "method"}
    learn = settings.pop("learn", None)
    words = [f"{name}={value}" for name, value in settings.items() if value != defaults.get(name)]
    return " ".join([method["method"], *words, *([f"{learn['optimizer']} lr={learn['lr']}"] if learn else [])])


def _numbers(record: Record) -> list[str]:
    if record.results is None or record.cost is None:
        return ["failed"]
    results, cost = record.results, record.cost
    numbers = [(results["error"], ".1f"), (results["mce"], ".1f"), (results["ece"], ".3f"), (results["nll"], ".2f")]
    numbers += [(cost["images_per_second"], ".0f"), (cost["ratio_to_source"], ".2f")]
    return ["-" if number is None else format(number, style) for number, style in numbers]
