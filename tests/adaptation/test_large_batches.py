"""Large batches run part after part: the same answers and state, and all of it or nothing."""

from functools import partial

import pytest
import torch
from torch import Tensor, nn

from mixnorm.adaptation import AdaptedModel, BatchStatistics, Method, MixNorm, MixNormBN, ShrinkNorm, Tent, adapt
from mixnorm.adaptation import adapted_model as module

VALUES = 4 * 4 * 4
"""The values of the largest map of an image."""
INVARIANT = [MixNorm(tau=0.2, views=0), MixNorm(m=0.3, tau=0.2, views=1), ShrinkNorm(tau=0.1), ShrinkNorm(views=1)]


class Counting(nn.Module):
    """Counts the rows of each pass, and fails in one of them if told so."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Tanh(), nn.BatchNorm2d(4))
        self.rows: list[int] = []
        self.fails_in: int | None = None

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        self.rows.append(len(x))
        if len(self.rows) == self.fails_in:
            raise KeyboardInterrupt
        maps = self.layers(x)
        return {"maps": maps, "logits": maps.flatten(1)}


def source() -> Counting:
    torch.manual_seed(0)
    return Counting().eval()


def inside(adapted: AdaptedModel) -> Counting:
    assert isinstance(adapted.model, Counting)
    return adapted.model


def images(count: int) -> Tensor:
    return 2 * torch.randn(count, 3, 6, 6, generator=torch.Generator().manual_seed(1)) + 1


@pytest.fixture
def four_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "VALUES_AT_ONCE", 4 * VALUES / torch.get_num_threads())


@pytest.mark.usefixtures("four_at_once")
@pytest.mark.parametrize("method", INVARIANT, ids=str)
@pytest.mark.parametrize("streams", [None, ["a", "b", "a", "c", "b", "b", "a", "c", "a", "d", "b"]])
def test_parts_are_the_same_as_the_whole(
    method: Method, streams: list[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = images(11)
    x[6, 0, 0, 0] = torch.nan
    parts = adapt(source(), method)
    answer = parts(x, streams=streams)
    assert max(inside(parts).rows) <= 4
    monkeypatch.setattr(module, "VALUES_AT_ONCE", 2**30)
    whole = adapt(source(), method)
    expected = whole(x, streams=streams)
    # Streams are looked at after eight samples, which no pass goes beyond.
    together = 7 if streams is None and method.until_look(0) == 8 else 10
    assert max(inside(whole).rows) == together * (1 + method.augmentations)
    torch.testing.assert_close(answer, expected, rtol=1e-4, atol=1e-5, equal_nan=True)
    assert parts.rejected == whole.rejected == 1
    mine, theirs = parts.snapshot(), whole.snapshot()
    assert mine.header == theirs.header
    torch.testing.assert_close(mine.tensors, theirs.tensors, rtol=1e-5, atol=1e-6)


@pytest.mark.usefixtures("four_at_once")
def test_parts_are_as_even_as_they_can_be() -> None:
    adapted = adapt(source(), MixNorm(views=0))
    adapted(images(9))
    assert inside(adapted).rows == [2, 3, 3, 3]


@pytest.mark.usefixtures("four_at_once")
@pytest.mark.parametrize("method", INVARIANT, ids=str)
def test_an_interruption_between_parts_changes_nothing(method: Method) -> None:
    adapted = adapt(source(), method)
    adapted(images(2), streams="a")
    before = adapted.snapshot()
    inside(adapted).fails_in = len(inside(adapted).rows) + 3
    with pytest.raises(KeyboardInterrupt):
        adapted(images(11), streams=[*"aabbccddeef"])
    after = adapted.snapshot()
    assert after.header == before.header
    torch.testing.assert_close(after.tensors, before.tensors, rtol=0, atol=0)


@pytest.mark.usefixtures("four_at_once")
@pytest.mark.parametrize("method", [MixNormBN(views=0), BatchStatistics(), Tent()], ids=str)
def test_batches_that_are_normalised_together_stay_whole(method: Method) -> None:
    adapted = adapt(source(), method)
    adapted(images(9))
    assert inside(adapted).rows == [9]


def test_small_batches_need_no_look_at_the_maps() -> None:
    adapted = adapt(source(), MixNorm(views=0))
    adapted(images(20))
    assert inside(adapted).rows == [20]


@pytest.mark.usefixtures("four_at_once")
def test_a_sample_that_is_larger_than_that_runs_alone() -> None:
    adapted = adapt(source(), MixNorm(views=0))
    adapted(torch.rand(3, 3, 40, 40))
    assert inside(adapted).rows == [2, 1, 1, 1]


@pytest.mark.usefixtures("four_at_once")
def test_two_images_of_each_size_show_how_large_its_maps_are() -> None:
    adapted = adapt(source(), MixNorm(views=0))
    adapted(images(10))
    adapted(images(8))
    assert inside(adapted).rows == [2, 4, 4, 2, 4, 4]
    # Maps of 7 x 7 positions are three times as large.
    adapted(torch.rand(4, 3, 9, 9))
    assert inside(adapted).rows[6:] == [2, 2, 2]


@pytest.mark.usefixtures("four_at_once")
@pytest.mark.parametrize("how", [False, True])
def test_a_batch_runs_in_the_same_parts_whatever_came_before(how: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    torch._dynamo.reset()
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="aot_eager"))
    adapted = adapt(source().layers, MixNorm(tau=0.2, views=0), compile=how)
    first = adapted(images(11))
    adapted(torch.rand(5, 3, 12, 12))
    adapted.reset()
    assert torch.equal(adapted(images(11)), first)
    adapted.reset()
    x = images(11)
    x[:4] = torch.nan
    answer = adapted(x)
    adapted.reset()
    torch.testing.assert_close(adapted(x), answer, rtol=0, atol=0, equal_nan=True)
    torch._dynamo.reset()


@pytest.mark.parametrize("streams", [None, ["a"] * 30, [*"ab" * 15], ["a"] * 10 + ["b"] * 20])
def test_a_batch_runs_in_parts_between_which_streams_are_looked_at(streams: list[str] | None) -> None:
    x = images(30)
    x[[2, 9]] = torch.inf
    method = ShrinkNorm(tau=0.1, alike=1, several_shifts=9, often=16)
    parts, singles = adapt(source(), method), adapt(source(), method)
    names = streams or ["all"] * 30
    answer = parts(x, streams=names)
    expected = [singles(x[number : number + 1], streams=names[number]) for number in range(30)]
    for key in answer:
        together = torch.cat([each[key] for each in expected])
        torch.testing.assert_close(answer[key], together, rtol=1e-4, atol=1e-5, equal_nan=True)
    assert parts.snapshot().header == singles.snapshot().header
    torch.testing.assert_close(parts.snapshot().tensors, singles.snapshot().tensors, rtol=1e-5, atol=1e-6)
    good = [name for number, name in enumerate(names) if number not in (2, 9)]
    most = max(good.count(name) for name in good)
    # After 8, 12, 16 and every 16 more.
    assert len([rows for rows in inside(parts).rows if rows > 0]) >= 1 + sum(look < most for look in (8, 12, 16, 32))


def test_a_frozen_batch_needs_no_looks() -> None:
    adapted = adapt(source(), ShrinkNorm())
    with adapted.frozen():
        adapted(images(30))
    assert inside(adapted).rows == [30]
