import pytest
import torch

from mixnorm.norms import LookingPlan, MovingPlan, Rows, until_look
from mixnorm.norms.looks import pairs

CPU = torch.device("cpu")


def looks(often: int, samples: int) -> list[int]:
    """After how many samples a stream is looked at, one sample after the other."""
    return [seen + 1 for seen in range(samples) if until_look(seen, often) == 1]


def test_a_stream_is_looked_at_whenever_it_has_doubled_and_no_less_often_than_asked() -> None:
    assert looks(10**9, 300) == [8, 12, 16, 24, 32, 48, 64, 128, 256]
    assert looks(32, 130) == [8, 12, 16, 24, 32, 64, 96, 128]
    assert looks(1, 10) == [8, 9, 10]
    assert looks(20, 70) == [8, 12, 16, 24, 40, 60]


@pytest.mark.parametrize("often", [1, 8, 20, 32])
def test_the_next_look_is_the_same_from_wherever_it_is_seen(often: int) -> None:
    ahead = [seen + until_look(seen, often) for seen in range(200)]
    due = looks(often, 300)
    assert ahead == [min(each for each in due if each > seen) for seen in range(200)]


def state(streams: int) -> torch.Tensor:
    return torch.rand(2, streams, 10, generator=torch.Generator().manual_seed(0))


def test_what_is_gathered_becomes_known_where_a_look_is_due() -> None:
    rows = Rows.of([0, 1, 0], 1, lambda slot, _: slot == 1)
    plan, samples_2BN = LookingPlan.of(rows, 0.1, CPU, True), torch.randn(2, 3, 5)
    start_2SC = state(2)
    gathered_2SN, known_2SN = pairs(start_2SC + plan.advance(start_2SC, samples_2BN))
    by_2SN = MovingPlan.make(rows, 0.1, CPU, True).advance(pairs(start_2SC)[0], samples_2BN)
    torch.testing.assert_close(gathered_2SN, pairs(start_2SC)[0] + by_2SN)
    torch.testing.assert_close(known_2SN[:, 0], pairs(start_2SC)[1][:, 0])
    torch.testing.assert_close(known_2SN[:, 1], gathered_2SN[:, 1])
    assert plan.makes_known


def test_where_no_look_is_due_nothing_becomes_known() -> None:
    plan = LookingPlan.of(Rows.of([0, 0], 1, lambda _slot, _samples: False), 0.1, CPU, True)
    _, by_2SN = pairs(plan.advance(state(1), torch.randn(2, 2, 5)))
    assert by_2SN.abs().max() == 0
    assert not plan.makes_known


def test_a_frozen_plan_moves_nothing() -> None:
    plan = LookingPlan.of(Rows.of([0, 0], 1), 0.1, CPU, False)
    assert not plan.update
    assert not plan.makes_known
