import copy
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file
from torch import Tensor, nn

from mixnorm.benchmarks.models import load_model
from mixnorm.benchmarks.models.from_open_clip import ClipModel

TEXTS = ["a photo of a cat.", "a photo of a dog."]


@pytest.fixture(scope="module")
def clip() -> ClipModel:
    model = load_model("clip-rn50", weights="random")
    assert isinstance(model, ClipModel)
    return model


def picture(side: int = 100) -> Image.Image:
    low = np.random.default_rng(0).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    return Image.fromarray(low).resize((side, side), Image.Resampling.BICUBIC)


def tensor(image: Image.Image) -> Tensor:
    return torch.from_numpy(np.array(image)).permute(2, 0, 1)[None].float() / 255


def test_images_and_texts_meet_in_one_space(clip: ClipModel) -> None:
    with torch.no_grad():
        images, texts = clip(tensor(picture(32))), clip.encode_text(TEXTS)
    assert images.shape == (1, 1024)
    assert texts.shape == (2, 1024)
    torch.testing.assert_close(images.norm(dim=1), torch.ones(1))
    torch.testing.assert_close(texts.norm(dim=1), torch.ones(2))


def test_preprocessing_is_the_one_of_open_clip(clip: ClipModel) -> None:
    import open_clip

    theirs = open_clip.image_transform(224, is_train=False)(picture())[None]
    assert (clip.preprocess(tensor(picture())) - theirs).abs().max() < 0.018  # 1.2 grey levels, divided by std


def test_the_text_encoder_is_the_one_of_open_clip(clip: ClipModel) -> None:
    import open_clip

    tokens = open_clip.get_tokenizer("RN50")(TEXTS)
    with torch.no_grad():
        expected = clip.network.encode_text(tokens)  # type: ignore[operator]
        torch.testing.assert_close(clip.encode_text(TEXTS), expected / expected.norm(dim=1, keepdim=True))


def test_it_has_batchnorm_layers_to_adapt(clip: ClipModel) -> None:
    assert sum(isinstance(module, nn.BatchNorm2d) for module in clip.modules()) > 50
    assert not clip.training


def test_a_published_file_is_loaded(clip: ClipModel, data_folder: Path) -> None:
    state = {
        name: value.half() if value.is_floating_point() else value for name, value in clip.network.state_dict().items()
    }
    path = data_folder / "models/timm/resnet50_clip.openai/open_clip_model.safetensors"
    path.parent.mkdir(parents=True)
    save_file(state, path)
    loaded = load_model("clip-rn50").network.state_dict()  # type: ignore[union-attr]
    assert all(torch.equal(value, state[name].to(value.dtype)) for name, value in loaded.items())
    path.unlink()


def test_it_can_be_copied(clip: ClipModel) -> None:
    images = tensor(picture(32))
    with torch.no_grad():
        assert torch.equal(copy.deepcopy(clip)(images), clip(images))
