"""The moving statistics of one layer: a table with a row for each stream, starting at the source statistics.

What is measured, and what features are normalised with, is float32. The tables are float64 where the device has it: a
step of `tau = 1e-7` is below the resolution of float32, and a state that moves sample by sample would stand still.
"""

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
        # Tensors made in inference mode could not be changed outside of it.
        with torch.inference_mode(False):
            self.source = Statistics(*(stat.detach().clone().float() for stat in (mean, var)))
        self._capacity = 1
        self._tables: dict[int, Statistics] = {}

    @property
    def device(self) -> torch.device:
        """Where the statistics are."""
        return self.source.mean.device

    def to(self, device: torch.device) -> None:
        """Follow the layer to another device."""
        if self.device != device:
            with torch.inference_mode(False):
                self.source = Statistics(*(stat.to(device) for stat in self.source))
                self._tables = {call: self._table(table) for call, table in self._tables.items()}

    def reserve(self, slots: int) -> None:
        """Make room for that many slots; new ones hold the source statistics."""
        if slots > self._capacity:
            self._capacity = max(slots, 2 * self._capacity)
            with torch.inference_mode(False):
                for call, table in self._tables.items():
                    fresh = self._fresh(self._capacity - len(table.mean))
                    self._tables[call] = Statistics(*(torch.cat(pair) for pair in zip(table, fresh, strict=True)))

    def read(self, call: int, slots_S: Tensor) -> Statistics:
        """Look up the statistics of some slots, (S, C)."""
        if call not in self._tables:
            return Statistics(*(stat.expand(len(slots_S), -1) for stat in self.source))
        return Statistics(*(stat[slots_S].float() for stat in self._tables[call]))

    def move(self, call: int, slots_S: Tensor, by_SC: Statistics) -> None:
        """Move the statistics of some slots by a step; rounding takes no variance below zero."""
        if call not in self._tables:
            with torch.inference_mode(False):
                self._tables[call] = self._fresh(self._capacity)
        mean, var = self._tables[call]
        mean[slots_S] += by_SC.mean.to(mean.dtype)
        var[slots_S] = (var[slots_S] + by_SC.var.to(var.dtype)).clamp(min=0)

    def clear(self, slot: int | None = None) -> None:
        """Put one slot, or all of them, back to the source statistics."""
        if slot is None:
            self._tables, self._capacity = {}, 1
            return
        for table in self._tables.values():
            for stats, source in zip(table, self.source, strict=True):
                stats[slot] = source

    def export(self, slots_S: Tensor) -> dict[int, Statistics]:
        """Copy the statistics of some slots, for each call that has moved."""
        self.reserve(int(slots_S.max()) + 1)
        return {call: self._tables[call].at(slots_S) for call in sorted(self._tables)}

    def load(self, tables: Mapping[int, Statistics]) -> None:
        """Replace everything by tables whose row is the slot."""
        self.clear()
        with torch.inference_mode(False):
            self._tables = {call: self._table(table) for call, table in tables.items()}
        self._capacity = max([1, *(len(table.mean) for table in self._tables.values())])

    def _fresh(self, slots: int) -> Statistics:
        return self._table(Statistics(*(stat.repeat(slots, 1) for stat in self.source)))

    def _table(self, stats: Statistics) -> Statistics:
        dtype = torch.float32 if self.device.type == "mps" else torch.float64
        return Statistics(*(stat.to(self.device, dtype, copy=True) for stat in stats))
