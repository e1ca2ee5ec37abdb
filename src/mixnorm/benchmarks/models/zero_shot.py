"""Zero-shot classification: a classifier out of a CLIP model and the names of classes.

C classes, F features, L tokens, N images, T templates.
"""

import copy
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from mixnorm.benchmarks.models.clip_towers import Tokenizer, Towers, towers_of
from mixnorm.benchmarks.models.evaluating import evaluating
from mixnorm.benchmarks.models.preprocessing import Preprocess
from mixnorm.benchmarks.models.prompts import (
    GENERAL,
    checked_names,
    checked_templates,
    sentences,
    spoken_names,
    templates_for,
)
from mixnorm.errors import SettingError

SENTENCES_AT_ONCE = 256


class ZeroShotClassifier(nn.Module):
    """The image tower of a CLIP model before a layer of text features; made by `zero_shot`.

    It takes RGB images as floats in [0, 1] of any size and gives logits. The image tower keeps its name, `visual`. The
    text tower is not in it: what that said about the classes is the buffer `text_FC`, times the model's logit scale.
    """

    text_FC: Tensor
    bias: Tensor | None

    def __init__(self, preprocess: Preprocess, visual: nn.Module, text_FC: Tensor, bias: Tensor | None = None) -> None:
        super().__init__()
        self.preprocess = preprocess
        self.visual = visual
        self.class_names: tuple[str, ...] = ()
        self.templates: tuple[str, ...] = ()
        self.register_buffer("text_FC", text_FC)
        self.register_buffer("bias", bias)

    def forward(self, images: Tensor) -> Tensor:
        """Give each image (N, 3, H, W) a logit for each class."""
        features_NF = normalize(self.visual(self.preprocess(images)), dim=-1)
        logits_NC = features_NF @ self.text_FC
        return logits_NC if self.bias is None else logits_NC + self.bias

    def extra_repr(self) -> str:
        """Show what it tells apart where the model is printed."""
        return f"{len(self.class_names)} classes ({', '.join(self.class_names[:3])}, ...)"


def zero_shot(
    clip_model: nn.Module,
    class_names: Iterable[str],
    templates: Iterable[str] = GENERAL,
    *,
    tokenizer: Tokenizer | None = None,
) -> ZeroShotClassifier:
    """Make a classifier, images in and logits out, from a CLIP model with BatchNorm in its image tower.

    The model is one of open_clip, such as RN50, or `load_model("clip-rn50")`; it is left as it is. Each class name is
    put in the place of `{}` in each template, and what the text tower makes of them is averaged, once, here. Adapting
    the classifier replaces all BatchNorm layers of the image tower. A text tower with a vocabulary of its own needs its
    `tokenizer`.

    >>> from mixnorm.benchmarks.models.from_open_clip import import_open_clip
    >>> vision, text = {"layers": [1, 1, 1, 1], "width": 8, "image_size": 32}, {"width": 16, "heads": 2, "layers": 1}
    >>> small = import_open_clip().CLIP(embed_dim=16, vision_cfg=vision, text_cfg=text)
    >>> classifier = zero_shot(small, ["cat", "dog"], ["a photo of a {}.", "a drawing of a {}."])
    >>> classifier(torch.rand(5, 3, 40, 48)).shape
    torch.Size([5, 2])
    """
    names, texts = checked_names(class_names), checked_templates(templates)
    towers = towers_of(clip_model, tokenizer)
    text_FC, bias = _text_features(towers, names, texts), getattr(towers.network, "logit_bias", None)
    # A copy, so that what is done to the classifier is not done to the CLIP model.
    visual = copy.deepcopy(towers.visual)
    weights = next(visual.parameters())
    classifier = ZeroShotClassifier(
        Preprocess(towers.preprocessing).to(weights.device, weights.dtype),
        visual,
        text_FC.to(weights.device, weights.dtype),
        None if bias is None else bias.detach().to(weights.device, weights.dtype, copy=True),
    )
    classifier.class_names, classifier.templates = names, texts
    return classifier.eval()


def zero_shot_for(clip_model: nn.Module, data: str, class_names: Sequence[str]) -> ZeroShotClassifier:
    """Make the classifier for the classes of a data set, with the templates that are written for it."""
    return zero_shot(clip_model, spoken_names(data, class_names), templates_for(data))


def _text_features(towers: Towers, names: Sequence[str], templates: Sequence[str]) -> Tensor:
    """Average what the templates say about each class: a mean of unit vectors, at unit length, times the scale."""
    network = towers.network
    tokens = towers.tokenizer(sentences(names, templates))
    _refuse_same(tokens.view(len(templates), len(names), -1), names)
    with evaluating(network):
        parts = torch.split(tokens.to(network.logit_scale.device), SENTENCES_AT_ONCE)
        features = torch.cat([_unit(network.encode_text(part)) for part in parts])
        mean_CF = features.view(len(templates), len(names), -1).mean(0)
        text_CF: Tensor = network.logit_scale.to(mean_CF.dtype).exp() * _unit(mean_CF)
    return text_CF.T.contiguous()


def _unit(features: Tensor) -> Tensor:
    """Scale to unit length; half precision is too coarse for means of features."""
    return normalize(features.to(torch.promote_types(features.dtype, torch.float32)), dim=-1)


def _refuse_same(tokens_TCL: Tensor, names: Sequence[str]) -> None:
    """Refuse names that look the same to the text tower, such as those behind the end of too long a template."""
    seen: dict[tuple[int, ...], str] = {}
    for name, tokens in zip(names, tokens_TCL.transpose(0, 1).flatten(1).tolist(), strict=True):
        other = seen.setdefault(tuple(tokens), name)
        if other != name:
            raise SettingError(
                f"{other!r} and {name!r} are the same to the text tower, which reads {tokens_TCL.shape[-1]} tokens of "
                "a sentence; give shorter templates, or names that differ in more than case and spacing"
            )
