"""What a zero-shot classifier is made from: the towers of a CLIP model, its tokenizer and its preprocessing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from mixnorm.benchmarks.models.from_open_clip import ClipModel, import_open_clip
from mixnorm.benchmarks.models.preprocessing import Preprocessing
from mixnorm.errors import ModelError, NothingToAdaptError, SettingError

Tokenizer = Callable[[list[str]], Tensor]
CLIP_VOCABULARY = 49408
"""The number of tokens that CLIP's own tokenizer knows."""


@dataclass(frozen=True, kw_only=True)
class Towers:
    """The parts of a CLIP model, as they are in it."""

    network: Any
    """An open_clip model: `visual`, `encode_text`, `logit_scale`, and `logit_bias` or none."""
    tokenizer: Tokenizer
    preprocessing: Preprocessing

    @property
    def visual(self) -> nn.Module:
        """The image tower."""
        visual: nn.Module = self.network.visual
        return visual


def is_clip(model: object) -> bool:
    """Whether a model is a CLIP model: mixnorm's, or one of open_clip."""
    return not _lacking(_network(model))


def towers_of(model: object, tokenizer: Tokenizer | None = None) -> Towers:
    """Take a CLIP model apart, or say why it cannot be made a classifier that adapts."""
    network = _network(model)
    if lacking := _lacking(network):
        raise ModelError(
            f"{type(model).__name__} is no CLIP model: it has no {', '.join(lacking)}; give a model of open_clip, "
            "such as open_clip.create_model('RN50', pretrained='openai'), or mixnorm.load_model('clip-rn50')"
        )
    _refuse_without_batchnorm(network)
    if tokenizer is not None and not callable(tokenizer):
        raise SettingError(f"tokenizer must be a function from texts to tokens, got {tokenizer!r}")
    if isinstance(model, ClipModel):
        return Towers(network=network, tokenizer=tokenizer or model.tokenizer, preprocessing=model.preprocess.settings)
    return Towers(network=network, tokenizer=tokenizer or _tokenizer(network), preprocessing=_preprocessing(network))


def _network(model: object) -> Any:
    return model.network if isinstance(model, ClipModel) else model


def _lacking(network: Any) -> list[str]:
    """List the parts of a CLIP model that something does not have."""
    has = {
        "visual": isinstance(getattr(network, "visual", None), nn.Module),
        "encode_text": callable(getattr(network, "encode_text", None)),
        "logit_scale": isinstance(getattr(network, "logit_scale", None), Tensor),
    }
    return [part for part, there in has.items() if not there]


def _refuse_without_batchnorm(network: Any) -> None:
    if not any(name.endswith("running_mean") for name, _ in network.visual.named_buffers()):
        raise NothingToAdaptError(
            f"the image tower of this {type(network).__name__}, a {type(network.visual).__name__}, has no BatchNorm "
            "layer, so there is nothing to adapt; vision transformers have none. Use a CLIP model with a ResNet: "
            "RN50 or RN101, such as open_clip.create_model('RN50', pretrained='openai')"
        )


def _tokenizer(network: Any) -> Tokenizer:
    """Make CLIP's own tokenizer; a text tower with another vocabulary needs its own."""
    vocabulary = getattr(network, "vocab_size", None)
    if vocabulary != CLIP_VOCABULARY:
        raise SettingError(
            f"the text tower of this {type(network).__name__} has a vocabulary of {vocabulary} and not CLIP's "
            f"{CLIP_VOCABULARY}; give its tokenizer, such as tokenizer=open_clip.get_tokenizer(NAME)"
        )
    tokenizer: Tokenizer = import_open_clip().tokenizer.SimpleTokenizer(context_length=network.context_length)
    return tokenizer


def _preprocessing(network: Any) -> Preprocessing:
    """Read what open_clip's own transform for this model would do to an image."""
    open_clip = import_open_clip()
    said = open_clip.transform.PreprocessCfg(**open_clip.get_model_preprocess_cfg(network))
    if said.mode != "RGB" or said.resize_mode != "shortest" or said.interpolation == "random":
        raise ModelError(
            f"the model wants its images prepared as {said}; mixnorm knows RGB images whose shorter side is scaled, "
            "bicubic or bilinear. Set visual.preprocess_cfg to what comes nearest"
        )
    mean, std = (tuple(map(float, values)) for values in (said.mean, said.std))
    return Preprocessing(mean=mean, std=std, size=_side(said.size), interpolation=said.interpolation)  # type: ignore[arg-type]


def _side(size: int | Sequence[int]) -> int:
    sides = {size} if isinstance(size, int) else set(size)
    if len(sides) != 1:
        raise ModelError(
            f"the model takes images of {' x '.join(map(str, sorted(sides)))} px; mixnorm knows squares alone"
        )
    return sides.pop()
