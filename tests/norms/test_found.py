import pytest
import torch

from mixnorm.norms.found import Found, Step
from mixnorm.norms.memory import Memory
from mixnorm.norms.plan import MovingPlan, Rows

SAMPLES = 3
NAN, INFINITY = float("nan"), float("inf")


def step(name: str, channels: int, rows: int = SAMPLES) -> Step:
    return Step((name, 0), (torch.zeros(rows, channels), torch.ones(rows, channels)))


def test_calls_stand_side_by_side_and_nothing_is_spoilt() -> None:
    steps = [step("first", 2), step("second", 5)]
    found = Found.of(steps)
    assert found.calls == [("first", 0), ("second", 0)]
    assert found.channels == [2, 5]
    expected = torch.stack([torch.cat([each.rows[which] for each in steps], dim=1) for which in (0, 1)])
    torch.testing.assert_close(found.rows_2RN, expected)
    assert found.shared_2RN is found.rows_2RN
    assert found.spoilt(SAMPLES) == []


@pytest.mark.parametrize("value", [NAN, INFINITY, -INFINITY])
def test_the_first_call_that_is_not_finite_says_who_spoilt_it(value: float) -> None:
    steps = [step("first", 2), step("second", 5), step("third", 5)]
    steps[1].rows[1][2, 4] = value
    steps[2].rows[0][:] = value
    assert Found.of(steps).spoilt(SAMPLES) == [2]


def test_a_view_that_is_not_finite_is_its_samples() -> None:
    steps = [step("first", 2, rows=2 * SAMPLES)]
    steps[0].rows[0][SAMPLES + 1, 0] = NAN
    assert Found.of(steps).spoilt(SAMPLES) == [1]


def test_what_samples_share_is_spoilt_by_the_one_of_largest_values() -> None:
    steps = [step("first", 2), step("second", 5)]
    steps[0].rows[0][1, 0] = -3e38
    steps[0].pooled = torch.full((1, 2), INFINITY), torch.ones(1, 2)
    steps[1].pooled = torch.zeros(1, 5), torch.ones(1, 5)
    found = Found.of(steps)
    assert found.shared_2RN.shape == (2, 1, 7)
    assert found.spoilt(SAMPLES) == [1]


def test_sums_that_overflow_spoil_nothing() -> None:
    steps = [step("first", 2), step("second", 5)]
    steps[1].rows[1][:] = 3e38
    assert Found.of(steps).spoilt(SAMPLES) == []


def test_a_call_goes_only_its_part_of_the_way() -> None:
    memory = Memory()
    for name in ("first", "second"):
        memory.start(name, torch.zeros(2), torch.ones(2))
    plan = MovingPlan.make(Rows.of([0], 1), 0.5, torch.device("cpu"), True)
    steps = [Step((name, 0), (torch.full((1, 2), 8.0), torch.ones(1, 2))) for name in ("first", "second")]
    steps[1].part_S1 = torch.tensor([[0.25]])
    move = Found.of(steps).move(plan, memory, None)
    move.commit(memory)
    torch.testing.assert_close(memory.read_one(("first", 0), slice(0, 1))[0], torch.full((1, 2), 4.0))
    torch.testing.assert_close(memory.read_one(("second", 0), slice(0, 1))[0], torch.full((1, 2), 1.0))


@pytest.mark.parametrize("part", [None, 0.25])
def test_a_brief_step_moves_the_state_as_far(part: float | None) -> None:
    memory = Memory()
    memory.start("first", torch.zeros(2), torch.ones(2))
    plan = MovingPlan.make(Rows.of([0, 1, 0], 1), 0.5, torch.device("cpu"), True)
    whole = Step(("first", 0), (torch.randn(SAMPLES, 2), torch.rand(SAMPLES, 2)))
    whole.part_S1 = None if part is None else torch.tensor([[part], [1.0]])
    memory.reserve(2)
    start = memory.read_one(("first", 0), plan.slots)
    brief = whole.brief(plan, start)
    assert brief.rows[0].shape == brief.rows[1].shape == (SAMPLES, 1)
    moves = [Found.of([each]).move(plan, memory, None) for each in (brief, whole)]
    assert moves[1].by_2SN.abs().min() > 0
    torch.testing.assert_close(moves[0].by_2SN, moves[1].by_2SN)


@pytest.mark.parametrize("value", [NAN, INFINITY, -INFINITY])
def test_brief_steps_tell_who_spoils_them(value: float) -> None:
    plan = MovingPlan.make(Rows.of([0] * SAMPLES, 1), 0.5, torch.device("cpu"), False)
    steps = [step("first", 2), step("second", 5)]
    steps[1].rows[0][2, 4] = value
    steps[0].pooled = steps[1].pooled = torch.zeros(1, 2), torch.ones(1, 2)
    start = torch.zeros(1, 2), torch.ones(1, 2)
    assert Found.of([each.brief(plan, start) for each in steps]).spoilt(SAMPLES) == []
    steps[1].pooled = torch.full((1, 2), value), torch.ones(1, 2)
    assert Found.of([each.brief(plan, start) for each in steps]).spoilt(SAMPLES) == [2]
