"""What every method is: a frozen record of its settings that goes to and from plain data."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, Self

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from mixnorm.adaptation.methods.entropy import Entropy, EntropyLesson
from mixnorm.adaptation.methods.lesson import Lesson
from mixnorm.adaptation.methods.optimizer import Optimizer
from mixnorm.adaptation.methods.presets import Preset
from mixnorm.errors import SettingError, unknown_name
from mixnorm.norms import AdaptiveNorm, Context, Plan, Rows


@dataclass(frozen=True, kw_only=True)
class Method:
    """The settings of a method, validated when made."""

    registry: ClassVar[dict[str, type["Method"]]] = {}
    presets: ClassVar[tuple[Preset, ...]] = ()
    """The published settings, each with the table it comes from."""
    per_sample: ClassVar[bool] = True
    """Whether each sample has statistics of its own, rather than its batch's."""
    bakeable: ClassVar[bool] = True
    """Whether an ordinary BatchNorm can carry what the method has estimated."""
    adapts: ClassVar[bool] = True
    """Whether the method changes anything at all."""
    tried_first: ClassVar[bool] = False
    """Whether a batch has to show that it fits model and images, so that many runs had better begin with a trial."""
    averages: ClassVar[bool] = False
    """Whether views are mirror images with statistics of their own, and all answers are averaged."""

    def __init_subclass__(cls) -> None:
        Method.registry[cls.__name__] = cls

    @property
    def name(self) -> str:
        """The name of the method, as in `mixnorm.MixNorm`."""
        return type(self).__name__

    @property
    def augmentations(self) -> int:
        """How many augmented views of each sample go through the model beside it."""
        return int(getattr(self, "views", 0))

    @property
    def learning(self) -> Optimizer | None:
        """How parameters are learned, if at all."""
        return getattr(self, "learn", None)

    @property
    def batch_invariant(self) -> bool:
        """Whether the answers do not depend on how a stream is cut into batches."""
        return self.per_sample and self.learning is None

    def replacement(self, batchnorm: _BatchNorm, context: Context) -> AdaptiveNorm:
        """Make the layer that takes the place of a BatchNorm."""
        raise SettingError(f"{self.name} replaces no layer")

    def plan(self, rows: Rows, device: torch.device, update: bool) -> Plan:
        """Make the plan of a forward pass for the method's layers."""
        raise SettingError(f"{self.name} has no plan")

    def until_look(self, seen: int) -> float:
        """Say how many samples are to come before a stream that has had so many is looked at; it may never be."""
        return inf

    def lesson(self, model: nn.Module, layers: Sequence[AdaptiveNorm]) -> Lesson | None:
        """Say what is learned on a model whose layers have been replaced, if anything is."""
        return None if self.learning is None else EntropyLesson(model, self.learning, layers)

    @classmethod
    def preset(cls, name: str) -> Self:
        """Make the method with published settings."""
        by_name = {preset.name: preset for preset in cls.presets}
        if name not in by_name:
            raise unknown_name(f"preset of {cls.__name__}", name, by_name)
        return cls(**by_name[name].settings)

    def to_dict(self) -> dict[str, Any]:
        """Write the settings as plain data that JSON can hold."""
        return {"method": self.name, **dataclasses.asdict(self)}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> "Method":
        """Make a method from what `to_dict` wrote."""
        if not isinstance(data, Mapping):
            raise SettingError(f"the settings of a method must be a dictionary, got {data!r}")
        settings = dict(data)
        name = settings.pop("method", None)
        if name not in Method.registry:
            raise unknown_name("method", name, Method.registry)
        method = Method.registry[name]
        fields = [field.name for field in dataclasses.fields(method)]
        for setting in settings:
            if setting not in fields:
                raise unknown_name(f"setting of {name}", setting, fields)
        if isinstance(settings.get("learn"), Mapping):
            given = settings.pop("learn")
            settings["learn"] = (method(**settings).learning or Entropy()).changed(given)
        return method(**settings)
