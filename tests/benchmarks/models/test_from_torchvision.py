import pytest
import torch

from mixnorm.benchmarks.models import find_model, load_model
from mixnorm.benchmarks.models.weights_file import WeightsFile
from mixnorm.benchmarks.torchvision_on_cpu import import_torchvision
from mixnorm.errors import MissingDataError, UnknownNameError


@pytest.mark.parametrize("name", ["torchvision/resnet18", "resnet50"])
def test_a_classifier_runs_behind_its_preprocessing(name: str) -> None:
    model = load_model(name, weights="random")
    images = torch.rand(1, 3, 64, 64)
    mean, std = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    scaled = (images - mean.view(1, 3, 1, 1)) / std.view(1, 3, 1, 1)
    with torch.no_grad():
        torch.testing.assert_close(model(images), model.network(scaled))  # type: ignore[operator]
    assert model(images).shape == (1, 1000)


def test_resnet50_is_the_first_published_one() -> None:
    first = import_torchvision().models.ResNet50_Weights.IMAGENET1K_V1
    record = find_model("resnet50")
    assert isinstance(record.weights, WeightsFile)
    assert record.weights.url == first.url
    assert record.weights.sha256 == "0676ba61"
    assert record.accuracy == pytest.approx(first.meta["_metrics"]["ImageNet-1K"]["acc@1"] / 100)
    assert record.preprocessing.mean == tuple(first.transforms().mean)
    assert [record.resize] == first.transforms().resize_size
    assert [record.crop] == first.transforms().crop_size


def test_every_classifier_has_weights_with_a_checksum() -> None:
    models = import_torchvision().models
    records = [find_model(f"torchvision/{name}") for name in models.list_models(module=models)]
    assert len(records) > 50
    for record in records:
        assert isinstance(record.weights, WeightsFile)
        assert record.weights.sha256 is not None
        assert record.accuracy is not None
        assert record.resize is not None
        assert record.crop is not None
        assert record.resize >= record.crop


@pytest.mark.parametrize("name", ["googlenet", "inception_v3"])
def test_networks_that_scale_their_input_again_do_so(name: str) -> None:
    network = load_model(f"torchvision/{name}", weights="random").network
    assert network.transform_input is True  # type: ignore[union-attr]


def test_bad_names_and_absent_weights_are_reported() -> None:
    with pytest.raises(UnknownNameError, match="unknown torchvision classifier 'resnet19'; did you mean 'resnet1"):
        load_model("torchvision/resnet19")
    with pytest.raises(UnknownNameError, match="unknown torchvision classifier 'fasterrcnn_resnet50_fpn'"):
        load_model("torchvision/fasterrcnn_resnet50_fpn")
    with pytest.raises(
        MissingDataError, match=r"the weights of torchvision/resnet18 are not at .*resnet18-f37072fd\.pth"
    ):
        load_model("torchvision/resnet18")
