"""The moving statistics of one layer: a table with a row for each stream, starting at the source statistics.

What is measured, and what features are normalised with, is float32. The tables are float64 where the device has it: a
step of `tau = 1e-7` is below the resolution of float32, and a state that moves sample by sample would stand still.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

Slots = Tensor | slice
"""Which rows of a table: a slice where it is a single one, which is faster than an index."""


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
            self.source_21C = torch.stack([mean.detach().float(), var.detach().float()])[:, None]
        self._capacity = 1
        self._tables: dict[int, Tensor] = {}

    @property
    def device(self) -> torch.device:
        """Where the statistics are."""
        return self.source_21C.device

    def to(self, device: torch.device) -> None:
        """Follow the layer to another device."""
        if self.device != device:
            with torch.inference_mode(False):
                self.source_21C = self.source_21C.to(device)
                self._tables = {call: self._table(table) for call, table in self._tables.items()}

    def reserve(self, slots: int) -> None:
        """Make room for that many slots; new ones hold the source statistics."""
        if slots > self._capacity:
            self._capacity = max(slots, 2 * self._capacity)
            with torch.inference_mode(False):
                for call, table in self._tables.items():
                    self._tables[call] = torch.cat([table, self._fresh(self._capacity - table.shape[1])], dim=1)

    def read(self, call: int, slots: Slots) -> Tensor:
        """Look up the statistics of some slots, (2, S, C)."""
        if call in self._tables:
            return self._tables[call][:, slots].float()
        return self.source_21C if isinstance(slots, slice) else self.source_21C.expand(-1, len(slots), -1)

    def move(self, call: int, slots: Slots, by_2SC: Tensor) -> None:
        """Move the statistics of some slots by a step; rounding takes no variance below zero."""
        if call not in self._tables:
            with torch.inference_mode(False):
                self._tables[call] = self._fresh(self._capacity)
        moved_2SC = self._tables[call][:, slots] + by_2SC
        moved_2SC[1].clamp_(min=0)
        self._tables[call][:, slots] = moved_2SC

    def clear(self, slot: int | None = None) -> None:
        """Put one slot, or all of them, back to the source statistics."""
        if slot is None:
            self._tables, self._capacity = {}, 1
            return
        for table in self._tables.values():
            table[:, slot] = self.source_21C[:, 0].to(table.dtype)

    def export(self, slots: list[int]) -> dict[int, Tensor]:
        """Copy the statistics of some slots, for each call that has moved."""
        self.reserve(max(slots) + 1)
        return {call: self._tables[call][:, slots] for call in sorted(self._tables)}

    def load(self, tables: Mapping[int, Tensor]) -> None:
        """Replace everything by tables whose row is the slot."""
        self.clear()
        with torch.inference_mode(False):
            self._tables = {call: self._table(table) for call, table in tables.items()}
        self._capacity = max([1, *(table.shape[1] for table in self._tables.values())])

    def _fresh(self, slots: int) -> Tensor:
        return self._table(self.source_21C.expand(-1, slots, -1))

    def _table(self, stats: Tensor) -> Tensor:
        dtype = torch.float32 if self.device.type == "mps" else torch.float64
        return stats.to(self.device, dtype, copy=True).contiguous()
