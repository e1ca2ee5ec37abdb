"""TTT: learning by telling how each sample has been turned, with a second head that was trained for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mixnorm.adaptation.methods.batch_statistics import BatchStatistics
from mixnorm.adaptation.methods.lesson import Lesson, Seen, affine_parameters, parameters_apart_from
from mixnorm.adaptation.methods.optimizer import Steps
from mixnorm.adaptation.methods.presets import TTT, TTT_STEPS, Preset
from mixnorm.adaptation.methods.settings import check_kind, check_name
from mixnorm.adaptation.taps import ROTATION_HEAD, Tap, find_head, find_module
from mixnorm.errors import InputError, ModelError, NothingToAdaptError, SettingError
from mixnorm.norms import AdaptiveNorm

TURNS = 4
"""The quarter turns of an image, the whole one included."""
OTHER_LAYER = "name the layer whose output it was trained on with layer=..."


@dataclass(frozen=True, kw_only=True)
class Ttt(BatchStatistics):
    """Normalise with batch statistics, and learn after each prediction to tell how the samples have been turned.

    The model must hold a rotation head: a module that its normal answer does not use, and that was trained with it to
    tell the four quarter turns of an image from the features of some layer.
    """

    head: str = ROTATION_HEAD
    """The module that makes four logits of the features."""
    layer: str | None = None
    """The layer whose output are the features; None takes what goes into the last linear layer."""
    parameters: Literal["affine", "features"] = "affine"
    """What is learned: the affine parameters of BatchNorm layers, or everything before the features."""
    learn: Steps = None  # type: ignore[assignment]
    """How it is learned; None takes Adam with `lr=1e-3` for affine parameters, SGD with `lr=1e-3` for features."""

    presets: ClassVar[tuple[Preset, ...]] = TTT
    tried_first: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.head is None:
            raise SettingError("head must be the name of a rotation head in the model, got None")
        check_name("head", self.head)
        check_name("layer", self.layer)
        if self.parameters not in ("affine", "features"):
            raise SettingError(f"parameters must be 'affine' or 'features', got {self.parameters!r}")
        check_kind("learn", self.learn, Steps)
        if self.learn is None:
            object.__setattr__(self, "learn", TTT_STEPS[self.parameters])

    def lesson(self, model: nn.Module, layers: Sequence[AdaptiveNorm]) -> "TttLesson":
        """Find the rotation head and what it reads, and say what is learned."""
        return TttLesson(model, self, layers)


class TttLesson(Lesson):
    """Affine parameters or all those before the features, and the rotation head's cross-entropy."""

    needs_answer = False

    def __init__(self, model: nn.Module, method: Ttt, layers: Sequence[AdaptiveNorm]) -> None:
        super().__init__(model, method.learn)
        self._name, self._head = _rotation_head(model, method.head)
        self._affine = list(layers) if method.parameters == "affine" else None
        name = method.layer or find_head(model, apart_from=(ROTATION_HEAD, self._name))
        self._layer, module = find_module(model, name, "layer")
        self.tap = Tap(module, self._layer, into=method.layer is None)
        self._apart = [self._head, module] if method.layer is None else [self._head]
        if method.layer is None:
            self._check_takes(module)
        if not self.parameters():
            raise NothingToAdaptError(f"there are no parameters to learn with {method}; use parameters='features'")

    def check(self, images: Tensor) -> None:
        """Refuse images that cannot be turned."""
        check_square(images)

    def parameters(self) -> list[nn.Parameter]:
        """List the parameters that may move; those that the features do not depend on never will."""
        if self._affine is None:
            return parameters_apart_from(self.model, *self._apart)
        heads_own = {id(parameter) for parameter in self._head.parameters()}
        return [parameter for parameter in affine_parameters(self._affine) if id(parameter) not in heads_own]

    def loss(self, seen: Seen) -> Tensor:
        """Average the cross-entropy of the rotation head over all turns of the samples."""
        logits = self._turn_logits(seen.read(turned(seen.images), TURNS))
        answers = torch.arange(TURNS, device=logits.device).repeat_interleave(len(seen.images))
        good = logits.isfinite().all(1)
        return F.cross_entropy(logits[good].float(), answers[good])

    def _turn_logits(self, features: Tensor) -> Tensor:
        try:
            logits = self._head(features)
        except (RuntimeError, ValueError, IndexError) as error:
            raise ModelError(
                f"the rotation head {self._name!r} does not take the features at layer {self._layer!r}, "
                f"of shape {tuple(features.shape)}: {error}; {OTHER_LAYER}"
            ) from error
        if not isinstance(logits, Tensor) or logits.shape != (len(features), TURNS):
            shape = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
            raise ModelError(
                f"the rotation head {self._name!r} must answer with {TURNS} logits for each row, "
                f"{(len(features), TURNS)}, and answers with {shape}"
            )
        return logits

    def _check_takes(self, classifier: nn.Module) -> None:
        """Refuse a head that does not fit what goes into the classifier, before any image has come."""
        if not isinstance(classifier, nn.Linear):
            return
        width, weight = classifier.in_features, classifier.weight
        if isinstance(self._head, nn.Linear) and self._head.in_features != width:
            raise ModelError(
                f"the rotation head {self._name!r} takes {self._head.in_features} features, and layer {self._layer!r} "
                f"gets {width}; {OTHER_LAYER}"
            )
        # Replaced layers only run as part of a batch: a head that holds some is tried by the first one.
        if not any(isinstance(module, AdaptiveNorm) for module in self._head.modules()):
            with torch.no_grad():
                self._turn_logits(torch.zeros(2, width, dtype=weight.dtype, device=weight.device))


def _rotation_head(model: nn.Module, name: str) -> tuple[str, nn.Module]:
    name, head = find_module(model, name, "rotation head")
    widths = [module.out_features for module in head.modules() if isinstance(module, nn.Linear)]
    if widths and widths[-1] != TURNS:
        raise ModelError(
            f"the rotation head {name!r} must answer with {TURNS} logits, one for each quarter turn; its last linear "
            f"layer has {widths[-1]}"
        )
    return name, head


def turned(images: Tensor) -> Tensor:
    """Turn each image by 0, 90, 180 and 270 degrees, (B, C, S, S) to (4 * B, C, S, S), turn by turn.

    >>> turned(torch.tensor([[[[1, 2], [3, 4]]]]))[1]
    tensor([[[2, 4],
             [1, 3]]])
    """
    check_square(images)
    return torch.cat([torch.rot90(images, turns, (2, 3)) for turns in range(TURNS)])


def check_square(images: Tensor) -> None:
    """Refuse images that are not square."""
    if images.dim() != 4 or images.shape[2] != images.shape[3]:
        raise InputError(
            f"TTT turns square images (batch, channels, side, side), got shape {tuple(images.shape)}; crop or pad them"
        )
