"""The core on a real network and real data: a CIFAR ResNet-56 on images of all 15 corruptions at severity 5."""

import sys
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import mixnorm as mn
from tests.real import REAL, needs_real

PER_SAMPLE = [
    *(mn.MixNorm(m=0.2, tau=1e-3, views=views) for views in (0, 1, 3)),
    mn.ShrinkNorm(),
    mn.ShrinkNorm(views=1),
]


@pytest.fixture(scope="module")
def network() -> Iterator[nn.Module]:
    sys.path.insert(0, str(REAL))
    try:
        import models  # type: ignore[import-not-found]

        yield models.cifar_resnet56()
    finally:
        sys.path.remove(str(REAL))


@pytest.fixture(scope="module")
def corrupted() -> tuple[Tensor, Tensor]:
    data = np.load(REAL / "cifar10c_mixed_severity5.npz")
    images = torch.from_numpy(data["x"][:2000]).permute(0, 3, 1, 2).float() / 255
    return images, torch.from_numpy(data["y"][:2000].astype(np.int64))


@torch.no_grad()
def error(network: nn.Module, corrupted: tuple[Tensor, Tensor], method: mn.Method) -> float:
    images, labels = corrupted
    adapted = mn.adapt(network, method)
    predictions = torch.cat([adapted(batch).argmax(1) for batch in torch.split(images, 200)])
    return 100 * float((predictions != labels).float().mean())


@needs_real
@pytest.mark.parametrize(
    ("method", "low", "high"),
    [
        (mn.Source(), 41.9, 43.9),
        (mn.BatchStatistics(), 36.7, 39.7),
        (mn.MixNorm(m=0.2, tau=1e-3, views=1), 30.0, 36.5),
        (mn.MixNorm(m=0.3, tau=0.0, views=0), 25.0, 30.0),
        (mn.ShrinkNorm(), 26.0, 29.0),
        (mn.ShrinkNorm(views=1), 24.0, 27.0),
    ],
    ids=str,
)
def test_error_on_a_mixture_of_corruptions(
    network: nn.Module, corrupted: tuple[Tensor, Tensor], method: mn.Method, low: float, high: float
) -> None:
    assert low <= error(network, corrupted, method) <= high


@needs_real
def test_default_costs_little_on_clean_images(network: nn.Module) -> None:
    data = np.load(REAL / "cifar10_test.npz")
    images = torch.from_numpy(data["x"][:2000]).permute(0, 3, 1, 2).float() / 255
    clean = images, torch.from_numpy(data["y"][:2000].astype(np.int64))
    assert error(network, clean, mn.adapt(network).method) <= error(network, clean, mn.Source()) + 1


@needs_real
@pytest.mark.parametrize("method", PER_SAMPLE, ids=str)
@torch.no_grad()
def test_200_samples_at_once_equal_200_calls(
    network: nn.Module, corrupted: tuple[Tensor, Tensor], method: mn.Method
) -> None:
    images = corrupted[0][:200]
    together, alone = (mn.adapt(network, method) for _ in range(2))
    whole, singles = together(images), torch.cat([alone(image[None]) for image in images])
    assert float((whole - singles).abs().max() / singles.abs().max()) < 1e-5
    state = alone.snapshot().tensors
    for name, tensor in together.snapshot().tensors.items():
        assert float((tensor - state[name]).abs().max() / state[name].abs().max()) < 1e-5, name


@needs_real
@pytest.mark.parametrize("method", [mn.MixNorm(m=0.2, tau=1e-2, views=1), mn.ShrinkNorm(tau=1e-2)], ids=str)
@torch.no_grad()
def test_8_interleaved_streams_equal_8_runs(
    network: nn.Module, corrupted: tuple[Tensor, Tensor], method: mn.Method
) -> None:
    images = corrupted[0][:200]
    together = mn.adapt(network, method)
    mixed = together(images, streams=[f"camera-{index % 8}" for index in range(200)])
    for camera in range(8):
        alone = mn.adapt(network, method)(images[camera::8])
        assert float((mixed[camera::8] - alone).abs().max() / alone.abs().max()) < 1e-5


@needs_real
@torch.no_grad()
def test_tau_0_and_m_0_is_the_source_model(network: nn.Module, corrupted: tuple[Tensor, Tensor]) -> None:
    images = corrupted[0][:100]
    same, expected = mn.adapt(network, mn.MixNorm(m=0.0, tau=0.0, views=0))(images), network(images)
    assert float((same - expected).abs().max() / expected.abs().max()) < 1e-6
