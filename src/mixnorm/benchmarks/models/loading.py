"""Loading a source model, ready to be evaluated or adapted."""

from pathlib import Path
from typing import Literal, get_args

import torch
from torch import nn

from mixnorm.benchmarks.models.checkpoints import load_checkpoint, read_checkpoint
from mixnorm.benchmarks.models.registry import find_model
from mixnorm.benchmarks.models.source_model import SourceModel
from mixnorm.benchmarks.models.user import import_factory, is_user_model
from mixnorm.benchmarks.models.weights_file import ShippedWeights, WeightsFile
from mixnorm.errors import MissingDataError, SettingError, UnknownNameError, unknown_name

Weights = Literal["published", "random"]


def load_model(
    name: str | Path,
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
    name, file, folder = _text(name), _path("checkpoint", checkpoint), _path("data_dir", data_dir)
    _check(file, weights)
    with torch.random.fork_rng(devices=[]):
        if is_user_model(name):
            return _user_model(name, file)
        source = _find(name)
        return _named_model(
            source, None if weights == "random" else file or _published(source).find(source.name, folder)
        )


def download_model(name: str, *, data_dir: str | Path | None = None, quiet: bool = False) -> Path:
    """Download and verify the published weights of a model if they are not there yet, and return their path."""
    source = find_model(_text(name))
    return _published(source).fetch(source.name, _path("data_dir", data_dir), quiet=quiet)


def _text(name: object) -> str:
    if not isinstance(name, str | Path):
        raise SettingError(f"a model is named by text, such as 'digits' or 'path/to/file.py:FACTORY', got {name!r}")
    return str(name)


def _path(kind: str, given: object) -> Path | None:
    if given is None:
        return None
    if not isinstance(given, str | Path) or not str(given):
        raise SettingError(f"{kind} must be a path, got {given!r}")
    return Path(given).expanduser()


def _find(name: str) -> SourceModel:
    try:
        return find_model(name)
    except UnknownNameError as error:
        if not Path(name).expanduser().is_file():
            raise
        raise SettingError(
            f"{name!r} is a file and not the name of a model; weights are given as checkpoint, beside the name of "
            "their network or path/to/file.py:FACTORY"
        ) from error


def _check(checkpoint: Path | None, weights: str) -> None:
    if weights not in get_args(Weights):
        raise unknown_name("weights", weights, get_args(Weights))
    if weights == "random" and checkpoint is not None:
        raise SettingError(f"weights='random' and checkpoint={str(checkpoint)!r} exclude each other; give one of them")


def _user_model(name: str, file: Path | None) -> nn.Module:
    state = None if file is None else read_checkpoint(file)
    _seed()
    make = import_factory(name)
    _seed()  # once more: whether the file is imported now or was before, its factory draws the same
    model = make()
    if state is not None:
        load_checkpoint(model, state, source=file)
    return model.eval()


def _named_model(source: SourceModel, file: Path | None) -> nn.Module:
    state = None if file is None else read_checkpoint(file)
    _seed()
    model = source.build()
    if state is not None:
        load_checkpoint(model.network, state, source=file, unused=source.unused_keys)
    if source.finish is not None:
        source.finish(model.network)
    return model.eval()


def _seed() -> None:
    """Begin the random weights at the same place each time."""
    torch.default_generator.manual_seed(0)  # torch.manual_seed would reach the generators of all GPUs as well


def _published(source: SourceModel) -> WeightsFile | ShippedWeights:
    if source.weights is None:
        raise MissingDataError(f"no weights of {source.name} are published; give a checkpoint or weights='random'")
    return source.weights
