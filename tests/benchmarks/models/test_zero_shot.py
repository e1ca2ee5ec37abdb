"""Zero-shot classifiers out of CLIP models with random weights: the towers are the published ones or small."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

import mixnorm as mn
from mixnorm.adaptation import Method
from mixnorm.adaptation.checks import promises
from mixnorm.adaptation.sample_models import SampleModel
from mixnorm.benchmarks import ZeroShotClassifier
from mixnorm.benchmarks.models.from_open_clip import ClipModel, import_open_clip
from tests.benchmarks.models.clips import NAMES, TEMPLATES, batchnorms, small_clip, trained_
from tests.real import REAL, needs_real
from tests.reference import zero_shot as reference

IDENTITY = [mn.MixNorm(m=0, tau=0, views=0), mn.MixNorm(m=0, tau=0, views=1)]
METHODS = [
    mn.Source(),
    mn.BatchStatistics(),
    mn.Tent(),
    mn.MixNorm.preset("cifar100"),
    mn.MixNorm(m=0.2, tau=0.05, learn=mn.Entropy(optimizer="sgd", lr=0.01)),
    mn.MixNormBN(m=0.1, tau_max=0.9),
]


@pytest.fixture(scope="module")
def rn50() -> Any:
    """Make open_clip's RN50, as a user would, but for the weights."""
    open_clip = import_open_clip()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return trained_(open_clip.CLIP(**open_clip.get_model_config("RN50")), count=2).eval()


def tokenize(text: str) -> Tensor:
    tokens: Tensor = import_open_clip().get_tokenizer("RN50")([text])
    return tokens


def images(count: int, side: int) -> Tensor:
    """Make images of different contrast, coarse enough to survive a resize."""
    generator = torch.Generator().manual_seed(1)
    coarse = torch.rand(count, 3, 8, 8, generator=generator) * torch.rand(count, 3, 1, 1, generator=generator)
    return torch.nn.functional.interpolate(coarse, (side, side))


def expected(clip: Any, prepared: Tensor, templates: list[str] = TEMPLATES) -> Tensor:
    return reference.logits(clip, tokenize, prepared, NAMES, templates)


def test_logits_are_those_of_one_sentence_and_image_at_a_time() -> None:
    clip = small_clip()
    classifier = mn.zero_shot(clip, NAMES, TEMPLATES)
    batch = images(5, 64)
    with torch.no_grad():
        logits = classifier(batch)
    assert logits.shape == (5, len(NAMES))
    assert logits.std(0).min() > 1e-3, "the images are not told apart, so nothing is compared"
    torch.testing.assert_close(logits, expected(clip, classifier.preprocess(batch)), rtol=0, atol=1e-5)


@pytest.mark.parametrize("settings", [{}, {"init_logit_bias": -3.0}, {"nonscalar_logit_scale": True}])
def test_with_one_template_they_are_open_clips_own(settings: dict[str, Any]) -> None:
    clip = small_clip(**settings)
    classifier = mn.zero_shot(clip, NAMES)
    prepared = classifier.preprocess(images(5, 64))
    tokens = torch.cat([tokenize(f"a photo of a {name}.") for name in NAMES])
    with torch.no_grad():
        theirs, _ = clip.get_logits(prepared, tokens)
        torch.testing.assert_close(classifier(images(5, 64)), theirs, rtol=0, atol=1e-5)


@pytest.mark.parametrize("method", IDENTITY, ids=str)
def test_rn50_with_fixed_global_statistics_gives_open_clips_own_logits(rn50: Any, method: Method) -> None:
    adapted = mn.adapt(mn.zero_shot(rn50, NAMES, TEMPLATES), method)
    assert len(adapted.report().replaced) == batchnorms(rn50.visual) == 55
    batch = images(2, 32)
    theirs = expected(rn50, adapted.model.preprocess(batch))  # type: ignore[operator]
    with torch.no_grad():
        ours = adapted(batch)
    assert theirs.std(0).min() > 1e-3, "the images are not told apart, so nothing is compared"
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-5)


def test_adapting_changes_the_image_tower_alone() -> None:
    clip = small_clip()
    classifier = mn.zero_shot(clip, NAMES)
    adapted = mn.adapt(classifier, mn.MixNorm(m=0.2, tau=0.1))
    replaced = adapted.report().replaced
    assert len(replaced) == batchnorms(clip.visual) == 19
    assert all(layer.names[0].startswith("visual.") for layer in replaced)
    batch = images(3, 64)
    with torch.no_grad():
        assert not torch.allclose(adapted(batch), classifier(batch), atol=1e-2)


def test_there_is_no_text_tower_in_it_and_names_of_parameters_stay() -> None:
    clip = small_clip()
    state = mn.zero_shot(clip, NAMES).state_dict()
    assert state.pop("text_FC").shape == (16, len(NAMES))
    assert list(state) == [name for name in clip.state_dict() if name.startswith("visual.")]


def test_text_is_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clip = small_clip()
    sentences: list[int] = []
    encode_text = clip.encode_text

    def counting(tokens: Tensor) -> Tensor:
        sentences.append(len(tokens))
        features: Tensor = encode_text(tokens)
        return features

    monkeypatch.setattr(clip, "encode_text", counting)
    classifier = mn.zero_shot(clip, NAMES, TEMPLATES)
    assert sum(sentences) == len(NAMES) * len(TEMPLATES)
    adapted = mn.adapt(classifier, mn.MixNorm())
    with torch.no_grad():
        for _ in range(3):
            classifier(images(1, 64))
            adapted(images(1, 64))
    assert sum(sentences) == len(NAMES) * len(TEMPLATES)


def test_many_sentences_are_encoded_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = mn.zero_shot(small_clip(), NAMES, TEMPLATES).text_FC
    monkeypatch.setitem(mn.zero_shot.__globals__, "SENTENCES_AT_ONCE", 3)
    torch.testing.assert_close(mn.zero_shot(small_clip(), NAMES, TEMPLATES).text_FC, whole)


def test_the_clip_model_is_left_as_it_is() -> None:
    clip = small_clip().train()
    clip.transformer.eval()
    before = copy.deepcopy(clip)
    classifier = mn.zero_shot(clip, NAMES)
    assert not any(module.training for module in classifier.modules())
    classifier.half()
    assert [module.training for module in clip.modules()] == [module.training for module in before.modules()]
    state = clip.state_dict()
    assert all(torch.equal(value, state[name]) for name, value in before.state_dict().items())


def test_a_model_in_training_mode_gives_the_same_classifier() -> None:
    texts = [mn.zero_shot(clip, NAMES).text_FC for clip in (small_clip(), small_clip().train())]
    assert torch.equal(*texts)


SMALL = SampleModel("clip", lambda: mn.zero_shot(small_clip(64), NAMES), (3, 64, 68))
SMALLER = SampleModel("clip of 32 px", lambda: mn.zero_shot(small_clip(32), NAMES), (3, 32, 36))


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_every_promise_is_kept(method: Method, monkeypatch: pytest.MonkeyPatch) -> None:
    model = SMALL.model()
    monkeypatch.setattr(SampleModel, "model", lambda sample: copy.deepcopy(model))
    assert len(mn.check_method(method, [SMALL])) == len(promises(method))


def test_every_promise_is_kept_where_maps_are_single_positions() -> None:
    """At 32 px the last block sees one position, which has no variance: it keeps the source statistics."""
    method = mn.MixNorm(m=0.3, tau=0.1)
    assert len(mn.check_method(method, [SMALLER])) == len(promises(method))
    adapted = mn.adapt(SMALLER.model(), method)
    with torch.no_grad():
        assert adapted(images(3, 32)).isfinite().all()
    kept = [layer.names[0] for layer in adapted.report().layers if "one position" in layer.reason]
    assert kept == ["visual.layer4.0.bn3", "visual.layer4.0.downsample.1"]


def half() -> ZeroShotClassifier:
    return mn.zero_shot(small_clip(), NAMES).half()


def made_from_half() -> ZeroShotClassifier:
    return mn.zero_shot(small_clip().half(), NAMES)


def made_from_open_clips_fp16() -> ZeroShotClassifier:
    clip = small_clip()
    import_open_clip().convert_weights_to_lp(clip, torch.float16)
    return mn.zero_shot(clip, NAMES)


@pytest.mark.parametrize("make", [half, made_from_half, made_from_open_clips_fp16])
@pytest.mark.parametrize("side", [64, 40])
def test_float16_keeps_float32_statistics(make: Callable[[], ZeroShotClassifier], side: int) -> None:
    method = mn.MixNorm(m=0.2, tau=0.1)
    whole, adapted = mn.adapt(mn.zero_shot(small_clip(), NAMES), method), mn.adapt(make(), method)
    batch = images(6, side)
    with torch.no_grad():
        theirs, ours = whole(batch), adapted(batch.half())
    assert ours.dtype == torch.float16
    torch.testing.assert_close(ours.float(), theirs, rtol=0.02, atol=0.05)
    state, exact = adapted.snapshot().tensors, whole.snapshot().tensors
    assert {tensor.dtype for tensor in state.values()} <= {torch.float32, torch.float64}
    for name, tensor in state.items():
        torch.testing.assert_close(tensor, exact[name], rtol=0.01, atol=0.01)


def test_float16_images_go_into_a_float32_classifier() -> None:
    classifier = mn.zero_shot(small_clip(), NAMES)
    with torch.no_grad():
        ours = classifier(images(2, 40).half())
        torch.testing.assert_close(ours, classifier(images(2, 40).half().float()), rtol=0, atol=0.02)
    assert ours.dtype == torch.float32


def test_mixnorms_own_clip_model() -> None:
    clip = mn.load_model("clip-rn50", weights="random")
    assert isinstance(clip, ClipModel)
    ours = mn.zero_shot(clip, NAMES[:2])
    theirs = mn.zero_shot(clip.network, NAMES[:2])
    assert ours.preprocess.settings == theirs.preprocess.settings
    assert torch.equal(ours.text_FC, theirs.text_FC)


def pictures() -> Iterator[Image.Image]:
    """Yield real photographs, at 224 px, cut to another shape and enlarged, and small real pictures."""
    for number, path in enumerate(sorted((REAL / "imagenet_val").glob("*/*.JPEG"))[:200:10]):
        photo = Image.open(path).convert("RGB")
        yield photo
        yield photo.crop((0, 0, 224, 100 + 6 * number)).resize((330, 251 + 7 * number))
    for pixels in np.load(REAL / "cifar10_test.npz")["x"][:20]:
        yield Image.fromarray(pixels)


@needs_real
def test_real_images_are_prepared_as_open_clip_does() -> None:
    """Within 1.2 grey levels: Pillow rounds to whole ones after each of two passes, and that is all that differs."""
    clip = small_clip(224)
    preprocess = mn.zero_shot(clip, NAMES).preprocess
    transform = import_open_clip().image_transform(224, is_train=False)
    for picture in pictures():
        ours = preprocess(torch.from_numpy(np.array(picture)).permute(2, 0, 1)[None].float() / 255)[0]
        levels = (ours - transform(picture)).abs() * preprocess.std[0] * 255
        assert levels.max() < 1.2
        assert levels.mean() < 0.4


def test_preprocessing_is_what_the_model_asks_for() -> None:
    clip = small_clip(32)
    asked = {"size": (32, 32), "mean": (0.1, 0.2, 0.3), "std": (0.4, 0.5, 0.6), "interpolation": "bilinear"}
    clip.visual.preprocess_cfg = asked
    preprocess = mn.zero_shot(clip, NAMES).preprocess
    transform = import_open_clip().image_transform(
        32, is_train=False, mean=(0.1, 0.2, 0.3), std=(0.4, 0.5, 0.6), interpolation="bilinear"
    )
    low = np.random.default_rng(0).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    picture = Image.fromarray(low).resize((90, 70), Image.Resampling.BICUBIC)
    ours = preprocess(torch.from_numpy(np.array(picture)).permute(2, 0, 1)[None].float() / 255)[0]
    assert ((ours - transform(picture)).abs() * preprocess.std[0] * 255).max() < 1.2


def test_an_image_tower_of_timm() -> None:
    open_clip = import_open_clip()
    vision = {"timm_model_name": "resnet10t", "timm_pool": "avg", "timm_proj": "linear", "image_size": 64}
    text = {"width": 16, "heads": 2, "layers": 1}
    clip = open_clip.CustomTextCLIP(embed_dim=16, vision_cfg=vision, text_cfg=text).eval()
    adapted = mn.adapt(mn.zero_shot(clip, NAMES), mn.MixNorm(m=0.2))
    assert len(adapted.report().replaced) == batchnorms(clip.visual) > 10
    with torch.no_grad():
        assert adapted(images(2, 50)).shape == (2, len(NAMES))
