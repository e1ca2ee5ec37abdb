"""What is to be known about the numbers of a comparison, in sentences."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from mixnorm.paper.comparison import Comparison


def sentences(comparison: Comparison) -> tuple[str, ...]:
    """Say what was measured, what to compare, what failed, and what is odd about the published numbers."""
    odd = (f"In the paper: {note}" for note in comparison.table.notes)
    return (*_measured(comparison), *failed(comparison), *odd)


def measured_with(comparison: Comparison) -> str:
    """Say in one sentence which model and data the numbers are of; files go by their names, wherever they are."""
    table, setup = comparison.table, comparison.setup
    runs = [table.run(cell) for cell in table.cells]
    model, data = _each_once(run.model for run in runs), _each_once(run.data for run in runs)
    weights = f" ({Path(setup.checkpoint).name})" if setup.checkpoint else ""
    used_model = f"{Path(setup.model or model).name}{weights}"
    used_data = _each_once(Path(setup.data_of(cell.column.id) or table.run(cell).data).name for cell in table.cells)
    limit = f", {setup.limit} images" if setup.limit else ""
    return f"Measured with {used_model} on {used_data}{limit}; published with {model} on {data}."


def _each_once(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names))


def _measured(comparison: Comparison) -> Iterator[str]:
    yield f"{comparison.table.measure.capitalize()} in %; a difference is measured - published."
    yield measured_with(comparison)
    if not comparison.like_the_paper:
        if comparison.setup.epochs:
            yield f"Each model saw all samples {comparison.setup.epochs} times before it answered them."
        yield "These are not the paper's model and data in full: compare the order of the methods, not the numbers."


def failed(comparison: Comparison) -> Iterator[str]:
    """Say which runs failed and why, those that failed for the same reason together."""
    places: dict[str, list[str]] = {}
    for place, why in comparison.failures.items():
        places.setdefault(why, []).append(place)
    for why, where in places.items():
        yield f"Failed: {'; '.join(where)}: {why}"
