import pytest
import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d, batch_norm, conv2d, linear, relu

from mixnorm.benchmarks.models import WideResNet
from mixnorm.errors import SettingError
from tests.benchmarks.models.published_layouts import values, wide_resnet


def reference(x: Tensor, p: dict[str, Tensor], blocks: int) -> Tensor:
    """WRN written out with functions alone, over a flat dictionary of parameters."""

    def norm(y: Tensor, name: str) -> Tensor:
        mean, var = p[f"{name}.running_mean"], p[f"{name}.running_var"]
        return relu(batch_norm(y, mean, var, p[f"{name}.weight"], p[f"{name}.bias"]))

    x = conv2d(x, p["conv1.weight"], padding=1)
    for stage in (1, 2, 3):
        for block in range(blocks):
            name, stride = f"block{stage}.layer.{block}", 2 if stage > 1 and block == 0 else 1
            before = norm(x, f"{name}.bn1")
            inner = norm(conv2d(before, p[f"{name}.conv1.weight"], stride=stride, padding=1), f"{name}.bn2")
            if block == 0:
                x = conv2d(before, p[f"{name}.convShortcut.weight"], stride=stride)
            x = x + conv2d(inner, p[f"{name}.conv2.weight"], padding=1)
    return linear(avg_pool2d(norm(x, "bn1"), 8).flatten(1), p["fc.weight"], p["fc.bias"])


@pytest.mark.parametrize(("depth", "width"), [(10, 2), (16, 3)])
def test_it_computes_what_the_paper_describes(depth: int, width: int) -> None:
    parameters = values(wide_resnet(depth, width))
    network = WideResNet(depth=depth, width=width, classes=10).eval()
    network.load_state_dict(parameters)
    images = torch.rand(3, 3, 32, 32)
    torch.testing.assert_close(network(images), reference(images, parameters, (depth - 4) // 6))


@pytest.mark.parametrize(("depth", "width"), [(28, 10), (40, 2)])
def test_parameters_are_named_and_shaped_as_in_robustbench(depth: int, width: int) -> None:
    with torch.device("meta"):
        ours = WideResNet(depth=depth, width=width, classes=10).state_dict()
    assert {name: tuple(value.shape) for name, value in ours.items()} == wide_resnet(depth, width)


def test_wrn_28_10_has_the_published_number_of_parameters() -> None:
    with torch.device("meta"):
        network = WideResNet(depth=28, width=10, classes=10)
    assert sum(parameter.numel() for parameter in network.parameters()) == 36_479_194


@pytest.mark.parametrize("depth", [4, 12, 27])
def test_a_depth_that_gives_no_whole_blocks_is_refused(depth: int) -> None:
    with pytest.raises(SettingError, match=f"not {depth}"):
        WideResNet(depth=depth, width=1, classes=10)
