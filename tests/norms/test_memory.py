import torch

from mixnorm.norms import Memory, Statistics

SOURCE = (torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))


def stats(value: float, slots: int = 1) -> Statistics:
    return Statistics(torch.full((slots, 2), float(value)), torch.full((slots, 2), float(value)))


def test_slots_start_at_the_source_statistics() -> None:
    memory = Memory(*SOURCE)
    mean, var = memory.read(0, torch.tensor([0, 0, 0]))
    assert mean.tolist() == [[1, 2]] * 3
    assert var.tolist() == [[3, 4]] * 3


def test_written_slots_are_read_back_and_others_stay() -> None:
    memory = Memory(*SOURCE)
    memory.reserve(5)
    memory.write(0, torch.tensor([4, 1]), stats(9, 2))
    assert memory.read(0, torch.tensor([0, 1, 4])).mean.tolist() == [[1, 2], [9, 9], [9, 9]]


def test_calls_are_apart() -> None:
    memory = Memory(*SOURCE)
    memory.write(1, torch.tensor([0]), stats(7))
    assert memory.calls == [1]
    assert memory.read(0, torch.tensor([0])).mean.tolist() == [[1, 2]]
    assert memory.read(1, torch.tensor([0])).mean.tolist() == [[7, 7]]


def test_growing_keeps_what_was_there() -> None:
    memory = Memory(*SOURCE)
    memory.write(0, torch.tensor([0]), stats(7))
    memory.reserve(100)
    assert memory.read(0, torch.tensor([0, 99])).mean.tolist() == [[7, 7], [1, 2]]


def test_clearing_one_slot_or_all() -> None:
    memory = Memory(*SOURCE)
    memory.reserve(2)
    memory.write(0, torch.tensor([0, 1]), stats(7, 2))
    memory.clear(1)
    assert memory.read(0, torch.tensor([0, 1])).mean.tolist() == [[7, 7], [1, 2]]
    memory.clear()
    assert memory.read(0, torch.tensor([0])).mean.tolist() == [[1, 2]]


def test_the_source_is_copied() -> None:
    mean = torch.zeros(2)
    memory = Memory(mean, torch.ones(2))
    mean += 1
    assert memory.read(0, torch.tensor([0])).mean.tolist() == [[0, 0]]


def test_state_made_in_inference_mode_can_change_outside_of_it() -> None:
    with torch.inference_mode():
        memory = Memory(*SOURCE)
        memory.write(0, torch.tensor([0]), stats(1))
        memory.reserve(3)
    memory.write(0, torch.tensor([2]), stats(5))
    assert memory.read(0, torch.tensor([0, 2])).mean.tolist() == [[1, 1], [5, 5]]


def test_low_precision_sources_are_kept_in_float32() -> None:
    memory = Memory(*(stat.half() for stat in SOURCE))
    assert memory.source.mean.dtype == torch.float32
