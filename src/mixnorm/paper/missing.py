"""Finding out before any work what is not at hand, all of it at once."""

from collections.abc import Callable, Sequence
from functools import partial

from mixnorm.benchmarks import load_model, load_stream
from mixnorm.errors import MissingDataError, MissingExtraError
from mixnorm.evaluation import RunSpec


def missing(specs: Sequence[RunSpec]) -> tuple[str, ...]:
    """Say what the runs need that is not at hand and how to get it: nothing, or one text for each thing.

    Models and data sets are really loaded, each once, so that what passes here does not fail an hour later.
    """
    loads: dict[str, Callable[[], object]] = {}
    for spec in specs:
        loads[f"{spec.model} {spec.checkpoint}"] = partial(
            load_model, spec.model, checkpoint=spec.checkpoint, data_dir=spec.data["data_dir"]
        )
        loads[f"{spec.data} {spec.protocol.order}"] = partial(_samples, spec)
    complaints = (_complaint(load) for load in loads.values())
    return tuple(complaint for complaint in complaints if complaint)


def _samples(spec: RunSpec) -> int:
    """Choose the samples as the run will, so that a limit or a corruption that cannot be had is told at once."""
    return len(load_stream(**spec.data, order=spec.protocol.order))


def _complaint(load: Callable[[], object]) -> str | None:
    try:
        load()
    except (MissingDataError, MissingExtraError) as error:
        return str(error)
    return None
