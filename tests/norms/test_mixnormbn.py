import numpy as np
import pytest
import torch
from torch import nn

from mixnorm.adaptation import BatchStatistics, MixNormBN
from tests.norms.test_mixnorm import batchnorm, layer_for, reference_features
from tests.reference.algorithms import Global, mixnormbn


@pytest.mark.parametrize("views", [0, 1, 3])
@pytest.mark.parametrize(("m", "tau_max"), [(0.05, 0.9), (0.2, 0.75), (0.01, 1.1), (1.0, 0.0), (0.0, 5.0)])
def test_layer_is_algorithm_2(views: int, m: float, tau_max: float) -> None:
    source = batchnorm()
    state = Global(*(stat.numpy() for stat in (source.running_mean, source.running_var) if stat is not None))
    affine = source.weight.detach().numpy(), source.bias.detach().numpy()
    layer = layer_for(source, MixNormBN(m=m, tau_max=tau_max, views=views))
    for samples in (1, 5):
        x = torch.randn(samples * (1 + views), 3, 4, 5) * 2 + torch.randn(samples * (1 + views), 1, 1, 1)
        expected = mixnormbn(reference_features(x, 1 + views), state, m, tau_max, affine, source.eps)
        y = layer(x).detach().double().numpy().reshape(expected.shape)
        np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("method", [MixNormBN(m=1.0, views=0), BatchStatistics()])
@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        (nn.BatchNorm1d, (6, 3)),
        (nn.BatchNorm1d, (6, 3, 5)),
        (nn.BatchNorm2d, (6, 3, 4, 4)),
        (nn.BatchNorm3d, (2, 3, 2, 2, 2)),
    ],
)
def test_batch_statistics_are_batchnorm_in_training_mode(
    method: MixNormBN, kind: type[nn.BatchNorm2d], shape: tuple[int, ...]
) -> None:
    source = kind(3)
    nn.init.normal_(source.weight)
    nn.init.normal_(source.bias)
    layer = layer_for(source, method)
    x = 5 * torch.randn(shape) + 2
    torch.testing.assert_close(layer(x), source.train()(x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("method", [MixNormBN(m=0.5, tau_max=1.0, views=0), BatchStatistics()])
def test_a_single_value_keeps_the_source_statistics(method: MixNormBN) -> None:
    source = nn.BatchNorm1d(3).eval()
    layer = layer_for(source, method)
    x = torch.randn(1, 3)
    torch.testing.assert_close(layer(x), source(x))
    assert layer.kept_source
    layer(torch.randn(2, 3))
    assert not layer.kept_source
