"""The figure of a table by batch size, as in the paper's Figures 4 and 5: error against batch size."""

from pathlib import Path
from typing import Any

from mixnorm.errors import SettingError, require
from mixnorm.files import written_whole
from mixnorm.paper.comparison import Comparison
from mixnorm.paper.sentences import measured_with
from mixnorm.paper.table import Line

# The paper's colours, and a marker each for readers who do not see them.
STYLES = {
    "tent": ("tab:blue", "o"),
    "mixnorm-fixed": ("tab:orange", "s"),
    "mixnorm": ("tab:red", "^"),
    "mixnormbn": ("tab:green", "D"),
    "source": ("tab:gray", "x"),
    "bn": ("tab:purple", "v"),
}
FORMATS = ("png", "svg")


def draw(comparison: Comparison, folder: str | Path) -> tuple[Path, ...]:
    """Draw the published numbers dashed and the measured ones solid; return the paths of the PNG and the SVG."""
    if not comparison.table.by_batch_size:
        raise SettingError(f"{comparison.table.name} has no figure: its rows are not batch sizes")
    picture = _picture(comparison)
    Path(folder).mkdir(parents=True, exist_ok=True)
    paths = tuple(Path(folder) / f"{comparison.table.name}.{kind}" for kind in FORMATS)
    for path in paths:
        with written_whole(path) as part:
            _save(picture, part, path.suffix.removeprefix("."))
    return paths


def _picture(comparison: Comparison) -> Any:
    figure = require("matplotlib.figure", "report").Figure(figsize=(9, 4.5), layout="constrained")
    axes = figure.add_subplot()
    for column in comparison.table.columns:
        _curves(axes, comparison, column)
    axes.plot([], [], color="black", linestyle="--", alpha=0.6, label="published")
    _label(axes, comparison)
    return figure


def _curves(axes: Any, comparison: Comparison, column: Line) -> None:
    color, marker = STYLES[column.id]
    cells = [comparison.table.cell(row, column) for row in comparison.table.rows]
    sizes = [cell.row.settings["batch_size"] for cell in cells]
    published = [_or_gap(cell.published) for cell in cells]
    measured = [_or_gap(comparison.measured(cell)) for cell in cells]
    axes.plot(sizes, measured, color=color, marker=marker, label=column.name)
    axes.plot(sizes, published, color=color, marker=marker, linestyle="--", alpha=0.6, markerfacecolor="white")


def _or_gap(value: float | None) -> float:
    return float("nan") if value is None else value


def _label(axes: Any, comparison: Comparison) -> None:
    sizes = [row.settings["batch_size"] for row in comparison.table.rows]
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel("batch size")
    axes.set_ylabel("error in %")
    # One line each for what is drawn, what is measured and what is published: together they are too wide.
    title = [comparison.table.title, *measured_with(comparison).removesuffix(".").split("; ")]
    axes.figure.suptitle("\n".join(title), fontsize="medium")
    axes.grid(visible=True, alpha=0.3)
    axes.figure.legend(loc="outside right center")


def _save(picture: Any, path: Path, kind: str) -> None:
    # The same numbers give the same bytes: neither the date nor random ids go into the file.
    with require("matplotlib", "report").rc_context({"svg.hashsalt": "mixnorm"}):
        picture.savefig(path, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else None)
