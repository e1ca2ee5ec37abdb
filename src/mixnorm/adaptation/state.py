"""The adaptation state of a model: its streams, their statistics, and their learned parameters."""

from collections.abc import Mapping

import torch
from torch import Tensor

from mixnorm.adaptation.learner import AffineLearner
from mixnorm.adaptation.methods import Entropy
from mixnorm.adaptation.state_file import Header
from mixnorm.adaptation.streams import Streams
from mixnorm.errors import StateError
from mixnorm.norms import AdaptiveNorm, Statistics

Tables = dict[str, dict[int, Statistics]]


class AdaptationState:
    """All that a model remembers of what it has seen."""

    def __init__(self, layers: Mapping[str, AdaptiveNorm], learning: Entropy | None, seed: int) -> None:
        self.layers = dict(layers)
        self.learning = learning
        self.seed = seed
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self.streams = Streams()
        self.learners: dict[str, AffineLearner] = {}
        self.rejected = 0
        self.skipped_steps = 0
        for layer in self.layers.values():
            layer.memory.clear()

    def forget(self, stream: str) -> None:
        """Forget what one stream has seen."""
        slot = self.streams.slot(stream)
        self.streams.forget(stream)
        self.learners.pop(stream, None)
        for layer in self.layers.values():
            layer.memory.clear(slot)

    def reserve(self, slots: int) -> None:
        """Make room for that many streams."""
        for layer in self.layers.values():
            layer.memory.reserve(slots)

    def learner(self, stream: str) -> AffineLearner | None:
        """Give the learned parameters of a stream, new ones for a new stream, or None where nothing is learned."""
        if self.learning is None:
            return None
        return self.learners.get(stream) or AffineLearner(list(self.layers.values()), self.learning)

    def learn(self, stream: str, learner: AffineLearner, loss: Tensor) -> None:
        """Take a learning step for a stream, unless the loss is not finite."""
        if loss.isfinite():
            learner.step(loss)
            self.learners[stream] = learner
        else:
            self.skipped_steps += 1

    def export(self) -> dict[str, Tensor]:
        """Copy all tensors; rows of the tables stand in the order of the streams."""
        names = list(self.streams)
        tensors: dict[str, Tensor] = {}
        for name, layer in self.layers.items():
            slots_S = torch.tensor([self.streams.slot(stream) for stream in names], device=layer.memory.device)
            for call, table in layer.memory.export(slots_S).items():
                tensors[f"mean:{call}:{name}"], tensors[f"var:{call}:{name}"] = table
        for stream, learner in self.learners.items():
            learned = learner.export().items()
            tensors |= {f"learned:{names.index(stream)}:{key}": value for key, value in learned}
        return tensors

    def load(self, header: Header, tensors: Mapping[str, Tensor]) -> None:
        """Replace everything by an export; one that does not fit changes nothing."""
        tables = self._tables(tensors, len(header.streams))
        learners = self._learners(tensors, list(header.streams))
        self.seed = header.seed
        self.streams.load(header.streams)
        self.learners = learners
        self.rejected, self.skipped_steps = header.rejected, header.skipped_steps
        for name, layer in self.layers.items():
            layer.memory.load(tables.get(name, {}))

    def _tables(self, tensors: Mapping[str, Tensor], streams: int) -> Tables:
        tables: Tables = {}
        for key, mean in tensors.items():
            kind, call, name = key.split(":", 2)
            if kind == "mean":
                table = Statistics(mean, tensors.get(f"var:{call}:{name}", mean.new_empty(0)))
                self._check_table(name, table, streams)
                tables.setdefault(name, {})[int(call)] = table
        return tables

    def _check_table(self, name: str, table: Statistics, streams: int) -> None:
        channels = self.layers[name].num_features if name in self.layers else None
        if any(stat.shape != (streams, channels) for stat in table):
            raise StateError(
                f"the state has statistics of shape {tuple(table.mean.shape)} for layer {name!r}, "
                f"the model needs {(streams, channels)}; it belongs to another model"
            )

    def _learners(self, tensors: Mapping[str, Tensor], names: list[str]) -> dict[str, AffineLearner]:
        found: dict[str, dict[str, Tensor]] = {}
        for key, tensor in tensors.items():
            kind, stream, name = key.split(":", 2)
            if kind == "learned":
                found.setdefault(names[int(stream)], {})[name] = tensor
        learners = {}
        for stream, values in found.items():
            learner = self.learner("")
            if learner is None:
                raise StateError("the state has learned parameters, and the method learns none")
            learner.load(values)
            learners[stream] = learner
        return learners
