"""The moving statistics of one layer: a table with a row for each stream, starting at the source statistics."""

from collections.abc import Mapping

import torch
from torch import Tensor

from mixnorm.norms.statistics import Statistics


class Memory:
    """Moving statistics by call and slot.

    A slot is a stream's place in the table. A call counts how often the layer ran in one forward pass: a layer that a
    model uses in two places sees two distributions, and keeps one moving average for each. Only then does a batch give
    what its samples give one by one, since the samples' two calls would otherwise interleave differently.

    This is no buffer of a module: `half()` must not round it and the source checkpoint must not miss it.
    """

    def __init__(self, mean: Tensor, var: Tensor) -> None:
        self.source = Statistics(_keep(mean), _keep(var))
        self._capacity = 1
        self._tables: dict[int, Statistics] = {}

    @property
    def device(self) -> torch.device:
        """Where the statistics are."""
        return self.source.mean.device

    @property
    def calls(self) -> list[int]:
        """The calls that have moved."""
        return sorted(self._tables)

    def to(self, device: torch.device) -> None:
        """Follow the layer to another device."""
        if self.device != device:
            with torch.inference_mode(False):
                self.source = Statistics(*(stat.to(device) for stat in self.source))
                self._tables = {
                    call: Statistics(*(stat.to(device) for stat in table)) for call, table in self._tables.items()
                }

    def reserve(self, slots: int) -> None:
        """Make room for that many slots; new ones hold the source statistics."""
        if slots > self._capacity:
            self._capacity = max(slots, 2 * self._capacity)
            with torch.inference_mode(False):
                for call, table in self._tables.items():
                    fresh = self._fresh(self._capacity - table.mean.shape[0])
                    self._tables[call] = Statistics(*(torch.cat(pair) for pair in zip(table, fresh, strict=True)))

    def read(self, call: int, slots_S: Tensor) -> Statistics:
        """Look up the statistics of some slots, (S, C)."""
        if call not in self._tables:
            return Statistics(*(stat.expand(len(slots_S), -1) for stat in self.source))
        return self._tables[call].at(slots_S)

    def write(self, call: int, slots_S: Tensor, stats_SC: Statistics) -> None:
        """Store the statistics of some slots."""
        if call not in self._tables:
            with torch.inference_mode(False):
                self._tables[call] = self._fresh(self._capacity)
        for table, stats in zip(self._tables[call], stats_SC, strict=True):
            table[slots_S] = stats.detach()

    def clear(self, slot: int | None = None) -> None:
        """Put one slot, or all of them, back to the source statistics."""
        if slot is None:
            self._tables, self._capacity = {}, 1
            return
        for table in self._tables.values():
            for stats, source in zip(table, self.source, strict=True):
                stats[slot] = source

    def export(self, slots_S: Tensor) -> dict[int, Statistics]:
        """Copy the statistics of some slots, by call."""
        return {call: self._tables[call].at(slots_S) for call in self.calls}

    def load(self, tables: Mapping[int, Statistics]) -> None:
        """Replace everything by tables whose row is the slot."""
        self.clear()
        with torch.inference_mode(False):
            self._tables = {
                call: Statistics(*(_keep(stat).to(self.device) for stat in tables[call])) for call in tables
            }
        self._capacity = max([1, *(table.mean.shape[0] for table in self._tables.values())])

    def _fresh(self, slots: int) -> Statistics:
        return Statistics(*(stat.repeat(slots, 1) for stat in self.source))


def _keep(stat: Tensor) -> Tensor:
    """Copy to float32, as a tensor that may be changed in place inside and outside of inference mode."""
    with torch.inference_mode(False):
        return stat.detach().clone().float()
