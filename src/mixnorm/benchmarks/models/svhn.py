"""The digit network of the pytorch-playground repository, which TENT and MixNorm start from on SVHN.

Seven convolutions, each with BatchNorm, ReLU and dropout, and one linear layer. Parameters are named by their place in
one long sequence, as in the published checkpoint, whose BatchNorm has no affine parameters.
"""

import torch
from torch import Tensor, nn

from mixnorm.benchmarks.models.rotation_head import rotation_head

# Output channels, in widths of the network, and padding of each convolution; None is a 2x2 maximum.
LAYERS = ((1, 1), (1, 1), None, (2, 1), (2, 1), None, (4, 1), (4, 1), None, (8, 0), None)


def _layers(width: int, affine: bool) -> list[nn.Module]:
    layers: list[nn.Module] = []
    channels = 3
    for layer in LAYERS:
        if layer is None:
            layers.append(nn.MaxPool2d(2))
            continue
        widths, padding = layer
        conv = nn.Conv2d(channels, widths * width, 3, padding=padding)
        layers += [conv, nn.BatchNorm2d(widths * width, affine=affine), nn.ReLU(), nn.Dropout(0.3)]
        channels = widths * width
    return layers


class DigitNetwork(nn.Module):
    """A classifier of 32 px digits, with affine parameters to learn and a head that tells rotations, for TTT.

    >>> DigitNetwork(width=16)(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 10])
    """

    def __init__(self, *, width: int = 32, affine: bool = True, rotations: bool = True) -> None:
        super().__init__()
        self.features = nn.Sequential(*_layers(width, affine))
        self.rotation_head = rotation_head(8 * width) if rotations else None
        self.classifier = nn.Sequential(nn.Linear(8 * width, 10))

    def embed(self, images: Tensor) -> Tensor:
        """Give what the heads see of images (N, 3, 32, 32)."""
        features: Tensor = self.features(images)
        return features.flatten(1)

    def forward(self, images: Tensor) -> Tensor:
        """Give the logits of images (N, 3, 32, 32)."""
        logits: Tensor = self.classifier(self.embed(images))
        return logits


class SvhnNetwork(DigitNetwork):
    """The SVHN classifier as published, its logits put in the order of the digits 0 to 9."""

    def __init__(self) -> None:
        super().__init__(affine=False, rotations=False)

    def forward(self, images: Tensor) -> Tensor:
        """Give the logits of images (N, 3, 32, 32)."""
        # The checkpoint was trained on labels 1 to 10 less one, where 10 stood for the digit zero: zero comes last.
        return super().forward(images).roll(1, dims=1)


def add_affine_(network: nn.Module) -> nn.Module:
    """Give each BatchNorm without affine parameters a weight of 1 and a bias of 0, and return the network.

    No answer changes by that, and methods that learn affine parameters have something to learn.
    """
    for layer in network.modules():
        if isinstance(layer, nn.BatchNorm2d) and not layer.affine:
            layer.affine = True
            layer.weight = nn.Parameter(torch.ones(layer.num_features))
            layer.bias = nn.Parameter(torch.zeros(layer.num_features))
    return network
