"""Print the tables of docs/study.md from the records that are committed with the project.

python scripts/study_tables.py results/study
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mixnorm.evaluation import Record, read_records, results_of

NETWORKS = ("resnet20", "resnet56", "resnet18", "resnet50")
METHODS = ("Source", "BN", "ShrinkNorm", "ShrinkNorm, two passes")
NAMES = {
    "Source": "Source",
    "BatchStatistics": "BN",
    "Tent": "TENT",
    "MixNormBN": "MixNormBN",
    "ShrinkNorm": "ShrinkNorm",
}
COLUMNS = ("gaussian_noise", "glass_blur", "fog", "jpeg_compression", "clean")
OF_PARTS = {
    "first 1,000": "first",
    "first 1,000, source": "first, source",
    "last 1,000": "last",
    "last 1,000, fresh": "last, fresh",
    "last 1,000, source": "last, source",
    "all": "all",
}
"""What is told of each part of a long stream."""
Rows = Sequence[Sequence[str]]


def name_of(method: Mapping[str, Any]) -> str:
    """Name a method with what tells it from others of the study."""
    if method["method"] == "MixNorm":
        return f"MixNorm as published, m {method['m']}"
    return NAMES[method["method"]] + (", two passes" if method["method"] == "ShrinkNorm" and method["views"] else "")


def records_of(folder: Path) -> list[Record]:
    """Read the records of a part of the study; one that was not run has none."""
    return list(read_records(folder)) if any(folder.glob("*.json")) else []


def errors(folder: Path) -> dict[tuple[str, int], float]:
    """Return the errors by method and batch size: of all samples, or the mean over corruptions of their own streams."""
    return {
        (name_of(record.fingerprint["method"]), record.fingerprint["batch_size"]): overall(record)
        for record in records_of(folder)
    }


def overall(record: Record) -> float:
    """Return the error of all samples of a mixture, or the mean of the errors of the corruptions."""
    if record.fingerprint["order"] == "mixed":
        return float(results_of(record)["error"])
    parts = results_of(record)["by_corruption"].values()
    return float(sum(part["error"] for part in parts) / len(parts))


def by_network(folder: Path, part: str) -> Rows:
    """Make a table of methods by network, each at the batch size it was run with."""
    found = {network: errors(folder / f"{part}-{network}") for network in NETWORKS}
    networks = [network for network in NETWORKS if found[network]]
    if not networks:
        return []
    return [
        [f"{part}, error in %", *networks],
        *([name, *(_cell(found[network], name) for network in networks)] for name in METHODS),
    ]


def by_corruption(folder: Path, network: str) -> Rows:
    """Make a table of each corruption: source, BN and ShrinkNorm, and with two passes where that was run."""
    records = {name_of(record.fingerprint["method"]): record for record in records_of(folder / f"single-{network}")}
    if not {"Source", "BN", "ShrinkNorm"} <= records.keys():
        return []
    order = [name for name in METHODS if name in records]
    parts = [results_of(records[name])["by_corruption"] for name in order]
    return [
        [f"{network}, error in %", *order],
        *([name, *(f"{part[name]['error']:.1f}" for part in parts)] for name in parts[0]),
        ["mean", *(f"{overall(records[name]):.1f}" for name in order)],
    ]


def by_batch_size(folder: Path, column: str) -> Rows:
    """Make a table of a column at each batch size; methods that do not depend on it have one error for all."""
    moving, same = errors(folder / f"column-{column}"), errors(folder / f"column-{column}-invariant")
    sizes = sorted({size for _, size in moving})
    if not sizes or not same:
        return []
    names = sorted({name for name, _ in moving})
    return [
        [f"{column}, error in %", *(f"batch {size}" for size in sizes)],
        *([name, *(_percent(moving.get((name, size))) for size in sizes)] for name in names),
        *([name, *([f"{error:.1f}"] * len(sizes))] for (name, _), error in sorted(same.items())),
    ]


def by_labels(folder: Path) -> Rows:
    """Make a table of streams whose labels come in any order, and in bursts."""
    parts = [errors(folder / f"{order}-labels-resnet56") for order in ("single", "correlated")]
    return [
        ["resnet56, error in %", "labels in any order", "in bursts", "difference"],
        *(
            [name, f"{error:.1f}", f"{parts[1][name, size]:.1f}", f"{parts[1][name, size] - error:+.1f}"]
            for (name, size), error in sorted(parts[0].items())
            if (name, size) in parts[1]
        ),
    ]


def by_part(folder: Path) -> Rows:
    """Make a table of the parts of a long stream, as `long_stream.py` has written them."""
    file = folder / "long-stream.json"
    if not file.exists():
        return []
    parts = json.loads(file.read_text(encoding="utf-8"))["parts"]
    return [
        ["a stream that is never forgotten, error in %", "images", *OF_PARTS],
        *(
            [name, f"{part['count']:,}", *(f"{part[which]:.1f}" for which in OF_PARTS.values())]
            for name, part in parts.items()
        ),
    ]


def by_calibration(folder: Path) -> Rows:
    """Make a table of what `calibration.py` has written: clean images and a mixture, with and without calibration."""
    files = {network: folder / f"calibration-{network}.json" for network in NETWORKS}
    found = {network: json.loads(file.read_text("utf-8"))["errors"] for network, file in files.items() if file.exists()}
    if not found:
        return []
    streams = ("clean", "mixed")
    return [
        ["error in %", *(f"{network}, {stream}" for network in found for stream in streams)],
        *(
            [name, *(f"{errors[stream][name]:.1f}" for errors in found.values() for stream in streams)]
            for name in ("Source", "ShrinkNorm", "ShrinkNorm, calibrated")
        ),
    ]


def _cell(found: Mapping[tuple[str, int], float], name: str) -> str:
    return _percent(next((error for (method, _), error in found.items() if method == name), None))


def _percent(error: float | None) -> str:
    return "-" if error is None else f"{error:.1f}"


def tables(folder: Path) -> str:
    """Make all tables, one after the other, leaving out what has no records."""
    made = [by_network(folder, part) for part in ("mixed", "clean", "single")]
    made += [by_corruption(folder, network) for network in NETWORKS]
    made += [
        by_labels(folder),
        by_part(folder),
        by_calibration(folder),
        *(by_batch_size(folder, column) for column in COLUMNS),
    ]
    return "\n".join(_markdown(rows) for rows in made if len(rows) > 1)


def _markdown(rows: Rows) -> str:
    head, *body = rows
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *body]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder with a folder of records for each part of the study")
    print(tables(parser.parse_args().folder), end="")


if __name__ == "__main__":
    main()
