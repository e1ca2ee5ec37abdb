"""Layers ask for no value: on an accelerator each question would wait for all the work that is under way."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from mixnorm.adaptation import BatchStatistics, Entropy, Method, MixNorm, MixNormBN, ShrinkNorm, Tent, adapt
from mixnorm.adaptation.sample_models import SAMPLE_MODELS

METHODS = [
    MixNorm(),
    MixNorm(views=0, tau=0.0),
    MixNormBN(),
    BatchStatistics(),
    Tent(),
    MixNorm(learn=Entropy()),
    ShrinkNorm(),
    ShrinkNorm(views=1),
]
WAITING = ("_local_scalar_dense", "nonzero", "masked_select", "unique", "equal", "is_nonzero", "_to_copy")


class NoQuestions(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Refuses what needs a tensor's values to go on."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        if name in WAITING:
            raise AssertionError(f"{name} asks for values")
        return func(*args, **(kwargs or {}))


class Watched(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Any:
        with NoQuestions():  # type: ignore[no-untyped-call]
            return self.inner(x)


def test_the_guard_finds_a_question() -> None:
    class Asking(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x if float(x.sum()) > 0 else -x

    with pytest.raises(AssertionError, match="_local_scalar_dense"):
        Watched(Asking())(torch.ones(2))


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("streams", [None, ["a", "b", "a", "c"]])
def test_layers_ask_for_no_value(method: Method, streams: list[str] | None) -> None:
    adapted = adapt(Watched(SAMPLE_MODELS[0].model()), method)
    for _ in range(3):
        adapted(torch.randn(4, 3, 10, 10), streams=streams)
    assert "replaced" in {layer.status for layer in adapted.report().layers}
