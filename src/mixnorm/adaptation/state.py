"""The adaptation state of a model: its streams, their statistics, and their learned parameters."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import torch
from torch import Tensor

from mixnorm.adaptation.learner import Learner
from mixnorm.adaptation.methods import Lesson
from mixnorm.adaptation.state_file import Header
from mixnorm.adaptation.streams import Streams
from mixnorm.errors import StateError
from mixnorm.norms import AdaptiveNorm, Call, Memory, ShrinkageLayer


class AdaptationState:
    """All that a model remembers of what it has seen."""

    def __init__(self, layers: Mapping[str, AdaptiveNorm], memory: Memory, lesson: Lesson | None, seed: int) -> None:
        self.layers = dict(layers)
        self.memory = memory
        self.lesson = lesson
        self.seed = seed
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self.streams = Streams()
        self.learners: dict[str, Learner] = {}
        self.rejected = 0
        self.skipped_steps = 0
        self.memory.clear()

    def forget(self, stream: str) -> None:
        """Forget what one stream has seen."""
        slot = self.streams.slot(stream)
        self.streams.forget(stream)
        self.learners.pop(stream, None)
        self.memory.clear(slot)

    def reserve(self, slots: int) -> None:
        """Make room for that many streams."""
        self.memory.reserve(slots)

    def learner(self, stream: str) -> Learner | None:
        """Give the learned parameters of a stream, new ones for a new stream, or None where nothing is learned."""
        if self.lesson is None:
            return None
        return self.learners.get(stream) or Learner(self.lesson)

    def learn(self, stream: str, learner: Learner, gradients: list[Tensor | None] | None, rate: float) -> None:
        """Take a learning step for a stream, or count one that cannot be taken."""
        if gradients is None:
            self.skipped_steps += 1
        else:
            learner.step(gradients, rate)
            self.learners[stream] = learner

    def undo(self, slots: Sequence[int]) -> Callable[[], None]:
        """Give what puts back all that a method without learning has changed since, where it changes these slots."""
        streams, rejected, memory_back = self.streams.copy(), self.rejected, self.memory.undo(slots)

        def back() -> None:
            self.streams, self.rejected = streams, rejected
            memory_back()

        return back

    def export(self) -> dict[str, Tensor]:
        """Copy all tensors; rows of the tables stand in the order of the streams."""
        names = list(self.streams)
        tensors: dict[str, Tensor] = {}
        for (name, call), table in self.memory.export([self.streams.slot(stream) for stream in names]).items():
            tensors[f"statistics:{call}:{name}"] = table
        for name, layer in self.shrinkage_layers().items():
            if layer.calibration is not None:
                tensors[f"content:0:{name}"] = torch.tensor(layer.calibration, dtype=torch.float64)
        for stream, learner in self.learners.items():
            learned = learner.export().items()
            tensors |= {f"learned:{names.index(stream)}:{key}": value for key, value in learned}
        return tensors

    def load(self, header: Header, tensors: Mapping[str, Tensor]) -> None:
        """Replace everything by an export; one that does not fit changes nothing."""
        tables = self._tables(tensors, len(header.streams))
        learners = self._learners(tensors, list(header.streams))
        contents = self._contents(tensors)
        self.seed = header.seed
        self.streams.load(header.streams)
        self.learners = learners
        self.rejected, self.skipped_steps = header.rejected, header.skipped_steps
        for name, layer in self.shrinkage_layers().items():
            layer.calibration = contents.get(name)
        self.memory.load(tables)

    def shrinkage_layers(self) -> dict[str, ShrinkageLayer]:
        """Find the layers that can be calibrated."""
        return {name: layer for name, layer in self.layers.items() if isinstance(layer, ShrinkageLayer)}

    def _contents(self, tensors: Mapping[str, Tensor]) -> dict[str, tuple[float, float]]:
        contents = {}
        for (kind, _, name), tensor in _parsed(tensors):
            if kind == "content":
                if name not in self.shrinkage_layers() or tensor.shape != (2,) or not (tensor > 0).all():
                    raise StateError(f"the state has a calibration that does not fit layer {name!r}; it is damaged")
                content, spread = tensor.tolist()
                contents[name] = (content, spread)
        return contents

    def _tables(self, tensors: Mapping[str, Tensor], streams: int) -> dict[Call, Tensor]:
        tables: dict[Call, Tensor] = {}
        for (kind, call, name), table in _parsed(tensors):
            if kind == "statistics":
                self._check_table(name, table, streams)
                tables[name, int(call)] = table
        return tables

    def _check_table(self, name: str, table: Tensor, streams: int) -> None:
        channels = self.layers[name].starting_state()[0].numel() if name in self.layers else None
        if table.shape != (2, streams, channels):
            raise StateError(
                f"the state has statistics of shape {tuple(table.shape)} for layer {name!r}, "
                f"the model needs {(2, streams, channels)}; it belongs to another model"
            )
        if not table.isfinite().all() or (table[1] < self.layers[name].least_variance).any():
            raise StateError(
                f"the state has statistics that are no means and variances for layer {name!r}; it is damaged"
            )

    def _learners(self, tensors: Mapping[str, Tensor], names: list[str]) -> dict[str, Learner]:
        found: dict[str, dict[str, Tensor]] = {}
        for (kind, stream, name), tensor in _parsed(tensors):
            if kind == "learned" and int(stream) < len(names):
                found.setdefault(names[int(stream)], {})[name] = tensor
        learners = {}
        for stream, values in found.items():
            if self.lesson is None:
                raise StateError("the state has learned parameters, and the method learns none")
            learners[stream] = Learner(self.lesson)
            learners[stream].load(values)
        return learners


def _parsed(tensors: Mapping[str, Tensor]) -> Iterator[tuple[tuple[str, str, str], Tensor]]:
    """Take the names of tensors apart: what, the number of the call or stream, and of what."""
    for key, tensor in tensors.items():
        kind, number, name = [*key.split(":", 2), "", ""][:3]
        if kind not in ("statistics", "learned", "content") or not number.isdecimal():
            raise StateError(f"the state has a tensor {key!r}, which is none of mixnorm's; the file is damaged")
        yield (kind, number, name), tensor
