import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mixnorm.norms import MovingPlan, PoolingPlan, Rows, moving_weights, pool_views

CPU = torch.device("cpu")


@given(st.lists(st.integers(0, 3), min_size=1, max_size=20), st.floats(0, 1))
def test_moving_weights_are_the_moving_average_of_each_stream(streams: list[int], tau: float) -> None:
    values = torch.linspace(-1, 1, len(streams))
    start = {stream: float(stream) for stream in streams}
    begin = torch.tensor([start[stream] for stream in streams])
    seen = begin + moving_weights(torch.tensor(streams), tau) @ (values - begin)
    for sample, stream in enumerate(streams):
        start[stream] = (1 - tau) * start[stream] + tau * float(values[sample])
        assert float(seen[sample]) == pytest.approx(start[stream], abs=1e-5)


def test_weights_do_not_reach_forward_or_across_streams() -> None:
    weights = moving_weights(torch.tensor([0, 1, 0, 1]), 0.3)
    assert torch.equal(weights, weights.tril())
    assert weights[2, 1] == weights[3, 0] == 0


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12), st.integers(1, 4))
def test_rows_name_each_stream_once_in_order_of_appearance(slots: list[int], groups: int) -> None:
    rows = Rows.of(slots, groups)
    assert [rows.slots[stream] for stream in rows.stream_of] == slots
    assert len(set(rows.slots)) == len(rows.slots)
    assert MovingPlan.make(rows, 0.1, CPU, update=True).count == len(slots) * groups


def test_a_block_knows_its_streams_and_the_last_sample_of_each() -> None:
    plan = MovingPlan.make(Rows.of([9, 2, 9, 2, 9], 1), 0.1, CPU, update=True)
    (block,) = plan.blocks
    indices = (plan.slots, block.streams, block.last)
    assert [index.tolist() for index in indices if isinstance(index, torch.Tensor)] == [[9, 2], [0, 1], [4, 3]]


def test_a_single_stream_is_found_by_slices() -> None:
    plan = MovingPlan.make(Rows.of([7, 7], 1), 0.1, CPU, update=True)
    assert (plan.slots, plan.blocks[0].streams, plan.blocks[0].last) == (slice(7, 8), slice(0, 1), slice(-1, None))


def test_large_batches_are_cut_into_blocks() -> None:
    plan = MovingPlan.make(Rows.of([0, 1] * 300, 1), 0.1, CPU, update=True)
    assert [block.samples for block in plan.blocks] == [slice(0, 256), slice(256, 512), slice(512, 768)]
    assert plan.blocks[2].weights_2BB.shape == (2, 88, 88)


@pytest.mark.parametrize(("tau", "update"), [(0.0, True), (0.5, False)])
def test_nothing_moves_with_no_speed_or_no_update(tau: float, update: bool) -> None:
    assert MovingPlan.make(Rows.of([0, 0], 1), tau, CPU, update).blocks == ()


SLOTS = [[0], [0, 0, 0], [3, 1, 2], [4, 7, 4, 4]]


@pytest.mark.parametrize("slots", SLOTS)
@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("tau", [0.0, 0.3])
def test_the_mixture_of_a_sample_is_moving_and_local_statistics(slots: list[int], groups: int, tau: float) -> None:
    plan = MovingPlan.make(Rows.of(slots, groups), tau, CPU, True, m=0.2)
    start, rows = statistics(len(set(slots)), len(slots) * groups)
    begin = start[:, plan.stream_B]
    seen = begin + moving_weights(plan.stream_B, tau) @ (rows[:, : len(slots)] - begin)
    expected = 0.8 * seen + 0.2 * torch.stack(pool_views(pair(rows), groups))
    torch.testing.assert_close(torch.stack(plan.mixed(pair(start), pair(rows))), expected)


@pytest.mark.parametrize("slots", SLOTS)
@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize(
    ("m", "tau_max", "update"), [(0.2, 0.9, True), (0.2, 0.9, False), (1.0, 0.0, True), (0.0, 0.9, True)]
)
def test_the_mixture_of_a_stream_is_moving_and_local_statistics(
    slots: list[int], groups: int, m: float, tau_max: float, update: bool
) -> None:
    plan = PoolingPlan.make(Rows.of(slots, groups), tau_max, CPU, update, m=m)
    start, rows = statistics(len(set(slots)), len(slots) * groups)
    tau = plan.tau_S1 if update else 0
    moved = start + tau * (torch.stack(plan.pool(pair(rows[:, : len(slots)]))) - start)
    local = torch.stack(plan.pool(pool_views(pair(rows), groups)))
    torch.testing.assert_close(torch.stack(plan.mixed(pair(start), pair(rows))), (1 - m) * moved + m * local)


def pair(stats: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    mean, var = stats
    return mean, var


def statistics(streams: int, rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Make moving statistics, and those of rows, whose means are far from them and from each other."""
    generator = torch.Generator().manual_seed(0)
    start, found = torch.rand(2, streams, 3, generator=generator), torch.rand(2, rows, 3, generator=generator)
    found[0] = 5 + 3 * found[0]
    return start, found


@pytest.mark.parametrize(("samples", "expected"), [(1, 0.75e-3), (3, 0.075), (200, 0.75 * 10 ** (-3 / 200))])
def test_speed_of_a_batch_follows_its_size(samples: int, expected: float) -> None:
    plan = PoolingPlan.make(Rows.of([0] * samples, 2), 0.75, CPU, update=True)
    assert plan.tau_S1.item() == pytest.approx(expected)


def test_speed_of_a_batch_is_never_above_1() -> None:
    # The published tau_max of ImageNet-C, 1.1, exceeds 1 for batches of more than 72.
    speeds = [PoolingPlan.make(Rows.of([0] * n, 1), 1.1, CPU, update=True).tau_S1.item() for n in (72, 73, 200)]
    assert speeds[0] < 1
    assert speeds[1:] == [1, 1]


def test_sizes_and_speed_are_counted_per_stream() -> None:
    plan = PoolingPlan.make(Rows.of([4, 7, 4, 4], 1), 0.5, CPU, update=True)
    assert plan.several_S1.flatten().tolist() == [1, 0]
    assert plan.shares_SB.tolist() == [pytest.approx([1 / 3, 0, 1 / 3, 1 / 3]), [0, 1, 0, 0]]
    assert plan.tau_S1.flatten().tolist() == pytest.approx([0.05, 0.5e-3])
