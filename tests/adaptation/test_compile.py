import copy
import pickle
from collections.abc import Callable, Iterator
from functools import partial

import pytest
import torch
from torch import nn
from torch._dynamo.utils import counters

from mixnorm.adaptation import (
    AdaptedModel,
    BatchStatistics,
    Entropy,
    Method,
    MixNorm,
    MixNormBN,
    Shot,
    ShrinkNorm,
    Steps,
    Tent,
    Ttt,
    adapt,
)
from mixnorm.adaptation.sample_models import SAMPLE_MODELS

METHODS = [
    MixNorm(m=0.2, tau=0.01, views=1),
    MixNorm(m=0.2, tau=0.0, views=0),
    MixNorm(m=0.2, tau=0.01, views=0, learn=Entropy()),
    MixNormBN(m=0.2),
    BatchStatistics(),
    Tent(),
    ShrinkNorm(tau=0.01),
    ShrinkNorm(tau=0.01, views=1),
]
TAPPED = [Shot(learn=Steps(lr=0.1)), Ttt(learn=Steps(lr=0.1)), Ttt(parameters="features", learn=Steps(lr=0.1))]
SIZES = (5, 5, 3, 12, 7, 1, 9, 1)


@pytest.fixture(autouse=True)
def whole_graphs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Compile without making machine code, and refuse a model that cannot be compiled in one piece."""
    torch._dynamo.reset()
    counters.clear()
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="aot_eager", fullgraph=True))
    yield
    torch._dynamo.reset()


def graphs() -> int:
    return counters["stats"]["unique_graphs"]


def batches(sizes: tuple[int, ...] = SIZES) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [2 * torch.randn(size, 3, 10, 10, generator=generator) + 1 for size in sizes]


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_a_compiled_model_is_the_same_and_is_compiled_once(method: Method) -> None:
    model = SAMPLE_MODELS[0].model()
    compiled, eager = adapt(model, method, compile=True), adapt(model, method)
    for batch in batches():
        torch.testing.assert_close(compiled(batch), eager(batch), rtol=1e-4, atol=1e-5)
    same_state(compiled, eager)
    # One graph for a single sample, one for several, and torch may find once that a size it took for fixed is not.
    assert 1 <= graphs() <= 3
    before, snapshot = graphs(), compiled.snapshot()
    for batch in batches((2, 11, 1)):
        compiled(batch)
    compiled.reset()
    compiled(batches()[0])
    compiled.restore(snapshot)
    compiled(batches()[0])
    with compiled.paused():
        compiled(batches()[0])
    assert graphs() == before


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_shapes_stay_plain_however_deep_the_model(method: Method, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: list[int] = []

    def keep(graph: torch.fx.GraphModule, _: object) -> Callable[..., object]:
        values = (node.meta.get("example_value") for node in graph.graph.nodes)
        lengths.extend(len(str(value.shape)) for value in values if isinstance(value, torch.Tensor))
        return graph.forward

    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend=keep, fullgraph=True))
    adapt(nn.Sequential(*(nn.BatchNorm2d(3) for _ in range(5))).eval(), method, compile=True)(batches()[0])
    # A compiler that had to find out a number of rows would have its formula in the shapes, longer with every layer.
    assert 0 < max(lengths) < 80


def same_state(one: AdaptedModel, other: AdaptedModel) -> None:
    mine, theirs = one.snapshot().tensors, other.snapshot().tensors
    assert mine.keys() == theirs.keys()
    for key, tensor in theirs.items():
        torch.testing.assert_close(mine[key], tensor, rtol=1e-3, atol=1e-4)


# The compiler looks whether the learned values have a gradient, and hides the warning where it is no error.
@pytest.mark.filterwarnings("ignore:The .grad attribute")
@pytest.mark.parametrize("method", TAPPED, ids=str)
def test_features_are_read_inside_a_compiled_model(method: Method) -> None:
    model = next(sample for sample in SAMPLE_MODELS if sample.name == "two heads").model()
    compiled, eager = adapt(model, method, compile=True), adapt(model, method)
    for batch in batches((5, 5, 3, 12)):
        torch.testing.assert_close(compiled(batch), eager(batch), rtol=1e-4, atol=1e-5)
    same_state(compiled, eager)
    before = graphs()
    for batch in batches((7, 2, 11)):
        compiled(batch)
    assert graphs() == before


def test_a_layer_in_two_places_is_compiled() -> None:
    model = next(sample for sample in SAMPLE_MODELS if sample.name == "shared").model()
    compiled, eager = adapt(model, METHODS[0], compile=True), adapt(model, METHODS[0])
    for batch in batches((5, 5, 3)):
        torch.testing.assert_close(compiled(batch), eager(batch), rtol=1e-4, atol=1e-5)
    same_state(compiled, eager)


def test_streams_compile_once_whatever_their_mixture() -> None:
    adapted = adapt(SAMPLE_MODELS[0].model(), MixNorm(m=0.2, tau=0.01, views=0), compile=True)
    eager = adapt(SAMPLE_MODELS[0].model(), MixNorm(m=0.2, tau=0.01, views=0))
    mixtures = [list("abcab"), list("abcde"), list("fa"), list("aabbccd"), list("cab")]
    seen = []
    for names in mixtures:
        (batch,) = batches((len(names),))
        torch.testing.assert_close(adapted(batch, streams=names), eager(batch, streams=names), rtol=1e-4, atol=1e-5)
        seen.append(graphs())
    assert seen[-1] <= 3
    assert seen[-1] == seen[-2]


def test_paused_is_the_source_bit_for_bit() -> None:
    model = SAMPLE_MODELS[0].model()
    adapted = adapt(model, compile=True)
    adapted(batches()[0])
    with adapted.paused():
        assert torch.equal(adapted(batches()[1]), model(batches()[1]))


def test_copies_go_on() -> None:
    adapted = adapt(SAMPLE_MODELS[0].model(), compile=True)
    adapted(batches()[0])
    twins = [copy.deepcopy(adapted), pickle.loads(pickle.dumps(adapted))]
    expected = adapted(batches()[1])
    for twin in twins:
        torch.testing.assert_close(twin(batches()[1]), expected, rtol=1e-4, atol=1e-5)


def test_a_sample_that_is_not_finite_is_harmless() -> None:
    adapted = adapt(SAMPLE_MODELS[0].model(), MixNorm(views=0), compile=True)
    batch = batches()[0]
    batch[1, 0, 0, 0] = torch.nan
    adapted(batch)
    assert adapted.rejected == 1


def test_an_adapted_model_that_is_baked_is_not_compiled() -> None:
    adapted = adapt(SAMPLE_MODELS[0].model(), MixNorm(views=0), compile=True)
    adapted(batches()[0])
    assert not any(isinstance(module, torch._dynamo.OptimizedModule) for module in adapted.bake().modules())
    assert isinstance(adapted.bake(), nn.Sequential)


@torch._dynamo.config.patch(recompile_limit=3)
def test_models_do_not_use_up_what_torch_compiles_for_one_piece_of_code() -> None:
    method = MixNorm(m=0.2, views=0)
    for model in [SAMPLE_MODELS[0].model() for _ in range(3)]:
        compiled, eager = adapt(model, method, compile=True), adapt(model, method)
        for batch in batches((5, 1, 4)):
            torch.testing.assert_close(compiled(batch), eager(batch), rtol=1e-4, atol=1e-5)
    assert 6 <= graphs() <= 9


def test_a_compiled_model_reports_which_layers_keep_the_source() -> None:
    model = nn.Sequential(nn.BatchNorm2d(3), nn.AdaptiveAvgPool2d(1), nn.BatchNorm2d(3), nn.Flatten())
    compiled = adapt(model, MixNorm(views=0), compile=True)
    assert "has not run yet" in compiled.report().layers[0].reason
    compiled(batches()[0])
    first, second = compiled.report().layers
    assert first.reason == "adapts"
    assert second.reason.startswith("keeps the source statistics")
