import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mixnorm.norms import MovingPlan, PoolingPlan, Rows, moving_weights

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
    assert rows.count == len(slots) * groups


def test_last_sample_of_each_stream() -> None:
    plan = MovingPlan.make(Rows.of([9, 2, 9, 2, 9], 1), 0.1, CPU, update=True)
    assert isinstance(plan.slots, torch.Tensor)
    assert plan.slots.tolist() == [9, 2]
    assert MovingPlan.make(Rows.of([7, 7], 1), 0.1, CPU, update=True).slots == slice(7, 8)
    assert plan.last_S.tolist() == [4, 3]


@pytest.mark.parametrize(("tau", "update"), [(0.0, True), (0.5, False)])
def test_nothing_moves_with_no_speed_or_no_update(tau: float, update: bool) -> None:
    assert MovingPlan.make(Rows.of([0, 0], 1), tau, CPU, update).weights_BB is None


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
    assert plan.sizes_S1.flatten().tolist() == [3, 1]
    assert plan.shares_SB.tolist() == [pytest.approx([1 / 3, 0, 1 / 3, 1 / 3]), [0, 1, 0, 0]]
    assert plan.tau_S1.flatten().tolist() == pytest.approx([0.05, 0.5e-3])
