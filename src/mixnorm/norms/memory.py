"""The moving statistics of a model: one table with a row for each stream and columns for each layer.

What is measured, and what features are normalised with, is float32. The table is float64 where the device has it: a
step of `tau = 1e-7` is below the resolution of float32, and a state that moves sample by sample would stand still.

Shapes: 2 for mean and variance, S slots, C channels of a layer, N channels of all layers.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

Slots = Tensor | slice
"""Which rows of the table, or columns: a slice where these stand side by side, which is faster than an index."""

Call = tuple[str, int]
"""The name of a layer, and how often it had been called before in the same pass."""


class Memory:
    """Moving statistics by call and slot, starting at the source statistics.

    A slot is a stream's row in the table. A layer that a model uses in two places sees two distributions, and keeps one
    moving average for each of its calls. Only then does a batch give what its samples give one by one, since the
    samples' two calls would otherwise interleave differently.

    All layers share one table, so that a whole pass is read, and written, at once. It is no buffer of a module:
    `half()` must not round it and the source checkpoint must not miss it.
    """

    def __init__(self) -> None:
        self.sources: dict[str, Tensor] = {}
        """The source statistics of each layer, (2, 1, C)."""
        self.least_variance = 0.0
        """The least that may stand in the place of a variance; rounding takes none below it."""
        self.version = 0
        """How often what the next pass sees has changed, or may have."""
        self._columns: dict[Call, slice] = {}
        self._moved: set[Call] = set()
        self._table_2SN = torch.empty(2, 1, 0, dtype=torch.float64)
        self._device: torch.device | None = None
        """Where all of it is known to be."""
        self._sheet: tuple[Tensor, dict[Call, tuple[Tensor, Tensor]]] | None = None
        """What the last single stream was read into, and its parts: to take it apart takes longer than to read it."""

    def __getstate__(self) -> dict[str, Any]:
        # Copies of the parts would not be parts of the copy.
        return {**vars(self), "_sheet": None}

    def start(self, name: str, mean: Tensor, var: Tensor) -> None:
        """Let a layer start from its source statistics, forgetting what it had."""
        self.version += 1
        self._device = None
        # Tensors made in inference mode could not be changed outside of it.
        with torch.inference_mode(False):
            self.sources[name] = torch.stack([mean.detach().float(), var.detach().float()])[:, None]
            for call in [call for call in self._columns if call[0] == name]:
                self._moved.discard(call)
                self._table_2SN[:, :, self._columns[call]] = self.sources[name]
        self._place((name, 0))

    def to(self, device: torch.device) -> None:
        """Follow the layers to another device."""
        if device != self._device:
            self.version += 1
            with torch.inference_mode(False):
                self.sources = {name: source.to(device) for name, source in self.sources.items()}
                self._table_2SN = self._wide(self._table_2SN)
            self._device = device

    def reserve(self, slots: int) -> None:
        """Make room for that many slots; new ones hold the source statistics."""
        capacity = self._table_2SN.shape[1]
        if slots > capacity:
            more = max(slots, 2 * capacity) - capacity
            with torch.inference_mode(False):
                self._table_2SN = torch.cat([self._table_2SN, self._fresh().expand(-1, more, -1)], dim=1)

    def read(self, slots: Slots) -> tuple[Tensor, dict[Call, tuple[Tensor, Tensor]]]:
        """Look up all statistics of some slots: side by side, (2, S, N), and for each call, (S, C).

        Where no gradients are asked for, which may be so later, they are overwritten when the next single slot is read.
        """
        if torch.is_grad_enabled() or not isinstance(slots, slice):
            stats_2SN = self.read_columns(slots, slice(None))
            return stats_2SN, self._parts(stats_2SN)
        stats_21N = self._table_2SN[:, slots]
        if self._sheet is None or self._sheet[0].shape != stats_21N.shape or self._sheet[0].device != stats_21N.device:
            with torch.inference_mode(False):
                sheet_21N = torch.empty_like(stats_21N, dtype=torch.float32)
                self._sheet = sheet_21N, self._parts(sheet_21N)
        self._sheet[0].copy_(stats_21N)
        return self._sheet

    def _parts(self, stats_2SN: Tensor) -> dict[Call, tuple[Tensor, Tensor]]:
        sizes = [columns.stop - columns.start for columns in self._columns.values()]
        means, variances = (stat_SN.split_with_sizes(sizes, dim=1) for stat_SN in stats_2SN.unbind())
        return dict(zip(self._columns, zip(means, variances, strict=True), strict=True))

    def read_one(self, call: Call, slots: Slots) -> tuple[Tensor, Tensor]:
        """Look up the statistics of some slots for one call, (S, C)."""
        if call in self._columns:
            mean_SC, var_SC = self._table_2SN[:, slots, self._columns[call]].float()
        else:
            mean_SC, var_SC = self.sources[call[0]].expand(-1, 1 if isinstance(slots, slice) else len(slots), -1)
        return mean_SC, var_SC

    @property
    def calls(self) -> list[Call]:
        """The calls that have columns, in the order of these."""
        return list(self._columns)

    def columns(self, calls: Sequence[Call]) -> Slots:
        """Find the columns of some calls one after the other, new ones for new calls: a slice where they stand so."""
        if self.holds(calls):
            return slice(0, self._table_2SN.shape[2])
        for call in calls:
            self._place(call)
        columns = [self._columns[call] for call in calls]
        if all(one.stop == other.start for one, other in pairwise(columns)):
            return slice(columns[0].start, columns[-1].stop)
        return torch.cat([torch.arange(own.start, own.stop, device=self._table_2SN.device) for own in columns])

    def read_columns(self, slots: Slots, columns: Slots) -> Tensor:
        """Look up the statistics of some slots, side by side, (2, S, N)."""
        return self._table_2SN[:, slots][:, :, columns].float()

    def place(self, call: Call) -> slice | None:
        """Find the columns of a call, if it has any."""
        return self._columns.get(call)

    def holds(self, calls: Sequence[Call]) -> bool:
        """Tell whether these are all calls, in the order of the table."""
        return calls == list(self._columns)

    def move(self, slots: Slots, calls: Sequence[Call], by_2SN: Tensor, *, seen: bool = True) -> None:
        """Move the statistics of some slots and calls, these side by side; `seen` if the next pass is to see it."""
        if not calls:
            return
        self.version += seen
        columns = self.columns(calls)
        self._moved.update(calls)
        # Written at once: a slot and its columns are both given as tensors only where they are spread out.
        spread = not isinstance(slots, slice) and not isinstance(columns, slice)
        place = (slice(None), slots[:, None] if spread and isinstance(slots, Tensor) else slots, columns)
        moved_2SN = self._table_2SN[place] + by_2SN
        moved_2SN[1].clamp_(min=self.least_variance)
        self._table_2SN[place] = moved_2SN

    def clear(self, slot: int | None = None) -> None:
        """Put one slot, or all of them, back to the source statistics."""
        self.version += 1
        if slot is not None:
            self._table_2SN[:, slot] = self._fresh()[:, 0]
            return
        self._moved = set()
        with torch.inference_mode(False):
            self._table_2SN = self._fresh()

    def export(self, slots: Sequence[int]) -> dict[Call, Tensor]:
        """Copy the statistics of some slots, for each call that has moved."""
        self.reserve(max(slots) + 1)
        rows_2SN = self._table_2SN[:, list(slots)]
        return {call: rows_2SN[:, :, self._columns[call]].clone() for call in self._columns if call in self._moved}

    def undo(self, slots: Sequence[int]) -> Callable[[], None]:
        """Give what puts some slots back as they are now, and forgets those and the columns that are new since."""
        columns, moved, (_, room, width) = dict(self._columns), set(self._moved), self._table_2SN.shape
        # Of thousands of streams a batch has few.
        own = [slot for slot in slots if slot < room]
        rows_2SN = self._table_2SN[:, own]

        def back() -> None:
            self.version += 1
            self._columns, self._moved, self._sheet = columns, moved, None
            with torch.inference_mode(False):
                self._table_2SN = self._table_2SN[:, :room, :width].clone()
                self._table_2SN[:, own] = self._wide(rows_2SN)

        return back

    def load(self, tables: Mapping[Call, Tensor]) -> None:
        """Replace everything by tables whose row is the slot."""
        self.clear()
        for call, table_2SC in tables.items():
            self._place(call)
            self.reserve(table_2SC.shape[1])
            self._table_2SN[:, : table_2SC.shape[1], self._columns[call]] = self._wide(table_2SC)
        self._moved = set(tables)

    def _place(self, call: Call) -> None:
        """Give a call columns of its own, if it has none."""
        if call in self._columns:
            return
        self.version += 1
        source_21C, end = self.sources[call[0]], self._table_2SN.shape[2]
        with torch.inference_mode(False):
            rows_2SC = self._wide(source_21C).expand(-1, self._table_2SN.shape[1], -1)
            self._table_2SN = torch.cat([self._wide(self._table_2SN), rows_2SC], dim=2)
        self._columns[call] = slice(end, end + source_21C.shape[2])

    def _fresh(self) -> Tensor:
        """Make a row of source statistics, (2, 1, N)."""
        sources = [self.sources[name] for name, _ in self._columns]
        return self._wide(torch.cat(sources, dim=2)) if sources else self._table_2SN

    def _wide(self, stats: Tensor) -> Tensor:
        device = next(iter(self.sources.values())).device
        return stats.to(device, torch.float32 if device.type == "mps" else torch.float64)
