"""Print the tables of docs/domain-adaptation.md from the records that are committed with the project.

python scripts/domain_adaptation_table.py results/domain-adaptation
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from mixnorm.evaluation import Record, read_records, results_of
from mixnorm.report.labels import in_order, label

PAIRS = ("mnist-to-usps", "mnist-to-mnist-m", "mnist-m-to-mnist", "mnist-m-to-usps")
NAMES = {"mnist": "MNIST", "mnist-m": "MNIST-M", "usps": "USPS"}


def heading(pair: str) -> str:
    """Name a pair as the paper does."""
    return " to ".join(NAMES[name] for name in pair.split("-to-"))


def name_of(record: Record) -> str:
    """Name a method; MixNormBN was run with two learning rates, the paper's by SGD and TENT's by Adam."""
    method = record.fingerprint["method"]
    if method["method"] != "MixNormBN":
        return label(method)
    return f"MixNormBN ({'printed learning rate' if method['learn']['optimizer'] == 'sgd' else 'learning as TENT'})"


def errors(folder: Path) -> dict[int, dict[str, dict[str, float]]]:
    """Return the errors by epochs, method and pair."""
    found: dict[int, dict[str, dict[str, float]]] = {}
    for pair in PAIRS:
        for record in read_records(folder / pair):
            by_method = found.setdefault(record.fingerprint.get("epochs", 0), {})
            by_method.setdefault(name_of(record), {})[pair] = results_of(record)["error"]
    return found


def tables(folder: Path) -> Iterator[str]:
    """Make a table for each protocol, online first."""
    for epochs, by_method in sorted(errors(folder).items()):
        title = f"offline, {epochs} epochs" if epochs else "online"
        yield f"| error in %, {title} | {' | '.join(map(heading, PAIRS))} |\n|---|{'---:|' * len(PAIRS)}\n" + "".join(
            f"| {name} | {' | '.join(f'{by_method[name][pair]:.2f}' for pair in PAIRS)} |\n"
            for name in in_order(by_method)
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder with a folder of records for each pair")
    print("\n".join(tables(parser.parse_args().folder)), end="")


if __name__ == "__main__":
    main()
