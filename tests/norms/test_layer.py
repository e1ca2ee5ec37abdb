import pytest
import torch
from torch import nn

from mixnorm.adaptation import BatchStatistics, Method, MixNorm, MixNormBN, adapt, replace_batchnorm_
from mixnorm.errors import InputError, ModelError

METHODS = [MixNorm(views=0), MixNormBN(views=0), BatchStatistics()]


@pytest.mark.parametrize("method", METHODS)
def test_names_of_parameters_and_buffers_are_kept(method: Method) -> None:
    source = nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4), nn.BatchNorm2d(4, affine=False))
    names = list(source.state_dict())
    replaced = replace_batchnorm_(source, method)
    assert list(replaced.state_dict()) == names


def test_a_checkpoint_older_than_num_batches_tracked_loads() -> None:
    source = nn.BatchNorm2d(4)
    checkpoint = {name: value for name, value in source.state_dict().items() if name != "num_batches_tracked"}
    replace_batchnorm_(nn.BatchNorm2d(4)).load_state_dict(checkpoint, strict=True)


def test_a_loaded_checkpoint_starts_the_moving_statistics_anew() -> None:
    layer = replace_batchnorm_(nn.BatchNorm2d(2), MixNorm(m=0.0, tau=0.5, views=0))
    layer(torch.randn(4, 2, 3, 3) + 9)
    other = nn.BatchNorm2d(2).eval()
    assert other.running_mean is not None
    other.running_mean.fill_(5)
    layer.load_state_dict(other.state_dict())
    x = torch.randn(1, 2, 3, 3)
    fresh = replace_batchnorm_(other, MixNorm(m=0.0, tau=0.5, views=0))
    assert torch.equal(layer(x), fresh(x))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", [(4, 3, 5), (4, 7, 5, 5), (3, 5, 5)])
def test_features_of_the_wrong_shape_are_refused(method: Method, shape: tuple[int, ...]) -> None:
    layer = replace_batchnorm_(nn.BatchNorm2d(3), method)
    with pytest.raises(InputError, match=r"BatchNorm2d of 3 channels, got features of shape"):
        layer(torch.randn(shape))


def test_a_layer_that_sees_other_rows_than_the_model_is_refused() -> None:
    class Frames(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.BatchNorm2d(3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.norm(x.flatten(0, 1)).mean((2, 3))  # type: ignore[no-any-return]

    adapted = adapt(Frames(), MixNorm(views=0))
    before = adapted.snapshot()
    with pytest.raises(InputError, match=r"layer 'norm' got 6 rows in a pass of 2.*keep=\['norm'\]"):
        adapted(torch.randn(2, 3, 3, 4, 4))
    assert adapted.snapshot().tensors.keys() == before.tensors.keys()


def test_the_model_inside_an_adapted_one_is_not_called_directly() -> None:
    adapted = adapt(nn.Sequential(nn.BatchNorm2d(3)))
    with pytest.raises(ModelError, match="call the adapted model itself"):
        adapted.model(torch.randn(2, 3, 4, 4))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_does_not_round_the_statistics(method: Method, dtype: torch.dtype) -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.BatchNorm2d(4))
    adapted, exact = adapt(model, method), adapt(model[1:], method)
    x = torch.randn(3, 3, 6, 6) + 5
    with torch.autocast("cpu", dtype=dtype):
        y = adapted(x)
        features = model[0](x)
    assert features.dtype == dtype
    torch.testing.assert_close(y.float(), exact(features.float()), rtol=2e-2, atol=2e-2)
    for name, stat in adapted.snapshot().tensors.items():
        assert stat.dtype == torch.float64, name


@pytest.mark.parametrize("method", METHODS)
def test_autocast_does_not_round_gradients(method: Method) -> None:
    x = (torch.randn(6, 3, 5, 5) + 5).requires_grad_()
    gradients: list[torch.Tensor] = []
    for enabled in (False, True):
        adapted = adapt(nn.Sequential(nn.BatchNorm2d(3)).eval(), method)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
            gradients += torch.autograd.grad(adapted(x).pow(3).sum(), x)
    torch.testing.assert_close(gradients[0], gradients[1])
