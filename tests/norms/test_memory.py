import torch
from torch import Tensor

from mixnorm.norms import Memory

SOURCE = (torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))


def by(value: float, slots: int = 1) -> Tensor:
    return torch.full((2, slots, 2), float(value))


def test_slots_start_at_the_source_statistics() -> None:
    memory = Memory(*SOURCE)
    for slots in (torch.tensor([0, 0, 0]), slice(0, 1)):
        mean, var = memory.read(0, slots)
        assert mean.tolist() == [[1, 2]] * len(mean)
        assert var.tolist() == [[3, 4]] * len(var)


def test_slots_that_moved_are_read_back_and_others_stay() -> None:
    memory = Memory(*SOURCE)
    memory.reserve(5)
    memory.move(0, torch.tensor([4, 1]), by(8, 2))
    assert memory.read(0, torch.tensor([0, 1, 4]))[0].tolist() == [[1, 2], [9, 10], [9, 10]]


def test_calls_are_apart() -> None:
    memory = Memory(*SOURCE)
    memory.move(1, torch.tensor([0]), by(7))
    assert memory.read(0, torch.tensor([0]))[0].tolist() == [[1, 2]]
    assert memory.read(1, torch.tensor([0]))[0].tolist() == [[8, 9]]


def test_growing_keeps_what_was_there() -> None:
    memory = Memory(*SOURCE)
    memory.move(0, torch.tensor([0]), by(7))
    memory.reserve(100)
    assert memory.read(0, torch.tensor([0, 99]))[0].tolist() == [[8, 9], [1, 2]]


def test_clearing_one_slot_or_all() -> None:
    memory = Memory(*SOURCE)
    memory.reserve(2)
    memory.move(0, torch.tensor([0, 1]), by(7, 2))
    memory.clear(1)
    assert memory.read(0, torch.tensor([0, 1]))[0].tolist() == [[8, 9], [1, 2]]
    memory.clear()
    assert memory.read(0, torch.tensor([0]))[0].tolist() == [[1, 2]]


def test_the_source_is_copied() -> None:
    mean = torch.zeros(2)
    memory = Memory(mean, torch.ones(2))
    mean += 1
    assert memory.read(0, torch.tensor([0]))[0].tolist() == [[0, 0]]


def test_state_made_in_inference_mode_can_change_outside_of_it() -> None:
    with torch.inference_mode():
        memory = Memory(*SOURCE)
        memory.move(0, torch.tensor([0]), by(1))
        memory.reserve(3)
    memory.move(0, torch.tensor([2]), by(5))
    assert memory.read(0, torch.tensor([0, 2]))[0].tolist() == [[2, 3], [6, 7]]


def test_steps_below_the_resolution_of_float32_add_up() -> None:
    memory = Memory(torch.ones(2), torch.ones(2))
    for _ in range(1000):
        memory.move(0, torch.tensor([0]), by(1e-8))
    torch.testing.assert_close(memory.read(0, torch.tensor([0]))[0], torch.full((1, 2), 1 + 1e-5), rtol=1e-7, atol=0)


def test_no_variance_falls_below_zero() -> None:
    memory = Memory(torch.ones(2), torch.ones(2))
    memory.move(0, torch.tensor([0]), by(-1 - 1e-6))
    assert memory.read(0, torch.tensor([0]))[1].tolist() == [[0, 0]]


def test_low_precision_sources_are_kept_in_float32() -> None:
    memory = Memory(*(stat.half() for stat in SOURCE))
    assert memory.source_21C.dtype == torch.float32
