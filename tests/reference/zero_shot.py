"""Zero-shot classification in slow steps: one sentence and one image at a time, through open_clip's own functions."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor


def logits(
    network: Any, tokenize: Callable[[str], Tensor], images: Tensor, names: Sequence[str], templates: Sequence[str]
) -> Tensor:
    """Give the logits of images that are prepared already."""
    rows = []
    with torch.no_grad():
        classes = [class_vector(network, tokenize, name, templates) for name in names]
        for image in images:
            feature = network.encode_image(image[None])[0]
            feature = feature / feature.norm()
            row = [network.logit_scale.exp() * (feature * vector).sum() for vector in classes]
            rows.append(torch.stack(row))
    return torch.stack(rows)


def class_vector(network: Any, tokenize: Callable[[str], Tensor], name: str, templates: Sequence[str]) -> Tensor:
    total = torch.zeros(())
    for template in templates:
        before, after = template.split("{}")
        feature: Tensor = network.encode_text(tokenize(before + name + after))[0]
        total = total + feature / feature.norm()
    mean: Tensor = total / len(templates)
    unit: Tensor = mean / mean.norm()
    return unit
