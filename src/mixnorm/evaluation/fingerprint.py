"""The fingerprint of a run: every choice that moves its numbers, as flat plain data that can be compared."""

from typing import Any

import torch

from mixnorm.adaptation import AdaptedModel
from mixnorm.adaptation.state_file import fingerprint as weights_fingerprint
from mixnorm.benchmarks import Stream, ZeroShotClassifier
from mixnorm.benchmarks.models.preprocessing import Preprocess
from mixnorm.evaluation.environment import library_versions
from mixnorm.evaluation.plain import plain
from mixnorm.evaluation.protocol import Protocol


def fingerprint(adapted: AdaptedModel, stream: Stream, protocol: Protocol, model: str) -> dict[str, Any]:
    """Take the fingerprint of a run; `model` is the name under which the model is known."""
    weights = next(adapted.parameters(), torch.empty(0))
    return {
        "data": stream.name,
        "data_hash": stream.content_fingerprint(),
        "order": stream.order,
        "order_hash": stream.order_fingerprint(),
        "severity": stream.severity,
        "corruptions": list(stream.corruptions),
        "count": len(stream),
        "reset": protocol.reset,
        "batch_size": protocol.batch_size,
        # Online there are none, and records from before there were any stay comparable.
        **({"epochs": protocol.epochs} if protocol.epochs else {}),
        "model": model,
        "weights_hash": weights_fingerprint(adapted.model),
        "preprocessing": preprocessing_of(adapted),
        **_prompts(adapted),
        "method": plain("method", adapted.method.to_dict()),
        "seed": adapted.seed,
        "dtype": str(weights.dtype).removeprefix("torch."),
        "device": str(weights.device),
        "threads": torch.get_num_threads(),
        **{f"{name}_version": version for name, version in library_versions().items()},
    }


def preprocessing_of(adapted: AdaptedModel) -> str:
    """Say how a model scales its input, where it was made by `load_model`; a model of another maker does it unseen."""
    found = [str(module.settings) for module in adapted.modules() if isinstance(module, Preprocess)]
    return found[0] if found else "the model's own"


def _prompts(adapted: AdaptedModel) -> dict[str, Any]:
    """Tell what a zero-shot classifier was made with; others have no such field."""
    model = adapted.model
    return {"templates": list(model.templates)} if isinstance(model, ZeroShotClassifier) else {}
