"""Checkpoints: read without running any code in them, and loaded into a network only when every name fits."""

import difflib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from mixnorm.benchmarks.download import is_web_page
from mixnorm.errors import DataError, MissingDataError

StateDict = dict[str, Tensor]
SHOWN = 5  # names of each kind in a message

# Where training scripts keep the parameters inside a checkpoint. Averaged ones come first, as in timm: a script that
# keeps them evaluates with them.
CONTAINERS = ("state_dict_ema", "model_ema", "state_dict", "model_state_dict", "model", "net")
# What wrappers put before the names: data parallelism, Lightning modules, `torch.compile`.
WRAPPERS = ("module.", "model.", "network.", "net.", "_orig_mod.")
# A count that torch's averaged models keep beside their parameters.
COUNT_OF_AVERAGES = "n_averaged"


def read_checkpoint(path: Path) -> StateDict:
    """Read the parameters in a `.safetensors` file, or in one that `torch.load(weights_only=True)` accepts."""
    if path.is_dir():
        raise MissingDataError(f"{path} is a folder; a checkpoint is one file, name it")
    if not path.is_file():
        raise MissingDataError(f"there is no checkpoint at {path}")
    start = _start(path)
    if is_web_page(start):
        raise DataError(
            f"{path} is a web page and not a checkpoint: the site asked for a confirmation instead of sending the "
            "file; delete it, and download the file with a browser"
        )
    found = _read_safetensors(path) if _is_safetensors(path, start) else _read_torch(path)
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


def _start(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(64)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error}") from error


def _is_safetensors(path: Path, start: bytes) -> bool:
    """Go by the content, and by the name where that has none: a header of JSON follows the length of the header."""
    return start[8:9] == b"{" or (path.suffix == ".safetensors" and start[:2] != b"PK")


def _read_safetensors(path: Path) -> object:
    try:
        return load_file(path)
    except SafetensorError as error:
        raise DataError(f"{path} is not a whole safetensors file ({error}); get it again") from error


def _read_torch(path: Path) -> object:
    try:
        with path.open("rb") as file:  # torch would go by the name of a path
            return torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # what a broken file raises depends on the byte at which it breaks
        if refused := re.search(r"GLOBAL (\w[\w.]*)", str(error)):
            raise DataError(
                f"{path} holds {refused[1]} besides tensors, and reading that would run code out of the file: refused. "
                f"If you trust it, save its tensors alone and use that file: found = torch.load({str(path)!r}, "
                "weights_only=False); torch.save(found.state_dict() if isinstance(found, torch.nn.Module) else "
                "found['state_dict'], 'weights.pt')"
            ) from error
        if "TorchScript" in str(error):
            raise DataError(
                f"{path} is a TorchScript program and not a checkpoint; save its tensors and use that file: "
                f"torch.save(torch.jit.load({str(path)!r}).state_dict(), 'weights.pt')"
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
        raise DataError(
            f"{path} is not a dictionary of parameters; it holds {_some(others) or 'nothing'}. Parameters may also "
            f"stand below one of {', '.join(CONTAINERS)}"
        )
    return dict(found)


def _unwrapped(state: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """Take off what wrappers put before the names, where no name fits as it is."""
    if COUNT_OF_AVERAGES not in wanted:
        state = {name: value for name, value in state.items() if name != COUNT_OF_AVERAGES}
    while not state.keys() & wanted.keys():
        prefix = next((known for known in WRAPPERS if all(name.startswith(known) for name in state)), None)
        if prefix is None or not state:
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
    kinds = {"missing": missing, "unexpected": _with_nearest(unexpected, missing), "of another shape": shapes}
    problems = [f"{len(names)} {kind}: {_some(names)}" for kind, names in kinds.items() if names]
    return [*problems, *_advice(state, wanted)]


def _with_nearest(unexpected: list[str], missing: list[str]) -> list[str]:
    """Put the missing name that looks most like it behind each of the unexpected ones that will be shown."""
    nearest = [difflib.get_close_matches(name, missing, n=1, cutoff=0.8) for name in unexpected[:SHOWN]]
    shown = [f"{name} (is it {near[0]}?)" if near else name for name, near in zip(unexpected, nearest, strict=False)]
    return [*shown, *unexpected[SHOWN:]]


def _advice(state: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> list[str]:
    """Say so where the parameters are those of a part of the network, as of one behind its preprocessing."""
    parts = {name[: -len(first)] for first in list(state)[:1] for name in wanted if name.endswith(f".{first}")}
    fitting = sorted(part for part in parts if all(part + name in wanted for name in state))
    return [f"all of them fit its part {part.rstrip('.')!r}: load them there, in the factory" for part in fitting]


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
