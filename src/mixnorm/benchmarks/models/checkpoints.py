"""Checkpoints: read without running any code in them, and loaded into a network only when every name fits."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from mixnorm.errors import DataError, MissingDataError

StateDict = dict[str, Tensor]

# Where training scripts keep the parameters inside a checkpoint, and what wrappers put before their names.
CONTAINERS = ("state_dict", "model_state_dict", "model", "net")
WRAPPERS = ("module.", "model.", "network.")


def read_checkpoint(path: Path) -> StateDict:
    """Read the parameters in a `.safetensors` file, or in one that `torch.load(weights_only=True)` accepts."""
    if not path.is_file():
        raise MissingDataError(f"there is no checkpoint at {path}")
    _refuse_web_page(path)
    found = _read_safetensors(path) if path.suffix == ".safetensors" else _read_torch(path)
    return _parameters(found, path)


def load_checkpoint(
    network: nn.Module, state: Mapping[str, Tensor], *, source: object, unused: tuple[str, ...] = ()
) -> None:
    """Load parameters into a network, all of them or none; `source` is named when they do not fit.

    Prefixes left by wrappers such as `DataParallel` are taken off; names that start with one of `unused` are left out.
    """
    wanted = network.state_dict()
    state = {name: value for name, value in _unwrapped(state, wanted).items() if not name.startswith(unused)}
    problems = _problems(state, wanted)
    if problems:
        raise DataError(f"{source} does not fit {type(network).__name__}: {'; '.join(problems)}")
    network.load_state_dict(state)


def _refuse_web_page(path: Path) -> None:
    with path.open("rb") as file:
        start = file.read(64)
    if start.lstrip().lower().startswith((b"<!doctype", b"<html")):
        raise DataError(
            f"{path} is a web page and not a checkpoint: the site asked for a confirmation instead of sending the "
            "file; delete it, and download the file with a browser"
        )


def _read_safetensors(path: Path) -> object:
    try:
        return load_file(path)
    except SafetensorError as error:
        raise DataError(f"{path} is not a whole safetensors file ({error}); get it again") from error


def _read_torch(path: Path) -> object:
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # what a broken file raises depends on the byte at which it breaks
        if refused := re.search(r"GLOBAL (\w[\w.]*)", str(error)):
            raise DataError(
                f"{path} holds {refused[1]} besides tensors, and reading that would run code out of the file: refused. "
                f"If you trust it, save its tensors alone and use that file: "
                f"torch.save(torch.load({str(path)!r}, weights_only=False)['state_dict'], 'weights.pt')"
            ) from error
        raise DataError(
            f"{path} is not a whole PyTorch checkpoint of today ({type(error).__name__}: {_first_line(error)}); "
            "get it again, or save its tensors anew with a recent PyTorch"
        ) from error


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", maxsplit=1)[0]


def _parameters(found: object, path: Path) -> StateDict:
    for container in CONTAINERS:
        if isinstance(found, Mapping) and isinstance(found.get(container), Mapping):
            found = found[container]
    if not isinstance(found, Mapping):
        raise DataError(f"{path} holds a {type(found).__name__} and not a dictionary of parameters")
    others = [str(name) for name, value in found.items() if not (isinstance(name, str) and isinstance(value, Tensor))]
    if others or not found:
        raise DataError(f"{path} is not a dictionary of parameters; it holds {_some(others) or 'nothing'}")
    return dict(found)


def _unwrapped(state: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    while not state.keys() & wanted.keys():
        prefix = next((known for known in WRAPPERS if all(name.startswith(known) for name in state)), None)
        if prefix is None:
            break
        state = {name.removeprefix(prefix): value for name, value in state.items()}
    return state


def _problems(state: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> list[str]:
    # Checkpoints from before PyTorch 0.4.1 do not count batches, and nothing that is used here depends on the count.
    missing = [name for name in wanted if name not in state and not name.endswith("num_batches_tracked")]
    unexpected = [name for name in state if name not in wanted]
    shapes = [
        f"{name} {tuple(value.shape)} instead of {tuple(wanted[name].shape)}"
        for name, value in state.items()
        if name in wanted and value.shape != wanted[name].shape
    ]
    kinds = {"missing": missing, "unexpected": unexpected, "of another shape": shapes}
    return [f"{len(names)} {kind}: {_some(names)}" for kind, names in kinds.items() if names]


def _some(names: Iterable[str], most: int = 5) -> str:
    listed = list(names)
    return ", ".join(listed[:most]) + (", ..." if len(listed) > most else "")
