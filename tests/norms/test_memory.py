import copy

import pytest
import torch
from torch import Tensor

from mixnorm.norms import Call, Memory, Slots

SOURCE = (torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
FIRST, AGAIN, OTHER = ("a", 0), ("a", 1), ("b", 0)
ONE = slice(0, 1)


def memory() -> Memory:
    made = Memory()
    made.start("a", *SOURCE)
    made.start("b", torch.tensor([5.0]), torch.tensor([6.0]))
    return made


def by(value: float, slots: int = 1, channels: int = 2) -> Tensor:
    return torch.full((2, slots, channels), float(value))


def move(table: Memory, slots: Slots, steps: dict[Call, Tensor]) -> None:
    table.move(slots, list(steps), torch.cat(list(steps.values()), dim=2))


def read(table: Memory, slots: Slots) -> dict[Call, tuple[Tensor, Tensor]]:
    with torch.no_grad():
        return {call: (mean.clone(), var.clone()) for call, (mean, var) in table.read(slots)[1].items()}


def index(*slots: int) -> Tensor:
    return torch.tensor(slots)


def test_slots_start_at_the_source_statistics() -> None:
    one = memory()
    one.reserve(3)
    for slots in (index(0, 2, 1), ONE):
        stats = read(one, slots)
        assert stats[FIRST][0].tolist() == [[1, 2]] * (3 if isinstance(slots, Tensor) else 1)
        assert stats[FIRST][1].tolist() == [[3, 4]] * (3 if isinstance(slots, Tensor) else 1)
        assert [stat[0].tolist() for stat in stats[OTHER]] == [[5], [6]]


def test_slots_that_moved_are_read_back_and_others_stay() -> None:
    one = memory()
    one.reserve(5)
    move(one, index(4, 1), {FIRST: by(8, 2), OTHER: by(1, 2, 1)})
    stats = read(one, index(0, 1, 4))
    assert stats[FIRST][0].tolist() == [[1, 2], [9, 10], [9, 10]]
    assert stats[OTHER][0].tolist() == [[5], [6], [6]]


def test_calls_are_apart_and_one_that_is_new_starts_at_the_source() -> None:
    one = memory()
    move(one, ONE, {FIRST: by(7)})
    assert one.read_one(AGAIN, ONE)[0].tolist() == [[1, 2]]
    move(one, ONE, {AGAIN: by(1), FIRST: by(1)})
    assert read(one, ONE)[FIRST][0].tolist() == [[9, 10]]
    assert one.read_one(AGAIN, ONE)[0].tolist() == [[2, 3]]
    assert read(one, ONE)[OTHER][0].tolist() == [[5]]


@pytest.mark.parametrize("slots", [ONE, index(1, 0)])
def test_the_order_of_the_steps_makes_no_difference(slots: Slots) -> None:
    one, two, count = memory(), memory(), 1 if isinstance(slots, slice) else len(slots)
    for table in (one, two):
        table.reserve(2)
    move(one, slots, {FIRST: by(7, count), OTHER: by(2, count, channels=1)})
    move(two, slots, {OTHER: by(2, count, channels=1), FIRST: by(7, count)})
    torch.testing.assert_close(read(one, slots), read(two, slots), rtol=0, atol=0)
    assert read(one, slots)[FIRST][0][0].tolist() == [8, 9]


def test_growing_keeps_what_was_there() -> None:
    one = memory()
    move(one, index(0), {FIRST: by(7)})
    one.reserve(100)
    assert read(one, index(0, 99))[FIRST][0].tolist() == [[8, 9], [1, 2]]


def test_clearing_one_slot_or_all() -> None:
    one = memory()
    one.reserve(2)
    move(one, index(0, 1), {FIRST: by(7, 2)})
    one.clear(1)
    assert read(one, index(0, 1))[FIRST][0].tolist() == [[8, 9], [1, 2]]
    one.clear()
    assert read(one, ONE)[FIRST][0].tolist() == [[1, 2]]
    assert one.export([0]) == {}


def test_what_moved_is_exported_and_loaded() -> None:
    one, two = memory(), memory()
    one.reserve(3)
    move(one, index(2), {FIRST: by(7)})
    exported = one.export([2, 0])
    assert list(exported) == [FIRST]
    two.load(exported)
    assert read(two, index(0, 1))[FIRST][0].tolist() == [[8, 9], [1, 2]]
    assert list(two.export([0])) == [FIRST]


def test_an_export_is_a_copy() -> None:
    one = memory()
    move(one, ONE, {FIRST: by(7)})
    exported = one.export([0])
    move(one, ONE, {FIRST: by(1)})
    assert exported[FIRST][0].tolist() == [[8, 9]]


def test_a_layer_that_starts_again_forgets_and_others_do_not() -> None:
    one = memory()
    move(one, ONE, {FIRST: by(7), AGAIN: by(7), OTHER: by(2, channels=1)})
    one.start("a", torch.zeros(2), torch.ones(2))
    for call in (FIRST, AGAIN):
        assert [stat.tolist() for stat in read(one, ONE)[call]] == [[[0, 0]], [[1, 1]]]
    assert list(one.export([0])) == [OTHER]


def test_the_source_is_copied() -> None:
    mean, one = torch.zeros(2), Memory()
    one.start("a", mean, torch.ones(2))
    mean += 1
    assert read(one, ONE)[FIRST][0].tolist() == [[0, 0]]


def test_state_made_in_inference_mode_can_change_outside_of_it() -> None:
    with torch.inference_mode():
        one = memory()
        move(one, index(0), {FIRST: by(1)})
        one.reserve(3)
        move(one, ONE, {AGAIN: by(1)})
    move(one, index(2), {FIRST: by(5)})
    assert read(one, index(0, 2))[FIRST][0].tolist() == [[2, 3], [6, 7]]


def test_steps_below_the_resolution_of_float32_add_up() -> None:
    one = Memory()
    one.start("a", torch.ones(2), torch.ones(2))
    for _ in range(1000):
        move(one, ONE, {FIRST: by(1e-8)})
    torch.testing.assert_close(read(one, ONE)[FIRST][0], torch.full((1, 2), 1 + 1e-5), rtol=1e-7, atol=0)


def test_no_variance_falls_below_zero() -> None:
    one = Memory()
    one.start("a", torch.ones(2), torch.ones(2))
    move(one, ONE, {FIRST: by(-1 - 1e-6)})
    assert read(one, ONE)[FIRST][1].tolist() == [[0, 0]]


def test_low_precision_sources_are_kept_in_float32() -> None:
    one = Memory()
    one.start("a", *(stat.half() for stat in SOURCE))
    assert one.sources["a"].dtype == torch.float32


@torch.no_grad()
def test_a_single_slot_is_read_into_the_same_place_again() -> None:
    one = memory()
    whole, parts = one.read(ONE)
    move(one, ONE, {FIRST: by(7), OTHER: by(2, channels=1)})
    again, _ = one.read(ONE)
    assert again.data_ptr() == whole.data_ptr()
    assert [parts[FIRST][0].tolist(), parts[OTHER][0].tolist()] == [[[8, 9]], [[7]]]
    copied, copied_parts = copy.deepcopy(one).read(ONE)
    assert copied.data_ptr() != whole.data_ptr()
    assert copied_parts[FIRST][0].data_ptr() == copied.data_ptr()


def test_what_gradients_may_need_later_is_not_overwritten() -> None:
    one = memory()
    with torch.enable_grad():
        whole, parts = one.read(ONE)
    with torch.no_grad():
        move(one, ONE, {FIRST: by(7)})
        one.read(ONE)
    assert parts[FIRST][0].tolist() == [[1, 2]]
    assert whole[0, 0].tolist() == [1, 2, 5]


def test_undo_puts_back_what_has_moved_and_been_added_since() -> None:
    memory = Memory()
    memory.start("norm", torch.zeros(2), torch.ones(2))
    memory.move(slice(0, 1), [("norm", 0)], torch.full((2, 1, 2), 0.25))
    before, back = memory.export([0]), memory.undo([0, 3])
    memory.reserve(5)
    memory.move(slice(0, 1), [("norm", 0), ("norm", 1)], torch.full((2, 1, 4), 3.0))
    memory.move(slice(3, 4), [("norm", 0)], torch.full((2, 1, 2), 3.0))
    back()
    assert list(memory.export([0])) == list(before)
    torch.testing.assert_close(memory.export([0]), before, rtol=0, atol=0)
    assert memory.holds([("norm", 0)])
    # A slot that was new is new again.
    torch.testing.assert_close(memory.export([3])["norm", 0].float(), torch.tensor([[[0.0, 0.0]], [[1.0, 1.0]]]))


def test_undo_leaves_other_slots_alone() -> None:
    memory = Memory()
    memory.start("norm", torch.zeros(2), torch.ones(2))
    memory.reserve(3)
    memory.move(slice(1, 2), [("norm", 0)], torch.ones(2, 1, 2))
    back = memory.undo([2])
    for slot in (1, 2):
        memory.move(slice(slot, slot + 1), [("norm", 0)], torch.ones(2, 1, 2))
    back()
    assert memory.export([1])["norm", 0][0, 0, 0] == 2
    assert memory.export([2])["norm", 0][0, 0, 0] == 0
