"""Before the first run of a model that has a name: whether it answers clean samples as published."""

import logging

from torch import nn

from mixnorm.benchmarks import check_clean_accuracy, load_dataset
from mixnorm.benchmarks.models import find_model
from mixnorm.benchmarks.models.clean_accuracy import USUAL_CAUSES
from mixnorm.benchmarks.models.source_model import SourceModel
from mixnorm.benchmarks.models.user import is_user_model
from mixnorm.errors import DataError, MissingDataError, MissingExtraError
from mixnorm.evaluation.spec import RunSpec

# A few hundred find an input that is scaled wrongly; many more would take longer than a short run itself.
SAMPLES = 300
# Small, so that the memory of a run is not judged by it.
BATCH_SIZE = 32

_NOTES = logging.getLogger("mixnorm")


def refusal(model: nn.Module, spec: RunSpec) -> str | None:
    """Say why a run's model must not be used: its accuracy on clean samples is far from the published one.

    Weights of the user's own, and a model whose clean data is not at hand, are only noted in the log; a model for
    which no accuracy is published passes.
    """
    source = None if is_user_model(spec.model) else find_model(spec.model)
    if source is None or source.dataset is None or source.accuracy is None:
        return None
    try:
        found = _complaint(model, source, source.dataset, spec.data["data_dir"])
    except (MissingDataError, MissingExtraError, DataError) as error:
        _NOTES.warning("note: the accuracy of %s on clean samples was not checked: %s", source.name, error)
        return None
    if found and spec.checkpoint is not None:
        _NOTES.warning("note: %s. Published is what other weights than %s reach", found, spec.checkpoint)
        return None
    return found and f"{found}. {USUAL_CAUSES}. To use it all the same, give the file of its weights as checkpoint"


def _complaint(model: nn.Module, source: SourceModel, dataset: str, data_dir: str | None) -> str | None:
    clean = load_dataset(dataset, data_dir=data_dir, resize=source.resize, crop=source.crop)
    result = check_clean_accuracy(model, clean, source.accuracy, SAMPLES, batch_size=BATCH_SIZE, allow=True)
    return None if result.as_published else f"{source.name} on {dataset}: {result}"
