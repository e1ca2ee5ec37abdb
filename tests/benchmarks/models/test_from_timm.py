from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from mixnorm.benchmarks.models import find_model, load_model
from mixnorm.benchmarks.models.weights_file import WeightsFile
from mixnorm.errors import MissingDataError, ModelError, UnknownNameError


@pytest.mark.parametrize("name", ["timm/resnet10t", "timm/test_resnet.r160_in1k"])
def test_a_classifier_runs_with_random_weights(name: str) -> None:
    model = load_model(name, weights="random")
    assert model(torch.rand(1, 3, 64, 64)).shape == (1, 1000)


def test_preprocessing_is_the_one_of_the_weights() -> None:
    assert find_model("timm/test_resnet").preprocessing.mean == (0.5, 0.5, 0.5)
    assert find_model("timm/resnet26").preprocessing.mean == (0.485, 0.456, 0.406)


def test_weights_are_looked_for_where_the_hub_keeps_them(data_folder: Path) -> None:
    expected = "the weights of timm/test_resnet are not at .*timm/test_resnet.r160_in1k/model.safetensors.*huggingface"
    with pytest.raises(MissingDataError, match=expected):
        load_model("timm/test_resnet")
    state = load_model("timm/test_resnet", weights="random").network.state_dict()  # type: ignore[union-attr]
    state["fc.weight"].add_(1)
    path = data_folder / "models/timm/test_resnet.r160_in1k/model.safetensors"
    path.parent.mkdir(parents=True)
    save_file(state, path)
    loaded = load_model("timm/test_resnet").network.state_dict()  # type: ignore[union-attr]
    assert all(torch.equal(value, state[name]) for name, value in loaded.items())


def test_a_model_from_before_the_hub_has_a_checksum() -> None:
    weights = find_model("timm/legacy_seresnet18").weights
    assert isinstance(weights, WeightsFile)
    assert (weights.path, weights.sha256) == ("timm/seresnet18-4bb0ce65.pth", "4bb0ce65")


def test_bad_names_are_reported_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown timm classifier 'resnet27'; did you mean 'resnet2"):
        load_model("timm/resnet27")
    with pytest.raises(UnknownNameError, match=r"'resnet26\.nope'; did you mean .*resnet26"):
        load_model("timm/resnet26.nope")
    with pytest.raises(ModelError, match="vit_small_patch14_dinov2 gives features and no classes"):
        load_model("timm/vit_small_patch14_dinov2")


def test_a_model_without_published_weights_says_so() -> None:
    with pytest.raises(MissingDataError, match=r"no weights of timm/seresnet18 are published.*weights='random'"):
        load_model("timm/seresnet18")
