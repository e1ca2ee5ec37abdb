"""Loading what a run names, and keeping it for the runs after it that share it."""

import dataclasses
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from mixnorm.benchmarks import Stream, load_model, load_stream
from mixnorm.benchmarks.datasets import Shift, ShiftedDataset
from mixnorm.benchmarks.datasets.dataset import Indices, Pixels
from mixnorm.benchmarks.models import is_clip, zero_shot_for
from mixnorm.errors import DataError, ModelError, SettingError
from mixnorm.evaluation.clean_check import refusal
from mixnorm.evaluation.spec import RunSpec

KEPT_BYTES = 256 * 2**20


class Loader:
    """Loads models and streams; the last ones stay loaded, for as long as the loader lives.

    A run copies its model before it adapts it, so a model that stays loaded stays the source model. A model that has a
    name is checked once on clean samples, and refused when it is far from its published accuracy.
    """

    def __init__(self) -> None:
        self._model = lru_cache(maxsize=1)(_load_model)
        self._stream = lru_cache(maxsize=1)(_load_stream)
        self._zero_shot = lru_cache(maxsize=1)(zero_shot_for)
        self._refusals: dict[tuple[str, str | None, str | None], str | None] = {}

    def model(self, spec: RunSpec) -> nn.Module:
        """Give the source model of a run; a CLIP model becomes the zero-shot classifier for the classes of its data."""
        model = self.unchecked_model(spec)
        weights = (spec.model, spec.checkpoint, spec.data["data_dir"])
        if weights not in self._refusals:
            self._refusals[weights] = refusal(model, spec)
        if message := self._refusals[weights]:
            raise ModelError(message)
        return self._classifier(model, spec) if is_clip(model) else model

    def unchecked_model(self, spec: RunSpec) -> nn.Module:
        """Give the model that a run names as it is, however far from its published accuracy."""
        return self._model(spec.model, spec.checkpoint, spec.data["data_dir"], spec.dtype, spec.device)

    def stream(self, spec: RunSpec) -> Stream:
        """Give the stream of a run."""
        return self._stream(json.dumps(spec.data))

    def _classifier(self, clip: nn.Module, spec: RunSpec) -> nn.Module:
        stream = self.stream(spec)
        return self._zero_shot(clip, stream.name, stream.class_names)


class KeptInMemory(ShiftedDataset):
    """A data set under shifts that reads or corrupts each image once, as long as there is room for it."""

    def __init__(self, data: ShiftedDataset, room: int = KEPT_BYTES) -> None:
        super().__init__(data.name, data.labels, data.class_names, data.corruptions)
        self._data = data
        self._room = room
        self._kept: dict[tuple[Shift, int], Pixels] = {}
        self._fingerprints: dict[str, str] = {}

    def indices_of(self, shift: Shift) -> Indices:
        """Return the images that exist under a shift."""
        return self._data.indices_of(shift)

    def own_severities(self, corruption: str) -> tuple[int, ...] | None:
        """Return the severities that images of a corruption have, each its own."""
        return self._data.own_severities(corruption)

    def images(self, indices: npt.ArrayLike, shift: Shift) -> Pixels:
        """Return images under a shift; those that were not asked for before are read together."""
        places = np.asarray(indices, dtype=np.int64).tolist()
        new = [place for place in places if (shift, place) not in self._kept]
        read = dict(zip(new, self._data.images(new, shift), strict=True)) if new else {}
        pictures = [read[place] if place in read else self._kept[shift, place] for place in places]
        for place, picture in read.items():
            self._keep(shift, place, picture)
        if len({picture.shape for picture in pictures}) > 1:
            raise DataError(f"{self.name} has images of different sizes")
        return np.stack(pictures)

    def fingerprint(self, used: Mapping[Shift, Indices]) -> str:
        """Return the hash of the content, computed once for the same use."""
        key = repr({shift: hash(indices.tobytes()) for shift, indices in used.items()})
        if key not in self._fingerprints:
            self._fingerprints[key] = self._data.fingerprint(used)
        return self._fingerprints[key]

    def _keep(self, shift: Shift, place: int, picture: Pixels) -> None:
        if self._room >= picture.nbytes:
            self._room -= picture.nbytes
            self._kept[shift, place] = picture.copy()


def _load_model(name: str, checkpoint: str | None, data_dir: str | None, dtype: str, device: str) -> nn.Module:
    model = load_model(name, checkpoint=checkpoint, data_dir=data_dir)
    try:
        return model.to(torch.device(device), getattr(torch, dtype))
    except (RuntimeError, AssertionError) as error:
        raise SettingError(f"device={device!r} cannot be used here: {error}") from error


def _load_stream(data: str) -> Stream:
    arguments: dict[str, Any] = json.loads(data)
    stream = load_stream(arguments.pop("name"), **arguments)
    return dataclasses.replace(stream, data=KeptInMemory(stream.data))
