"""Small models of every kind that adaptation must cope with, for checking methods."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class SampleModel:
    """How to make a small model, and the shape of the samples it takes."""

    name: str
    make: Callable[[], nn.Module]
    shape: tuple[int, ...]

    @property
    def takes_images(self) -> bool:
        """Whether the samples are pictures, so that views can be made of them."""
        return len(self.shape) == 3

    def model(self) -> nn.Module:
        """Make the model: seeded, with running statistics and affine parameters that are not the initial ones."""
        with torch.random.fork_rng(devices=()):
            torch.manual_seed(0)
            model = self.make().train()
            for parameter in model.parameters():
                parameter.data += 0.1 * torch.randn_like(parameter)
            with torch.no_grad():
                for _ in range(3):
                    model(torch.randn(16, *self.shape))
        return model.eval()

    def batches(self, count: int, size: int) -> list[Tensor]:
        """Draw batches of shifted samples, each sample with a shift of its own."""
        generator = torch.Generator().manual_seed(1)
        shape = (count, size, *self.shape)
        each = (count, size, *(1 for _ in self.shape))
        noise = torch.randn(shape, generator=generator)
        scale = 0.5 + 2 * torch.rand(each, generator=generator)
        return list(noise * scale + torch.randn(each, generator=generator))


class Residual(nn.Module):
    """A block of a ResNet."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x: Tensor) -> Tensor:
        """Add the block's answer to its input."""
        return x + torch.relu(self.norm(self.conv(x)))


class SharedNorm(nn.Module):
    """Two convolutions with one BatchNorm after both."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 6, 3), nn.Conv2d(6, 6, 3)
        self.norm = nn.BatchNorm2d(6)
        self.same_norm = self.norm
        self.head = nn.Linear(6, 5)

    def forward(self, x: Tensor) -> Tensor:
        """Classify."""
        x = torch.relu(self.norm(self.first(x)))
        x = torch.relu(self.same_norm(self.second(x)))
        return self.head(x.mean((2, 3)))  # type: ignore[no-any-return]


class DictOutput(nn.Module):
    """A classifier that returns its logits and features by name."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 6, 3, bias=False), nn.BatchNorm2d(6, affine=False), nn.ReLU())
        self.norm = nn.BatchNorm2d(6)
        self.head = nn.Linear(6, 5)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        """Classify."""
        features = self.norm(self.body(x)).mean((2, 3))
        return {"features": features, "logits": self.head(features)}


class TwoHeads(nn.Module):
    """A classifier with a rotation head, which reads what the classifier's head reads."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 6, 3, bias=False), nn.BatchNorm2d(6), nn.ReLU())
        self.block = Residual(6)
        self.pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(6, 5)
        self.rotation_head = nn.Linear(6, 4)

    def forward(self, x: Tensor) -> Tensor:
        """Classify."""
        return self.head(self.pool(self.block(self.stem(x))))  # type: ignore[no-any-return]


def _resnet() -> nn.Module:
    stem = (nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU())
    return nn.Sequential(*stem, Residual(8), Residual(8), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5))


def _signal() -> nn.Module:
    convolution = (nn.Conv1d(2, 6, 3), nn.BatchNorm1d(6), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten())
    # The second BatchNorm sees one value per sample and channel.
    return nn.Sequential(*convolution, nn.BatchNorm1d(6), nn.Linear(6, 5))


def _volume() -> nn.Module:
    return nn.Sequential(
        nn.Conv3d(1, 4, 3), nn.BatchNorm3d(4), nn.ReLU(), nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(4, 5)
    )


def _synchronised() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 6, 3), nn.SyncBatchNorm(6), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 5)
    )


SAMPLE_MODELS = (
    SampleModel("resnet", _resnet, (3, 10, 10)),
    SampleModel("shared", SharedNorm, (3, 10, 10)),
    SampleModel("root", lambda: nn.BatchNorm2d(3), (3, 8, 8)),
    SampleModel("signal", _signal, (2, 16)),
    SampleModel("volume", _volume, (1, 6, 6, 6)),
    SampleModel("dict", DictOutput, (3, 10, 10)),
    SampleModel("synchronised", _synchronised, (3, 10, 10)),
    SampleModel("two heads", TwoHeads, (3, 10, 10)),
)
