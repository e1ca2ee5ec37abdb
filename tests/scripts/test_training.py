"""What the training scripts share."""

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from mixnorm.benchmarks.models.preprocessing import Preprocess, Preprocessed, Preprocessing
from mixnorm.benchmarks.models.svhn import DigitNetwork
from tests.scripts.conftest import Load


def small_model() -> Preprocessed:
    torch.manual_seed(0)
    return Preprocessed(Preprocess(Preprocessing()), DigitNetwork(width=2))


def test_shifts_move_images_by_whole_pixels(load_script: Load) -> None:
    images = torch.zeros(200, 3, 9, 9)
    images[:, :, 4, 4] = 1
    moved = load_script("training").shifted(images, 2)
    assert torch.equal(moved.sum((1, 2, 3)), torch.full((200,), 3.0))
    places = moved[:, 0].flatten(1).argmax(1)
    assert {(int(place) // 9 - 4, int(place) % 9 - 4) for place in places} == {
        (down, right) for down in range(-2, 3) for right in range(-2, 3)
    }


def test_edges_are_black_or_repeated(load_script: Load) -> None:
    training = load_script("training")
    grey = torch.full((50, 3, 4, 4), 0.5)
    assert torch.equal(training.shifted(grey, 1, "repeated"), grey)
    assert (training.shifted(grey, 1) == 0).any()


def test_each_image_is_turned_as_often_as_it_says(load_script: Load) -> None:
    images = torch.rand(64, 3, 5, 5)
    turned, turns = load_script("training").rotated(images)
    assert set(turns.tolist()) == {0, 1, 2, 3}
    for image, after, count in zip(images, turned, turns.tolist(), strict=True):
        expected = image
        for _ in range(count):
            expected = expected.transpose(1, 2).flip(1)
        assert torch.equal(after, expected)


def test_running_statistics_are_those_of_upright_images(load_script: Load) -> None:
    training = load_script("training")
    images, labels = torch.rand(8, 3, 32, 32), torch.randint(0, 10, (8,))
    joint, upright = small_model().train(), small_model().train()
    for layer in [*joint.modules(), *upright.modules()]:
        if isinstance(layer, nn.Dropout):
            layer.p = 0.0
    training.joint_loss(joint, images, labels, 0.5)
    upright(images)
    for name, buffer in upright.named_buffers():
        if name.endswith(("running_mean", "running_var")):
            assert torch.equal(dict(joint.named_buffers())[name], buffer), name


def test_the_loss_is_that_of_both_heads(load_script: Load) -> None:
    training = load_script("training")
    images, labels = torch.rand(8, 3, 32, 32), torch.randint(0, 10, (8,))
    model = small_model().eval()
    torch.manual_seed(1)
    loss = training.joint_loss(model, images, labels, 0.25)
    torch.manual_seed(1)
    turned, turns = training.rotated(images)
    network = model.network
    assert isinstance(network, DigitNetwork)
    assert network.rotation_head is not None
    told = network.rotation_head(network.features(turned).flatten(1))
    expected = cross_entropy(model(images), labels) + 0.25 * cross_entropy(told, turns)
    torch.testing.assert_close(loss, expected)


def test_errors_are_counted_on_all_four_turns(load_script: Load) -> None:
    model = small_model().eval()
    network = model.network
    assert isinstance(network, DigitNetwork)
    assert network.rotation_head is not None
    for head, answer in ((network.classifier[0], 3), (network.rotation_head, 1)):
        assert isinstance(head, nn.Linear)
        nn.init.zeros_(head.weight)
        nn.init.zeros_(head.bias)
        head.bias.data[answer] = 1
    images, labels = torch.zeros(250, 3, 32, 32, dtype=torch.uint8), torch.arange(250) % 5
    before = {name: buffer.clone() for name, buffer in model.named_buffers() if "running" in name}
    assert load_script("training").errors(model, images, labels) == (0.8, 0.75)
    assert not any(layer.training for layer in model.modules())
    assert all(torch.equal(buffer, before[name]) for name, buffer in model.named_buffers() if name in before)
