"""CLIP models for tests: open_clip's own classes with random weights, small or as large as the published ones."""

from typing import Any

import torch
from torch import nn

from mixnorm.benchmarks.models.from_open_clip import import_open_clip

NAMES = ["cat", "dog", "red fox", "ship"]
TEMPLATES = ["a photo of a {}.", "a drawing of one {}, in {braces}."]


def small_clip(size: int = 64, seed: int = 0, **settings: Any) -> Any:
    """Make a CLIP model with a ResNet of four blocks, whose BatchNorm layers have seen something."""
    vision = {"layers": [1, 1, 1, 1], "width": 8, "image_size": size, "head_width": 32}
    text = {"width": 16, "heads": 2, "layers": 1}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        clip = import_open_clip().CLIP(embed_dim=16, vision_cfg=vision, text_cfg=text, **settings)
        return trained_(clip).eval()


def trained_(clip: Any, count: int = 16) -> Any:
    """Give BatchNorm layers parameters as after a training, and let them see images; open_clip starts some at zero."""
    for module in clip.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias, std=0.3)
            module.momentum = 1.0
    with torch.no_grad():
        clip.train().visual(torch.randn(count, 3, clip.visual.image_size, clip.visual.image_size))
    return clip


def small_transformer() -> Any:
    """Make a CLIP model with a vision transformer."""
    vision = {"layers": 1, "width": 32, "image_size": 32, "patch_size": 16, "head_width": 16}
    text = {"width": 16, "heads": 2, "layers": 1}
    return import_open_clip().CLIP(embed_dim=16, vision_cfg=vision, text_cfg=text)


def batchnorms(module: nn.Module) -> int:
    """Count BatchNorm layers."""
    return sum(isinstance(each, nn.BatchNorm2d) for each in module.modules())
