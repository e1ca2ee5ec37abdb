"""Loading a source model, ready to be evaluated or adapted."""

from pathlib import Path
from typing import Literal, get_args

import torch
from torch import nn

from mixnorm.benchmarks.models.checkpoints import load_checkpoint, read_checkpoint
from mixnorm.benchmarks.models.registry import find_model
from mixnorm.benchmarks.models.source_model import SourceModel
from mixnorm.benchmarks.models.user import call_factory, is_user_model
from mixnorm.benchmarks.models.weights_file import ShippedWeights, WeightsFile
from mixnorm.errors import MissingDataError, SettingError, unknown_name

Weights = Literal["published", "random"]


def load_model(
    name: str,
    *,
    checkpoint: str | Path | None = None,
    weights: Weights = "published",
    data_dir: str | Path | None = None,
) -> nn.Module:
    """Load a model by name, in eval mode, taking RGB images as floats in [0, 1] of shape (N, 3, H, W).

    A name is one of `list_models()`, `torchvision/NAME`, `timm/NAME`, or a factory of your own,
    `path/to/file.py:FACTORY`. The published weights are looked for in the data folder, a `checkpoint` of your own
    replaces them, and `weights="random"` does without: those are the same ones each time.

    >>> model = load_model("digits")
    >>> model(torch.zeros(1, 3, 32, 32)).shape
    torch.Size([1, 10])
    """
    _check(checkpoint, weights)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)  # torch.manual_seed would reach the generators of all GPUs as well
        if is_user_model(name):
            return _user_model(name, checkpoint)
        source = find_model(name)
        file = None if weights == "random" else _weights_path(source, checkpoint, _folder(data_dir))
        return _named_model(source, file)


def download_model(name: str, *, data_dir: str | Path | None = None, quiet: bool = False) -> Path:
    """Download and verify the published weights of a model if they are not there yet, and return their path."""
    source = find_model(name)
    return _published(source).fetch(source.name, _folder(data_dir), quiet=quiet)


def _folder(data_dir: str | Path | None) -> Path | None:
    return None if data_dir is None else Path(data_dir).expanduser()


def _check(checkpoint: str | Path | None, weights: str) -> None:
    if weights not in get_args(Weights):
        raise unknown_name("weights", weights, get_args(Weights))
    if weights == "random" and checkpoint is not None:
        raise SettingError(f"weights='random' and checkpoint={str(checkpoint)!r} exclude each other; give one of them")


def _user_model(name: str, checkpoint: str | Path | None) -> nn.Module:
    state = None if checkpoint is None else read_checkpoint(Path(checkpoint).expanduser())
    model = call_factory(name)
    if state is not None:
        load_checkpoint(model, state, source=checkpoint)
    return model.eval()


def _named_model(source: SourceModel, file: Path | None) -> nn.Module:
    state = None if file is None else read_checkpoint(file)
    model = source.build()
    if state is not None:
        load_checkpoint(model.network, state, source=file, unused=source.unused_keys)
    if source.finish is not None:
        source.finish(model.network)
    return model.eval()


def _weights_path(source: SourceModel, checkpoint: str | Path | None, folder: Path | None) -> Path:
    if checkpoint is not None:
        return Path(checkpoint).expanduser()
    return _published(source).find(source.name, folder)


def _published(source: SourceModel) -> WeightsFile | ShippedWeights:
    if source.weights is None:
        raise MissingDataError(f"no weights of {source.name} are published; give a checkpoint or weights='random'")
    return source.weights
