"""The digit network of the pytorch-playground repository, which TENT and MixNorm start from on SVHN.

Seven convolutions, each with BatchNorm (without affine parameters), ReLU and dropout, and one linear layer. Parameters
are named by their place in one long sequence, as in the published checkpoint.
"""

from torch import Tensor, nn

# Output channels and padding of each convolution; None is a 2x2 maximum.
LAYERS = ((32, 1), (32, 1), None, (64, 1), (64, 1), None, (128, 1), (128, 1), None, (256, 0), None)


def _layers() -> list[nn.Module]:
    layers: list[nn.Module] = []
    channels = 3
    for layer in LAYERS:
        if layer is None:
            layers.append(nn.MaxPool2d(2))
            continue
        outputs, padding = layer
        conv = nn.Conv2d(channels, outputs, 3, padding=padding)
        layers += [conv, nn.BatchNorm2d(outputs, affine=False), nn.ReLU(), nn.Dropout(0.3)]
        channels = outputs
    return layers


class SvhnNetwork(nn.Module):
    """The SVHN classifier for 32 px images, its logits in the order of the digits 0 to 9."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(*_layers())
        self.classifier = nn.Sequential(nn.Linear(256, 10))

    def forward(self, images: Tensor) -> Tensor:
        """Give the logits of images (N, 3, 32, 32)."""
        logits: Tensor = self.classifier(self.features(images).flatten(1))
        # The checkpoint was trained on labels 1 to 10 less one, where 10 stood for the digit zero: zero comes last.
        return logits.roll(1, dims=1)
