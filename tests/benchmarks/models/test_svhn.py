from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn.functional import batch_norm, conv2d, linear, max_pool2d, relu

from mixnorm.benchmarks.models import load_model
from mixnorm.benchmarks.models.svhn import DigitNetwork, SvhnNetwork, add_affine_
from tests.benchmarks.models.published_layouts import SVHN, values

# Place of each convolution in the sequence, and whether a maximum follows.
CONVOLUTIONS = ((0, False), (4, True), (9, False), (13, True), (18, False), (22, True), (27, True))


def published_order(x: Tensor, p: dict[str, Tensor]) -> Tensor:
    """The logits in the order of the checkpoint: digits 1 to 9, then 0."""
    for place, pooled in CONVOLUTIONS:
        weight, bias = p[f"features.{place}.weight"], p[f"features.{place}.bias"]
        x = conv2d(x, weight, bias, padding=0 if place == 27 else 1)
        norm = f"features.{place + 1}"
        x = relu(batch_norm(x, p[f"{norm}.running_mean"], p[f"{norm}.running_var"]))
        x = max_pool2d(x, 2) if pooled else x
    return linear(x.flatten(1), p["classifier.0.weight"], p["classifier.0.bias"])


def test_it_computes_the_published_network_with_the_digits_in_order() -> None:
    parameters = values(SVHN)
    network = SvhnNetwork().eval()
    network.load_state_dict(parameters)
    images = torch.rand(4, 3, 32, 32)
    theirs = published_order(images, parameters)
    torch.testing.assert_close(network(images), torch.cat([theirs[:, 9:], theirs[:, :9]], dim=1))


def test_parameters_are_named_and_shaped_as_published() -> None:
    ours = {name: tuple(value.shape) for name, value in SvhnNetwork().state_dict().items()}
    assert {name: shape for name, shape in ours.items() if not name.endswith("num_batches_tracked")} == SVHN


def test_affine_parameters_change_no_answer_and_can_be_learned() -> None:
    network = SvhnNetwork().eval()
    network.load_state_dict(values(SVHN), strict=False)
    images = torch.rand(4, 3, 32, 32)
    before = network(images)
    parameters = len(list(network.parameters()))
    assert torch.equal(add_affine_(network)(images), before)
    assert len(list(network.parameters())) == parameters + 2 * len(CONVOLUTIONS)
    network(images).sum().backward()
    assert all(
        layer.weight.grad is not None and layer.weight.grad.abs().sum() > 0
        for layer in network.modules()
        if isinstance(layer, nn.BatchNorm2d)
    )


def test_svhn_affine_loads_the_published_checkpoint(tmp_path: Path) -> None:
    file = tmp_path / "svhn.safetensors"
    save_file(values(SVHN), file)
    images = torch.rand(4, 3, 32, 32)
    with torch.no_grad():
        plain, affine = (load_model(name, checkpoint=file)(images) for name in ("svhn", "svhn-affine"))
    assert torch.equal(plain, affine)


def test_the_rotation_head_takes_no_part_in_the_answers() -> None:
    network = DigitNetwork(width=4).eval()
    images = torch.rand(4, 3, 32, 32)
    before = network(images)
    assert network.rotation_head is not None
    turns = network.rotation_head(network.embed(images))
    assert turns.shape == (4, 4)
    torch.nn.init.zeros_(network.rotation_head.weight)
    assert torch.equal(network(images), before)
    assert [name for name, layer in network.named_modules() if isinstance(layer, nn.Linear)][-1] == "classifier.0"
