import numpy as np
import pytest
import torch
from torch import Tensor, nn

from mixnorm.adaptation import Method, MixNorm
from mixnorm.adaptation.replacement import replace_all_
from mixnorm.norms import AdaptiveNorm, Context
from tests.reference.algorithms import Global, mixnorm


def batchnorm(channels: int = 3) -> nn.BatchNorm2d:
    norm = nn.BatchNorm2d(channels).eval()
    for tensor in (norm.weight.data, norm.bias.data, norm.running_mean):
        assert tensor is not None
        tensor.normal_()
    assert norm.running_var is not None
    norm.running_var.uniform_(0.2, 3)
    return norm


def layer_for(source: nn.Module, method: Method) -> AdaptiveNorm:
    """Make the layer that takes rows of samples and of their views, with no model around it."""
    layer = replace_all_(source, method, Context(method.plan, groups=1 + method.augmentations))
    assert isinstance(layer, AdaptiveNorm)
    return layer


def reference_features(x: Tensor, views: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return x.double().numpy().reshape(views, len(x) // views, x.shape[1], -1)


@pytest.mark.parametrize("views", [0, 1, 3])
@pytest.mark.parametrize(("m", "tau"), [(0.05, 1e-3), (0.2, 0.1), (1.0, 0.0), (0.0, 0.3), (0.5, 1.0)])
def test_layer_is_algorithm_1(views: int, m: float, tau: float) -> None:
    source = batchnorm()
    state = Global(*(stat.numpy() for stat in (source.running_mean, source.running_var) if stat is not None))
    affine = source.weight.detach().numpy(), source.bias.detach().numpy()
    layer = layer_for(source, MixNorm(m=m, tau=tau, views=views))
    for _ in range(2):
        x = torch.randn(4 * (1 + views), 3, 4, 5) * 2 + torch.randn(4 * (1 + views), 1, 1, 1)
        expected = mixnorm(reference_features(x, 1 + views), state, m, tau, affine, source.eps)
        y = layer(x).detach().double().numpy().reshape(expected.shape)
        np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


def test_instance_norm_is_a_setting() -> None:
    source = batchnorm()
    layer = layer_for(source, MixNorm.preset("ablation/instance"))
    x = torch.randn(5, 3, 6, 6)
    expected = nn.functional.instance_norm(x, weight=source.weight, bias=source.bias, eps=source.eps)
    torch.testing.assert_close(layer(x), expected)


def test_fixed_global_norm_is_the_source() -> None:
    source = batchnorm()
    layer = layer_for(source, MixNorm.preset("ablation/fixed-global"))
    x = torch.randn(5, 3, 6, 6)
    torch.testing.assert_close(layer(x), source(x), rtol=1e-6, atol=1e-6)


def test_state_stays_where_it_is_when_samples_agree_with_it() -> None:
    # (1-tau) g + tau g is g: rounding of weights that sum to 1 only nearly would let a state decay over many steps.
    source = nn.BatchNorm2d(1).eval()
    assert source.running_mean is not None
    source.running_mean.fill_(10.0)
    layer = layer_for(source, MixNorm(m=0.0, tau=1e-7, views=0))
    x = torch.tensor([9.0, 11.0]).repeat(64, 1, 1, 8)
    for _ in range(500):
        layer(x)
    assert layer.context.memory.read_one(("", 0), slice(0, 1))[0].item() == pytest.approx(10.0, abs=1e-6)


@pytest.mark.parametrize("shape", [(4, 3), (4, 3, 1, 1)])
def test_one_position_per_sample_keeps_the_source_statistics(shape: tuple[int, ...]) -> None:
    source = nn.BatchNorm1d(3).eval() if len(shape) == 2 else nn.BatchNorm2d(3).eval()
    layer = layer_for(source, MixNorm(m=0.5, tau=0.5, views=0))
    for _ in range(100):
        x = torch.randn(shape)
        torch.testing.assert_close(layer(x), source(x))
    assert layer.kept_source


def test_gradients_are_those_of_the_formula() -> None:
    layer = layer_for(batchnorm().double(), MixNorm(m=0.3, tau=0.2, views=1))
    x = torch.randn(4, 3, 3, 3, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(4, 3, 3, 3, dtype=torch.float64)
    gradient = torch.autograd.grad((layer(x) * weight).sum(), x)[0]
    step = 1e-2
    for index in [(0, 0, 0, 0), (1, 2, 1, 2), (3, 1, 2, 0)]:
        change = torch.zeros_like(x)
        change[index] = step
        values = []
        for sign in (1, -1):
            fresh = layer_for(nn.BatchNorm2d(3), MixNorm(m=0.3, tau=0.2, views=1))
            fresh.load_state_dict(layer.state_dict())
            values.append((fresh.double()(x + sign * change) * weight).sum().item())
        assert (values[0] - values[1]) / (2 * step) == pytest.approx(gradient[index].item(), rel=2e-2, abs=2e-3)
