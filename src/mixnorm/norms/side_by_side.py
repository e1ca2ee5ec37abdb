"""The channels of several layers side by side, so that their small operations are done once for all of them.

Shapes: L layers, N channels of all of them, M columns of all that is known of them.
"""

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor


@dataclass(frozen=True)
class SideBySide:
    """Where the channels of each layer stand."""

    channels: tuple[int, ...]
    """How many channels each layer has."""
    layer_N: Tensor
    """The layer of each channel."""
    share_NL: Tensor
    """One over the number of channels of each layer, for its own channels."""
    by_layer_M: Tensor
    """Where columns stand that have two values for each channel, and two for each layer, layer after layer, when the
    same of all layers stands together: all first values of channels, all second ones, and those of layers."""
    by_kind_M: Tensor
    """The way back."""

    @classmethod
    def of(cls, channels: tuple[int, ...], device: torch.device) -> "SideBySide":
        """Put layers of so many channels side by side."""
        return _side_by_side(channels, device)

    @property
    def sizes(self) -> list[int]:
        """How many columns there are of each kind."""
        return [len(self.layer_N)] * 2 + [len(self.channels)] * 2

    def mean(self, values: Tensor) -> Tensor:
        """Take the mean over the channels of each layer: (..., N) to (..., L)."""
        return values @ self.share_NL

    def spread(self, values: Tensor) -> Tensor:
        """Give each channel what its layer has: (..., L) to (..., N)."""
        return values[..., self.layer_N]


@lru_cache(maxsize=8)
@torch.inference_mode(False)
def _side_by_side(channels: tuple[int, ...], device: torch.device) -> SideBySide:
    layers, count = len(channels), sum(channels)
    layer_N = torch.tensor([layer for layer, own in enumerate(channels) for _ in range(own)])
    kinds_M = torch.cat([layer_N, layer_N, torch.arange(layers), torch.arange(layers)])
    by_layer_M = kinds_M.argsort(stable=True)
    share_NL = torch.zeros(count, layers)
    share_NL[torch.arange(count), layer_N] = 1 / torch.tensor(channels)[layer_N]
    tensors = layer_N, share_NL, by_layer_M, by_layer_M.argsort()
    return SideBySide(channels, *(each.to(device) for each in tensors))
