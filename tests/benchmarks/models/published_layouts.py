"""The parameters of published checkpoints, written down from public facts and not from our own networks.

RobustBench's wide ResNets: `conv1`, three stages `block1..3.layer.N` with `bn1 conv1 bn2 conv2` and, where the width
changes, `convShortcut`; then `bn1` and `fc`. pytorch-playground's SVHN network: `features.N` and `classifier.0`, where
BatchNorm has no affine parameters, saved before BatchNorm counted its batches.
"""

import math

import torch
from torch import Tensor

Shapes = dict[str, tuple[int, ...]]


def batchnorm(name: str, channels: int) -> Shapes:
    kinds = ("weight", "bias", "running_mean", "running_var")
    return {f"{name}.{kind}": (channels,) for kind in kinds} | {f"{name}.num_batches_tracked": ()}


def wide_block(name: str, inputs: int, outputs: int) -> Shapes:
    shapes = batchnorm(f"{name}.bn1", inputs) | {f"{name}.conv1.weight": (outputs, inputs, 3, 3)}
    shapes |= batchnorm(f"{name}.bn2", outputs) | {f"{name}.conv2.weight": (outputs, outputs, 3, 3)}
    return shapes | ({f"{name}.convShortcut.weight": (outputs, inputs, 1, 1)} if inputs != outputs else {})


def wide_resnet(depth: int, width: int, *, sub_block1: bool = False) -> Shapes:
    stages = [("block1", 16, 16 * width), ("block2", 16 * width, 32 * width), ("block3", 32 * width, 64 * width)]
    if sub_block1:
        stages.insert(1, ("sub_block1", 16, 16 * width))
    shapes: Shapes = {"conv1.weight": (16, 3, 3, 3)}
    for stage, inputs, outputs in stages:
        for block in range((depth - 4) // 6):
            shapes |= wide_block(f"{stage}.layer.{block}", inputs if block == 0 else outputs, outputs)
    return shapes | batchnorm("bn1", 64 * width) | {"fc.weight": (10, 64 * width), "fc.bias": (10,)}


SVHN: Shapes = {
    "features.0.weight": (32, 3, 3, 3),
    "features.0.bias": (32,),
    "features.1.running_mean": (32,),
    "features.1.running_var": (32,),
    "features.4.weight": (32, 32, 3, 3),
    "features.4.bias": (32,),
    "features.5.running_mean": (32,),
    "features.5.running_var": (32,),
    "features.9.weight": (64, 32, 3, 3),
    "features.9.bias": (64,),
    "features.10.running_mean": (64,),
    "features.10.running_var": (64,),
    "features.13.weight": (64, 64, 3, 3),
    "features.13.bias": (64,),
    "features.14.running_mean": (64,),
    "features.14.running_var": (64,),
    "features.18.weight": (128, 64, 3, 3),
    "features.18.bias": (128,),
    "features.19.running_mean": (128,),
    "features.19.running_var": (128,),
    "features.22.weight": (128, 128, 3, 3),
    "features.22.bias": (128,),
    "features.23.running_mean": (128,),
    "features.23.running_var": (128,),
    "features.27.weight": (256, 128, 3, 3),
    "features.27.bias": (256,),
    "features.28.running_mean": (256,),
    "features.28.running_var": (256,),
    "classifier.0.weight": (10, 256),
    "classifier.0.bias": (10,),
}


def values(shapes: Shapes, *, prefix: str = "", seed: int = 0) -> dict[str, Tensor]:
    """Fill a layout with numbers that keep activations in a sane range."""
    generator = torch.Generator().manual_seed(seed)
    return {prefix + name: _value(name, shape, generator) for name, shape in shapes.items()}


def _value(name: str, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    if name.endswith("num_batches_tracked"):
        return torch.tensor(7)
    if name.endswith("running_var"):
        return 0.5 + torch.rand(shape, generator=generator)
    fan_in = shape[1] * (9 if len(shape) == 4 else 1) if len(shape) > 1 else 4
    return torch.randn(shape, generator=generator) / math.sqrt(fan_in)
