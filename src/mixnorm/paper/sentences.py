"""What is to be known about the numbers of a comparison, in sentences."""

from collections.abc import Iterator

from mixnorm.paper.comparison import Comparison


def sentences(comparison: Comparison) -> tuple[str, ...]:
    """Say what was measured, what to compare, what failed, and what is odd about the published numbers."""
    odd = (f"In the paper: {note}" for note in comparison.table.notes)
    return (*_measured(comparison), *_failed(comparison), *odd)


def _measured(comparison: Comparison) -> Iterator[str]:
    table, setup = comparison.table, comparison.setup
    run = table.run(table.cells[0])
    limit = f", {setup.limit} images" if setup.limit else ""
    yield f"{table.measure.capitalize()} in %; a difference is measured - published."
    yield (
        f"Measured with {setup.model or run.model} on {setup.data or run.data}{limit}; "
        f"published with {run.model} on {run.data}."
    )
    if not comparison.like_the_paper:
        yield "These are not the paper's model and data in full: compare the order of the methods, not the numbers."


def _failed(comparison: Comparison) -> Iterator[str]:
    for where, why in comparison.failures.items():
        yield f"Failed: {where}: {why}"
