"""What adaptation does to each BatchNorm layer of a model, and why."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class LayerReport:
    """What became of one BatchNorm layer."""

    names: tuple[str, ...]
    """Where the layer stands in the model: several places where it is shared."""
    kind: str
    channels: int
    status: Literal["replaced", "kept"]
    reason: str


@dataclass(frozen=True)
class Report:
    """What became of all BatchNorm layers; printing it shows a line for each."""

    method: str
    layers: tuple[LayerReport, ...]

    @property
    def replaced(self) -> tuple[LayerReport, ...]:
        """The layers that adapt."""
        return tuple(layer for layer in self.layers if layer.status == "replaced")

    @property
    def kept(self) -> tuple[LayerReport, ...]:
        """The layers left as they were."""
        return tuple(layer for layer in self.layers if layer.status == "kept")

    def __str__(self) -> str:
        rows = [("layer", "kind", "channels", "status", "why")]
        for layer in self.layers:
            places = " = ".join(map(_shown, layer.names))
            rows.append((places, layer.kind, str(layer.channels), layer.status, layer.reason))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        title = f"{self.method}: {len(self.replaced)} BatchNorm layers replaced, {len(self.kept)} kept"
        return "\n".join([title, *lines])


def _shown(name: str) -> str:
    return name or "(the model itself)"
