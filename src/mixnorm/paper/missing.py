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
    models = {(spec.model, spec.checkpoint): _model(spec) for spec in specs}
    streams = {str(spec.data): partial(load_stream, **spec.data) for spec in specs}
    complaints = (_complaint(load) for load in (*models.values(), *streams.values()))
    return tuple(complaint for complaint in complaints if complaint)


def _model(spec: RunSpec) -> Callable[[], object]:
    return partial(load_model, spec.model, checkpoint=spec.checkpoint, data_dir=spec.data["data_dir"])


def _complaint(load: Callable[[], object]) -> str | None:
    try:
        load()
    except (MissingDataError, MissingExtraError) as error:
        return str(error)
    return None
