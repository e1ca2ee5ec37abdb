"""Before the first of some runs: whether their models can be adapted as they are to be."""

from collections.abc import Sequence

from mixnorm.adaptation import Method, adapt
from mixnorm.benchmarks.models import is_clip, towers_of
from mixnorm.errors import DataError, MissingDataError, MissingExtraError, MixNormError, ModelError
from mixnorm.evaluation.loader import Loader
from mixnorm.evaluation.plain import stable_id
from mixnorm.evaluation.spec import RunSpec


def refuse_what_cannot_run(specs: Sequence[RunSpec], loader: Loader | None = None) -> None:
    """Raise one error for all runs whose method the model, or the first images, do not allow.

    A model or data that cannot be loaded is left to its run: it may be at hand where that takes place.
    """
    loader = loader or Loader()
    reasons: dict[str, list[str]] = {}
    for spec in {_subject(spec): spec for spec in specs}.values():
        if reason := _reason(spec, loader):
            reasons.setdefault(reason, []).append(f"{spec.method['method']} on {spec.model}")
    if reasons:
        listed = "".join(f"\n  {', '.join(dict.fromkeys(who))}: {reason}" for reason, who in reasons.items())
        raise ModelError(f"some of the runs cannot be done, and none was begun:{listed}")


def _subject(spec: RunSpec) -> str:
    """Name what a run tries, so that runs which differ in other things are tried once."""
    data = spec.data if Method.from_dict(spec.method).tried_first else spec.data["data_dir"]
    return stable_id([spec.model, spec.checkpoint, spec.dtype, spec.device, spec.method, data])


def _reason(spec: RunSpec, loader: Loader) -> str | None:
    try:
        _try(spec, loader)
    except (MissingDataError, MissingExtraError, DataError):
        return None
    except MixNormError as error:
        return str(error)
    return None


def _try(spec: RunSpec, loader: Loader) -> None:
    try:
        model = loader.unchecked_model(spec)
    except Exception:  # noqa: BLE001 - a user's model may fail to load in any way, and its own run tells how
        return
    if is_clip(model):
        towers_of(model)
        return
    method = Method.from_dict(spec.method)
    adapted = adapt(model, method, seed=spec.seed)
    if method.tried_first:
        images = next(loader.stream(spec).batches(2)).images
        weights = next(model.parameters())
        adapted(images.to(weights.device, weights.dtype))
