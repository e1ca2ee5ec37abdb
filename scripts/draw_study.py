"""Draw the errors of docs/study.md by corruption, each as a stream of its own, from the records of the project.

python scripts/draw_study.py results/study docs/images/study.svg
"""

import argparse
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from study_tables import NETWORKS, Rows, by_corruption

from mixnorm.files import written_whole

STYLES = {
    "Source": ("tab:gray", "x"),
    "BN": ("tab:purple", "v"),
    "ShrinkNorm": ("tab:orange", "o"),
    "ShrinkNorm, two passes": ("tab:red", "D"),
}
"""The colours of the methods, and a marker each for readers who do not see them."""


def panel(axes: Any, rows: Rows) -> None:
    """Draw one network: a row of marks for each corruption, the mean the last."""
    head, *body = rows
    for column, name in enumerate(head[1:], start=1):
        color, marker = STYLES[name]
        places = range(len(body))
        axes.scatter([float(row[column]) for row in body], places, color=color, marker=marker, label=name, s=24)
    axes.set_yticks(range(len(body)), [row[0] for row in body])
    # Not by inverting: the panels share the axis, and a second one would turn it back.
    axes.set_ylim(len(body) - 0.5, -0.5)
    axes.set_xlim(0, 100)
    axes.set_xlabel("error in %")
    axes.set_title(head[0].split(",")[0], fontsize="medium")
    axes.grid(visible=True, alpha=0.3)


def picture(folder: Path) -> Figure:
    """Draw all networks that have such streams side by side."""
    tables = [rows for network in NETWORKS if (rows := by_corruption(folder, network))]
    if not tables:
        raise SystemExit(f"{folder} has no records of single corruptions by Source, BN and ShrinkNorm")
    figure = Figure(figsize=(4 + 2.6 * len(tables), 5.2), layout="constrained")
    columns = figure.subplots(1, len(tables), sharey=True, squeeze=False)[0]
    for axes, rows in zip(columns, tables, strict=True):
        panel(axes, rows)
    figure.legend(*columns[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(STYLES))
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder with a folder of records for each part of the study")
    parser.add_argument("output", type=Path, help="the SVG to write")
    args = parser.parse_args()
    drawn = picture(args.folder)
    # Text stays text, and the same numbers give the same bytes.
    with (
        matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "mixnorm"}),
        written_whole(args.output) as part,
    ):
        drawn.savefig(part, format="svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
