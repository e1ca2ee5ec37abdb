from collections import OrderedDict, defaultdict
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor

from mixnorm.adaptation.outputs import average_mirrored, find_logits, first_rows, map_tensors, merge
from mixnorm.errors import ModelError


class Pair(NamedTuple):
    logits: Tensor
    extra: Any


@dataclass(frozen=True)
class Record:
    logits: Tensor
    hidden: tuple[Tensor, ...]
    note: str = "kept"


ROWS = torch.arange(6).float()[:, None].repeat(1, 2)
OUTPUTS: list[Any] = [
    ROWS,
    (ROWS, 3),
    [ROWS, None],
    {"logits": ROWS, "loss": torch.tensor(0.5)},
    OrderedDict(logits=ROWS),
    defaultdict(list, logits=ROWS),
    Pair(ROWS, {"deep": [ROWS]}),
    Record(ROWS, (ROWS, ROWS)),
]


def tensors(output: Any) -> list[Tensor]:
    found: list[Tensor] = []
    map_tensors(lambda tensor: found.append(tensor) or tensor, output)  # type: ignore[func-returns-value]
    return found


@pytest.mark.parametrize("output", OUTPUTS, ids=lambda output: type(output).__name__)
def test_outputs_of_any_type_are_cut_and_keep_their_type(output: Any) -> None:
    cut = first_rows(output, 2, of=6)
    assert type(cut) is type(output)
    for whole, part in zip(tensors(output), tensors(cut), strict=True):
        assert torch.equal(part, whole[:2] if whole.dim() else whole)
    assert all(len(tensor) == 6 for tensor in tensors(output) if tensor.dim()), "the output itself was changed"


@pytest.mark.parametrize("output", OUTPUTS, ids=lambda output: type(output).__name__)
def test_parts_are_put_together_in_their_places(output: Any) -> None:
    places = [[4, 0, 2], [1], [5, 3]]
    parts = [(index, map_tensors(lambda t, i=index: t[i] if t.dim() else t, output)) for index in places]
    merged = merge(parts)
    assert type(merged) is type(output)
    for whole, back in zip(tensors(output), tensors(merged), strict=True):
        assert torch.equal(back, whole)


def test_a_single_part_is_the_output_itself() -> None:
    assert merge([([0, 1], OUTPUTS[3])]) is OUTPUTS[3]


@pytest.mark.parametrize("output", OUTPUTS, ids=lambda output: type(output).__name__)
def test_logits_are_found(output: Any) -> None:
    assert find_logits(output) is ROWS


@pytest.mark.parametrize("output", ["text", (), {"loss": torch.tensor(1.0)}, torch.zeros(3), torch.zeros(3, 2).long()])
def test_an_output_without_logits_is_refused(output: Any) -> None:
    with pytest.raises(ModelError, match=f"type {type(output).__name__}; return them as"):
        find_logits(output)


def test_answers_for_an_image_and_its_mirror_image_are_averaged() -> None:
    logits, maps = torch.rand(6, 4), torch.rand(6, 2, 3, 5)
    answer = average_mirrored({"logits": logits, "map": maps, "loss": torch.tensor(0.5)}, 3, 6)
    torch.testing.assert_close(answer["logits"], (logits[:3] + logits[3:]) / 2)
    torch.testing.assert_close(answer["map"], (maps[:3] + maps[3:].flip(3)) / 2)
    assert answer["loss"] == 0.5


@pytest.mark.parametrize("tensor", [torch.rand(6, 2, 3), torch.arange(6)])
def test_what_cannot_be_mirrored_back_is_refused(tensor: Tensor) -> None:
    with pytest.raises(ModelError, match=r"cannot be averaged over an image and its mirror image.*use views=0"):
        average_mirrored(tensor, 3, 6)
