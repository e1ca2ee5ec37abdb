"""TTT in plain torch and loops: turned copies of each sample, and a step on the rotation head's cross-entropy."""

import copy
import math
from collections.abc import Callable

import torch
from torch import Tensor, nn


def turned(image: Tensor, quarters: int) -> Tensor:
    """Turn one image (channels, side, side) counterclockwise, pixel by pixel."""
    for _ in range(quarters):
        side = image.shape[1]
        new = torch.empty_like(image)
        for y in range(side):
            for x in range(side):
                new[:, side - 1 - x, y] = image[:, y, x]
        image = new
    return image


def rotation_loss(logits: list[list[float]], turns: list[int]) -> float:
    """Average the cross-entropy of logits with the turns that were made."""
    total = 0.0
    for row, turn in zip(logits, turns, strict=True):
        total += math.log(sum(math.exp(z) for z in row)) - row[turn]
    return total / len(turns)


def ttt(
    model: nn.Module,
    batches: list[Tensor],
    features: Callable[[nn.Module, Tensor], Tensor],
    moves: Callable[[nn.Module], list[nn.Parameter]],
    lr: float,
) -> list[Tensor]:
    """Return the logits of each batch, predicted with batch statistics before its step."""
    model = copy.deepcopy(model).train()
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.track_running_stats = False
            module.running_mean = module.running_var = None
    optimizer = torch.optim.SGD(moves(model), lr=lr)
    answers = []
    for batch in batches:
        with torch.no_grad():
            answers.append(model(batch))
        rows = torch.stack([turned(image, quarters) for quarters in range(4) for image in batch])
        turns = torch.tensor([quarters for quarters in range(4) for _ in batch])
        head = model.get_submodule("rotation_head")
        loss: Tensor = nn.functional.cross_entropy(head(features(model, rows)), turns)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return answers
