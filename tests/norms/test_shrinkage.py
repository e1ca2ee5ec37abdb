from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from mixnorm import ShrinkNorm, adapt
from mixnorm.norms.shrinkage import content_part
from mixnorm.norms.stream_shift import Goal, StreamRule, goals, mixture
from tests.norms.test_mixnorm import batchnorm, layer_for, reference_features
from tests.reference.shrinkage import Layer, shrinknorm


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)


def reference_of(source: nn.BatchNorm2d, content: float, spread: float) -> Layer:
    statistics = [tensor.double().numpy() for tensor in (source.running_mean, source.running_var) if tensor is not None]
    affine = [parameter.detach().double().numpy() for parameter in (source.weight, source.bias)]
    return Layer(statistics[0], statistics[1], affine[0], affine[1], source.eps, content, spread)


@pytest.mark.parametrize("views", [0, 1])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"tau": 0.3},
        {"tau": 0.0},
        {"doubt": 0.0, "view_doubt": 0.0, "stream_doubt": 0.0, "alike": 2, "reach": 1},
        {"several_shifts": 20, "alike": 1, "tau": 0.3},
        {"several_shifts": 3, "alike": 1, "tau": 0.3, "stream_cap": 1, "stream_doubt": 3},
        {"several_shifts": 20, "alike": 1, "tau": 0.3, "stream_cap": 0.1, "far_doubt": 0.5},
        {"several_shifts": 20, "alike": 1, "tau": 0.3, "stream_cap": 0},
        {"first_content": 5, "first_spread": 0.01},
        {"several_shifts": 20, "alike": 1, "tau": 0.3, "stream_reach": 0.5},
        {"several_shifts": 20, "alike": 3, "tau": 0.01},
    ],
)
def test_layer_is_its_description(views: int, settings: dict[str, Any]) -> None:
    source = batchnorm()
    method = ShrinkNorm(views=views, **settings)
    reference = reference_of(source, method.first_content, method.first_spread)
    layer = layer_for(source, method)
    shift = torch.randn(1, 3, 1, 1)
    for _ in range(3):
        x = torch.randn(4 * (1 + views), 3, 4, 5) * 2 + torch.randn(4 * (1 + views), 3, 1, 1) + shift
        expected = shrinknorm(reference_features(x, 1 + views), reference, method)
        y = layer(x).detach().double().numpy().reshape(expected.shape)
        np.testing.assert_allclose(y, expected, rtol=1e-3, atol=1e-4)


def test_layers_share_what_they_show_of_content_and_how_far_they_trust_their_stream() -> None:
    layers = [batchnorm() for _ in range(4)]
    method = ShrinkNorm(tau=0.1, cap=1, reach=2, content=20, spread=20, stream_cap=0.6, alike=1, stream_reach=3)
    half = nn.MaxPool2d((2, 1))
    adapted = adapt(nn.Sequential(layers[0], half, *layers[1:]).eval(), method)
    first = reference_of(layers[0], method.first_content, method.first_spread)
    others = [reference_of(layer, method.content, method.spread) for layer in layers[1:]]
    for layer in others:
        layer.coarser = 2
    trusts = []
    # A stream is first looked at after eight samples, and then after twelve.
    for count in (8, 4):
        x = torch.randn(count, 3, 4, 5) + torch.randn(count, 3, 1, 1)
        expected = shrinknorm(reference_features(x, 1), first, method)
        expected = half(torch.from_numpy(expected).view(x.shape)).flatten(2).numpy()[None]
        for number, layer in enumerate(others):
            expected = shrinknorm(expected, layer, method, [first, *others[:number]])
        assert np.std([list(layer.parts.values()) for layer in others]) > 0.1
        trusts.append([layer.trust for layer in (first, *others)])
        y = adapted(x).detach().double().numpy().reshape(expected.shape)
        np.testing.assert_allclose(y, expected, rtol=1e-3, atol=1e-3)
    assert np.std(np.array(trusts)[1, ..., 0]) > 0.1


def test_clean_samples_keep_the_source() -> None:
    source = nn.BatchNorm2d(64).eval()
    layer = layer_for(source, ShrinkNorm())
    x = torch.randn(50, 64, 8, 8) + 0.1 * torch.randn(50, 64, 1, 1)
    torch.testing.assert_close(layer(x), source(x))


def test_shifted_stream_comes_back_to_the_source() -> None:
    source = nn.BatchNorm2d(64).eval()
    layer = layer_for(source, ShrinkNorm())
    clean = torch.randn(400, 64, 8, 8)
    shifted = 3 * clean + torch.randn(1, 64, 1, 1)
    for start in range(0, 400, 50):
        y = layer(shifted[start : start + 50])
    assert (y - clean[-50:]).abs().mean() < 0.15
    assert (source(shifted[-50:]) - clean[-50:]).abs().mean() > 1


def test_clean_sample_in_a_shifted_stream_is_not_moved_along() -> None:
    layer = layer_for(nn.BatchNorm2d(64).eval(), ShrinkNorm())
    clean = torch.randn(401, 64, 8, 8)
    layer(clean[:400] + 2 * torch.randn(1, 64, 1, 1))
    assert (layer(clean[400:]) - clean[400:]).abs().max() < 0.2


def test_what_several_shifts_share_is_taken_for_none_of_them() -> None:
    # Half of the stream is shifted by 4, the other half not at all: 2 on average, and never 2.
    source = nn.BatchNorm2d(64).eval()
    clean = torch.randn(400, 64, 8, 8)
    x = clean + 4 * (torch.arange(400) % 2).view(-1, 1, 1, 1)
    method = ShrinkNorm(cap=0.0, stream_doubt=1.0, stream_cap=1.0)
    layers = [layer_for(source, each) for each in (method, replace(method, several_shifts=100.0, one_shift=50.0))]
    for layer in layers:
        layer(x[:-2])
    careful, trusting = (layer(x[-2:]).mean((1, 2, 3)) for layer in layers)
    torch.testing.assert_close(careful, torch.tensor([0.0, 4.0]), atol=0.1, rtol=0)
    assert trusting[1] < 3


def test_constant_map_has_finite_answers() -> None:
    layer = layer_for(batchnorm(), ShrinkNorm())
    x = torch.zeros(3, 3, 4, 4)
    assert layer(x).isfinite().all()


def test_content_is_a_part_of_the_larger_of_two() -> None:
    beyond = torch.tensor([[[0.8, 0.8]], [[3.0, 3.0]]])
    size = beyond.square().mean(2, keepdim=True)
    assert content_part(size).item() == pytest.approx(1 / 9)
    assert content_part(size[:1].expand(2, -1, -1)).item() == pytest.approx(1 / 0.64)


def test_layer_that_shows_nothing_counts_as_twice_the_content() -> None:
    assert content_part(torch.zeros(2, 1, 1)).item() == 2


def test_mixture_has_the_moments_of_both_together() -> None:
    one, other = torch.randn(2, 300, dtype=torch.float64) * torch.tensor([[1.0], [3.0]]) + torch.tensor([[0.0], [2.0]])
    stats = [torch.stack([x.mean(), x.var(correction=0)]).view(2, 1, 1) for x in (one, other)]
    together = torch.cat([one, one, one, other])
    apart = (one.mean() - other.mean()).square().view(1, 1, 1)
    mixed = mixture(stats[0], stats[1], torch.full((2, 1, 1), 0.25, dtype=torch.float64), apart, 1.0).flatten()
    torch.testing.assert_close(mixed, torch.stack([together.mean(), together.var(correction=0)]))


@pytest.mark.parametrize("streams", [1, 2])
def test_no_sample_goes_further_than_its_stream_or_backwards(streams: int) -> None:
    offset = torch.tensor([[[1.0, 0.0]], [[0.0, 2.0]]]).expand(-1, streams, -1)
    along = offset / offset.square().sum(2, keepdim=True)
    goal = Goal(offset, offset, along.mT, torch.ones(1, streams, 1))
    torch.testing.assert_close(goal.part(5 * offset), torch.ones(2, streams, 1))
    torch.testing.assert_close(goal.part(0.25 * offset), torch.full((2, streams, 1), 0.25))
    assert goal.part(-offset).abs().max() == 0


def test_only_the_first_layer_has_its_own_content() -> None:
    # A difference of 0.5 deviations is content in the first layer, and shift in all others.
    method = ShrinkNorm(first_content=1.0, first_spread=1.0, content=0.01, spread=0.01, doubt=1.0, tau=0.0)
    model = nn.Sequential(nn.BatchNorm2d(8), nn.BatchNorm2d(8)).eval()
    x = torch.randn(4, 8, 16, 16) + 0.5
    torch.testing.assert_close(adapt(model, method, keep=["1"])(x), model(x))
    assert (adapt(model, method, keep=["0"])(x) - model(x)).abs().mean() > 0.1


def test_bake_carries_what_the_stream_has_in_common() -> None:
    model = nn.Sequential(nn.BatchNorm2d(64)).eval()
    adapted = adapt(model, ShrinkNorm())
    shifted = 2 * torch.randn(600, 64, 8, 8) + torch.randn(1, 64, 1, 1)
    adapted(shifted[:500])
    baked = adapted.bake()
    assert (baked(shifted[500:]) - adapted(shifted[500:])).abs().mean() < 0.1
    assert (model(shifted[500:]) - adapted(shifted[500:])).abs().mean() > 0.5


@pytest.mark.parametrize("stride", [1, 4])
def test_baked_layers_trust_their_stream_as_the_adapted_ones_do(stride: int) -> None:
    # The second layer trusts less than the first, and counts less the fewer positions it has.
    torch.manual_seed(1)  # With few draws what is left of the shift in the second layer is not all along the sample's.
    model = nn.Sequential(nn.BatchNorm2d(8), nn.MaxPool2d(1, stride), nn.BatchNorm2d(8)).eval()
    adapted = adapt(model, ShrinkNorm(cap=0.0))
    shift = torch.randn(1, 8, 1, 1)
    adapted(2 * torch.randn(200, 8, 8, 8) + torch.randn(200, 8, 1, 1) + 2 * shift)
    baked = adapted.bake()
    # A sample that has moved further than the stream goes all of the trusted way, and no more with `cap=0`.
    beyond = 20 * (torch.randn(1, 8, 8, 8) + shift)
    torch.testing.assert_close(baked(beyond), adapted(beyond), atol=1e-3, rtol=1e-3)


def test_layer_that_a_stream_never_reached_takes_nothing_from_the_others() -> None:
    class Gated(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.BatchNorm2d(8), nn.BatchNorm2d(8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = self.second(self.first(x) if len(x) > 1 else x)
            return y

    adapted = adapt(Gated().eval(), ShrinkNorm())
    adapted(torch.randn(50, 8, 8, 8), streams="both")
    x = 2 * torch.randn(200, 8, 8, 8) + 3
    for number in range(len(x)):
        adapted(x[number : number + 1], streams="second")
    first, second = adapted.bake("second").children()
    assert second(x).mean().abs() < 2
    torch.testing.assert_close(first(x), next(adapted.bake("both").children())(x))


def test_goals_are_the_same_for_all_layers_at_once_and_for_each() -> None:
    layers = [(3, 0.1, 0.2), (5, 2.0, 0.01), (1, 0.3, 1.0)]
    # Offsets, and squares and ratios.
    offsets = [torch.cat([torch.randn(2, 4, width), torch.rand(2, 4, width) + 1], dim=2) for width, _, _ in layers]
    # The mean square of a sample's offsets; the weight of all samples, none in the last stream, and their positions.
    weight = torch.tensor([0.5, 0.1, 1.0, 0.0])
    extra = [torch.stack([torch.rand(2, 4), torch.stack([weight, 16 * weight])], dim=2) for _ in layers]
    sums = [torch.cat([one * weight[:, None], other], dim=2) for one, other in zip(offsets, extra, strict=True)]
    rule = StreamRule(tau=0.01, several_shifts=20, alike=2)
    together = goals(torch.cat(sums, dim=2), layers, 0, rule)
    # The first layer trusts as it does alone, later ones as all do on average.
    alone = goals(sums[0], layers[:1], 0, rule)
    torch.testing.assert_close(together.at(0), alone.at(0))
    assert together.at(0).left_1S1.max() == 1
    assert together.at(0).left_1S1.min() < 1
    for number, (width, _, _) in enumerate(layers):
        goal = together.at(number)
        assert goal.shown_2SC.shape == (2, 4, width)
        torch.testing.assert_close(goal.offset_2SC[1], goal.shown_2SC[1].log())
        moved_2S = goal.offset_2SC.abs().amax(2) > 0
        torch.testing.assert_close((goal.offset_2SC * goal.along_2CS.mT).sum(2), moved_2S.float())
        assert moved_2S.any()
        assert goal.offset_2SC[:, 3].abs().max() == 0
