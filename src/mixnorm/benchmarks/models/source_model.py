"""The record of one source model: how it is built, where its weights are, what accuracy is published for it."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from mixnorm.benchmarks.models.preprocessing import Preprocess, Preprocessed, Preprocessing
from mixnorm.benchmarks.models.weights_file import ShippedWeights, WeightsFile


@dataclass(frozen=True, kw_only=True)
class SourceModel:
    """A model by name; `accuracy` is the published share of right answers on the clean test set of `dataset`.

    It was measured with the shorter side of images scaled to `resize` and their centre of `crop` pixels.
    `network` makes the network with random weights, `kind` puts the preprocessing before it, and parameters of a
    checkpoint whose names start with one of `unused_keys` are left out. `finish` changes the network in place after its
    weights are loaded.
    """

    name: str
    network: Callable[[], nn.Module]
    preprocessing: Preprocessing
    weights: WeightsFile | ShippedWeights | None
    dataset: str | None = None
    accuracy: float | None = None
    resize: int | None = None
    crop: int | None = None
    kind: type[Preprocessed] = Preprocessed
    unused_keys: tuple[str, ...] = ()
    finish: Callable[[nn.Module], nn.Module] | None = None

    def build(self) -> Preprocessed:
        """Make the model with random weights."""
        return self.kind(Preprocess(self.preprocessing), self.network())
