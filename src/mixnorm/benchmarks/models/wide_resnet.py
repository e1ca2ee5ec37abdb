"""Wide residual networks for 32 px images (Zagoruyko and Komodakis, 2016).

Parameters are named as in the checkpoints of RobustBench, so those load without any renaming.
"""

from torch import Tensor, nn
from torch.nn.functional import relu

from mixnorm.benchmarks.models.rotation_head import rotation_head
from mixnorm.errors import SettingError

# Networks derived from TRADES carry a second copy of the first stage that no forward pass uses, and RobustBench keeps
# its normalisation constants among the parameters.
UNUSED_KEYS = ("sub_block1.", "mu", "sigma")


def _conv(inputs: int, outputs: int, size: int, stride: int) -> nn.Conv2d:
    conv = nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False)
    nn.init.kaiming_normal_(conv.weight, mode="fan_out", nonlinearity="relu")
    return conv


class WideBlock(nn.Module):
    """Two 3x3 convolutions, each after BatchNorm and ReLU, beside a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.bn1 = nn.BatchNorm2d(inputs)
        self.conv1 = _conv(inputs, outputs, 3, stride)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.conv2 = _conv(outputs, outputs, 3, 1)
        self.convShortcut = None if inputs == outputs else _conv(inputs, outputs, 1, stride)

    def forward(self, x: Tensor) -> Tensor:
        """Add the residual; where the width changes, the shortcut starts after the first ReLU."""
        activated = relu(self.bn1(x))
        shortcut = x if self.convShortcut is None else self.convShortcut(activated)
        residual: Tensor = self.conv2(relu(self.bn2(self.conv1(activated))))
        return shortcut + residual


class WideStage(nn.Module):
    """Blocks of one width; the first of them changes width and resolution."""

    def __init__(self, blocks: int, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        rest = (WideBlock(outputs, outputs, 1) for _ in range(blocks - 1))
        self.layer = nn.Sequential(WideBlock(inputs, outputs, stride), *rest)

    def forward(self, x: Tensor) -> Tensor:
        """Run the blocks in order."""
        y: Tensor = self.layer(x)
        return y


class WideResNet(nn.Module):
    """WRN-`depth`-`width`: three stages of `(depth - 4) / 6` blocks with 16, 32 and 64 times `width` channels.

    With `rotations` it has a head that tells rotations, for TTT.

    >>> import torch
    >>> WideResNet(depth=10, width=1, classes=10)(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 10])
    """

    def __init__(self, *, depth: int, width: int, classes: int, rotations: bool = False) -> None:
        super().__init__()
        if depth < 10 or (depth - 4) % 6:
            raise SettingError(f"depth must be 10, 16, 22, ... (four more than a multiple of six), not {depth}")
        blocks = (depth - 4) // 6
        self.conv1 = _conv(3, 16, 3, 1)
        self.block1 = WideStage(blocks, 16, 16 * width, 1)
        self.block2 = WideStage(blocks, 16 * width, 32 * width, 2)
        self.block3 = WideStage(blocks, 32 * width, 64 * width, 2)
        self.bn1 = nn.BatchNorm2d(64 * width)
        self.rotation_head = rotation_head(64 * width) if rotations else None
        self.fc = nn.Linear(64 * width, classes)

    def embed(self, images: Tensor) -> Tensor:
        """Give what the heads see of images (N, 3, H, W)."""
        features = self.block3(self.block2(self.block1(self.conv1(images))))
        return relu(self.bn1(features)).mean((2, 3))

    def forward(self, images: Tensor) -> Tensor:
        """Give the logits of images (N, 3, H, W)."""
        logits: Tensor = self.fc(self.embed(images))
        return logits
