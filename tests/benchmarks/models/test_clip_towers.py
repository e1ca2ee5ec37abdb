"""What can be made a zero-shot classifier, and what is refused before any work."""

import re
from typing import Any

import pytest
import torch
from torch import nn

import mixnorm as mn
from mixnorm.benchmarks.models.clip_towers import is_clip
from mixnorm.errors import ModelError, NothingToAdaptError, SettingError
from tests.benchmarks.models.clips import NAMES, small_clip, small_transformer


@pytest.fixture(scope="module")
def clip() -> Any:
    return small_clip(32)


@pytest.fixture
def untouched(clip: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Give the model, and see that its text tower never runs."""

    def fail(*_: object) -> None:
        raise AssertionError("the text tower ran")

    monkeypatch.setattr(clip, "encode_text", fail)
    return clip


def test_clip_models_are_recognised(clip: Any) -> None:
    assert is_clip(clip)
    assert is_clip(mn.load_model("clip-rn50", weights="random"))
    assert not is_clip(mn.load_model("digits"))
    assert not is_clip(mn.zero_shot(clip, NAMES))
    assert not is_clip("RN50")


def test_a_vision_transformer_has_nothing_to_adapt() -> None:
    with pytest.raises(NothingToAdaptError, match=r"a VisionTransformer, has no BatchNorm layer.* RN50 or RN101"):
        mn.zero_shot(small_transformer(), NAMES)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            nn.Linear(2, 2),
            "Linear is no CLIP model: it has no visual, encode_text, logit_scale; give a model of open",
        ),
        ("RN50", "str is no CLIP model"),
        (None, "NoneType is no CLIP model"),
    ],
)
def test_other_models_are_refused(model: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        mn.zero_shot(model, NAMES)


def test_an_adapted_clip_model_is_refused(clip: Any) -> None:
    adapted: Any = mn.adapt(clip)
    with pytest.raises(ModelError, match="AdaptedModel is no CLIP model"):
        mn.zero_shot(adapted, NAMES)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "class_names is empty; give at least one"),
        ("cat", r"class_names must be a list of texts such as \['cat', 'dog'\], got the str 'cat'"),
        ({"cat", "dog"}, "class_names must be a list of texts .* got the set"),
        ({"cat": 0}, "got the dict"),
        (b"cat", "got the bytes"),
        (3, "got the int 3"),
        (None, "got the NoneType None"),
        (["cat", 3], "class_names must be texts that are not empty, got 3 at place 1"),
        (["cat", ""], "got '' at place 1"),
        (["  ", "cat"], "got '  ' at place 0"),
        (["cat", "dog", "cat"], "class_names has 'cat' and 'cat', which are the same"),
        (["red fox", "Red  fox"], "class_names has 'red fox' and 'Red  fox', which are the same"),
    ],
)
def test_names_that_cannot_be_classes(untouched: Any, names: Any, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        mn.zero_shot(untouched, names)


@pytest.mark.parametrize(
    ("templates", "message"),
    [
        ([], "templates is empty"),
        ("a photo of a {}.", r"templates must be a list of texts such as \['a photo of a \{\}.'\], got the str"),
        (["a photo."], r"the template 'a photo.' has no \{\} where the name of the class goes"),
        (["a photo of a {0}."], r"has no \{\}"),
        (["{}", ""], "templates must be texts that are not empty, got '' at place 1"),
        (["{}", None], "got None at place 1"),
    ],
)
def test_templates_that_cannot_be_filled(untouched: Any, templates: Any, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        mn.zero_shot(untouched, NAMES, templates)


def test_a_template_that_is_cut_before_the_name(untouched: Any) -> None:
    with pytest.raises(SettingError, match="'cat' and 'dog' are the same to the text tower, which reads 77 tokens"):
        mn.zero_shot(untouched, NAMES, ["very " * 80 + "good {}"])


def test_other_vocabularies_need_their_tokenizer() -> None:
    clip = small_clip(32)
    clip.vocab_size = 100
    with pytest.raises(SettingError, match=r"a vocabulary of 100 and not CLIP's 49408; give its tokenizer"):
        mn.zero_shot(clip, NAMES)
    with pytest.raises(SettingError, match="tokenizer must be a function from texts to tokens, got 'RN50'"):
        mn.zero_shot(clip, NAMES, tokenizer="RN50")  # type: ignore[arg-type]
    letters: list[str] = []

    def spell(texts: list[str]) -> torch.Tensor:
        letters.extend(texts)
        return torch.tensor([[ord(letter) for letter in text.ljust(77)] for text in texts])

    mn.zero_shot(clip, NAMES, tokenizer=spell)
    assert letters == [f"a photo of a {name}." for name in NAMES]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"resize_mode": "squash"}, r"prepared as PreprocessCfg\(.*resize_mode='squash'"),
        ({"size": (32, 64)}, "images of 32 x 64 px; mixnorm knows squares alone"),
    ],
)
def test_preprocessing_that_is_not_known_is_refused(asked: dict[str, Any], message: str) -> None:
    clip = small_clip(32)
    clip.visual.preprocess_cfg = {"size": 32} | asked
    with pytest.raises(ModelError, match=message):
        mn.zero_shot(clip, NAMES)


def test_frozen_batchnorm_is_refused_by_name_when_it_is_adapted() -> None:
    clip = small_clip(32)
    clip.lock_image_tower(freeze_bn_stats=True)
    with pytest.raises(ModelError, match=re.escape("layer 'visual.bn1' is a FrozenBatchNorm2d")):
        mn.adapt(mn.zero_shot(clip, NAMES))
