"""Adaptation state: as a snapshot in memory, and as a file that is safe to load.

A file is in the safetensors format: plain tensors, and a header of plain JSON. Nothing in it is ever executed.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from mixnorm.errors import MissingDataError, StateError
from mixnorm.files import write_whole

FORMAT = "mixnorm-state"
VERSION = 5
FIRST_OF = {"ShrinkNorm": 5}
"""The first version whose states of a method can be read: what ShrinkNorm remembers has changed four times."""


@dataclass(frozen=True)
class Header:
    """What a state belongs to: it fits only there."""

    model: str
    """The fingerprint of the source model."""
    method: dict[str, Any]
    seed: int
    streams: dict[str, int]
    """The streams in the order of the tensors' rows, and how many samples each has seen."""
    rejected: int
    skipped_steps: int

    @classmethod
    def parse(cls, text: str) -> "Header":
        """Read a header from JSON, refusing one of other fields or types."""
        data = json.loads(text)
        header = cls(**data)
        counts = [header.seed, header.rejected, header.skipped_steps, *header.streams.values()]
        if not all(type(count) is int for count in counts) or min(counts[1:]) < 0 or "" not in header.streams:
            raise ValueError(f"its header is damaged: {text[:200]}")
        if not isinstance(header.model, str) or not isinstance(header.method, dict):
            raise TypeError(f"its header is damaged: {text[:200]}")
        return header


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The whole adaptation state of a model at one moment; what the model does later does not change it."""

    header: Header
    tensors: Mapping[str, Tensor]


def fingerprint(model: nn.Module) -> str:
    """Hash the names, types, shapes and values of a model's parameters and buffers."""
    digest = hashlib.sha256()
    for name, value in sorted(model.state_dict().items()):
        if isinstance(value, Tensor):
            digest.update(f"{name} {value.dtype} {tuple(value.shape)}\n".encode())
            digest.update(value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
        else:
            digest.update(f"{name} {value!r}\n".encode())
    return digest.hexdigest()


def save_snapshot(snapshot: Snapshot, path: str | os.PathLike[str]) -> None:
    """Write a snapshot to a file: whole, or not at all."""
    header = {"format": FORMAT, "version": str(VERSION), "header": json.dumps(asdict(snapshot.header))}
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in snapshot.tensors.items()}
    write_whole(Path(path), save(tensors, header))


def load_snapshot(path: str | os.PathLike[str]) -> Snapshot:
    """Read a snapshot from a file, refusing what is not one."""
    path = Path(path)
    if not path.is_file():
        raise MissingDataError(f"there is no state file {str(path)!r}; save one with save_state")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            _check_format(metadata, path)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
        header = Header.parse(metadata["header"])
        _check_age(int(metadata["version"]), str(header.method.get("method")), path)
        return Snapshot(header, tensors)
    except StateError:
        raise
    except (SafetensorError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise StateError(f"{str(path)!r} is truncated or no state file of mixnorm: {error}") from error


def _check_format(metadata: Mapping[str, str], path: Path) -> None:
    if metadata.get("format") != FORMAT:
        raise StateError(
            f"{str(path)!r} is a foreign safetensors file, not a state of mixnorm; "
            "weights are loaded with load_state_dict, adaptation state with load_state"
        )
    version = metadata.get("version", "")
    if not version.isdecimal() or int(version) > VERSION:
        raise StateError(
            f"{str(path)!r} has state version {version!r}, newer than {VERSION}, the newest this mixnorm knows; "
            "load it with the version of mixnorm that wrote it, or a later one"
        )


def _check_age(version: int, method: str, path: Path) -> None:
    if version < FIRST_OF.get(method, 1):
        raise StateError(
            f"{str(path)!r} has state version {version}, and what {method} remembers has changed since; "
            "adapt anew, or load it with the version of mixnorm that wrote it"
        )
