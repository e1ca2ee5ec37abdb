"""TENT in plain torch: BatchNorm in training mode, an optimiser over its parameters, a step on the entropy."""

import copy

import torch
from torch import Tensor, nn


def tent(
    model: nn.Module, batches: list[Tensor], make_optimizer: type[torch.optim.Optimizer], **settings: float
) -> list[Tensor]:
    """Return the logits of each batch, predicted before its step."""
    model = copy.deepcopy(model).train()
    parameters = []
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.track_running_stats = False
            module.running_mean = module.running_var = None
            parameters += list(module.parameters())
    optimizer = make_optimizer(parameters, **settings)  # type: ignore[arg-type]
    answers = []
    for batch in batches:
        logits = model(batch)
        probabilities = logits.softmax(1)
        loss = -(probabilities * probabilities.log()).sum(1).mean()
        answers.append(logits.detach())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return answers
