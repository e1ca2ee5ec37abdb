"""What the training scripts share: a classifier trained jointly with its rotation head, and the record of it."""

import hashlib
import json
import platform
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from rich.console import Console
from rich.progress import Progress
from safetensors.torch import save
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, pad

from mixnorm.benchmarks.datasets import Dataset
from mixnorm.benchmarks.models.preprocessing import Preprocessed
from mixnorm.benchmarks.models.rotation_head import QUARTER_TURNS
from mixnorm.files import write_whole

LIBRARIES = ("torch", "numpy", "scikit-learn", "pillow", "safetensors")
RECIPE = (
    "SGD with Nesterov momentum, cosine schedule by step, random shifts, no corruption, last epoch kept; the loss is "
    "the classifier's on upright images plus the rotation head's on the same images, each after a random number of "
    "quarter turns, in a forward pass of its own that leaves the running statistics alone"
)


@dataclass(frozen=True, kw_only=True)
class Training:
    """The settings of one training; the same settings give the same weights on the same machine."""

    seed: int = 0
    epochs: int = 20
    batch_size: int = 32
    learning_rate: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 5e-4
    shift: int = 3
    edges: Literal["black", "repeated"] = "black"
    """What comes in at the edge of a shifted image: digits on black stand on black, those on photographs do not."""
    rotation_weight: float = 0.5
    threads: int = 1


def bytes_of(dataset: Dataset) -> tuple[Tensor, Tensor]:
    """Return all images (N, 3, H, W) as bytes, and their labels."""
    images = torch.from_numpy(dataset.images(np.arange(len(dataset))))
    return images.permute(0, 3, 1, 2).contiguous(), torch.from_numpy(dataset.labels)


def shifted(images: Tensor, most: int, edges: str = "black") -> Tensor:
    """Move each image by up to `most` pixels."""
    side = images.shape[-1]
    padded = pad(images, (most, most, most, most), mode="constant" if edges == "black" else "replicate")
    corners = torch.randint(0, 2 * most + 1, (len(images), 2)).tolist()
    return torch.stack([image[:, y : y + side, x : x + side] for image, (y, x) in zip(padded, corners, strict=True)])


def rotated(images: Tensor) -> tuple[Tensor, Tensor]:
    """Turn each square image by a random number of quarter turns, and return these numbers as well."""
    turns = torch.randint(0, QUARTER_TURNS, (len(images),))
    turned = [torch.rot90(image, int(count), (-2, -1)) for image, count in zip(images, turns, strict=True)]
    return torch.stack(turned), turns


def batches(images: Tensor, labels: Tensor, settings: Training) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield whole batches of one epoch in a random order, scaled to [0, 1] and shifted."""
    order = torch.randperm(len(images))
    whole = len(order) - len(order) % settings.batch_size
    for rows in order[:whole].split(settings.batch_size):
        yield shifted(images[rows].float() / 255, settings.shift, settings.edges), labels[rows]


def joint_loss(model: Preprocessed, images: Tensor, labels: Tensor, rotation_weight: float) -> Tensor:
    """Return the classifier's loss, and the rotation head's with its weight."""
    turned, turns = rotated(images)
    loss = cross_entropy(model(images), labels)
    with running_statistics_kept(model):
        return loss + rotation_weight * cross_entropy(rotation_logits(model, turned), turns)


def rotation_logits(model: Preprocessed, images: Tensor) -> Tensor:
    """Let the rotation head answer."""
    network: Any = model.network
    logits: Tensor = network.rotation_head(network.embed(model.preprocess(images)))
    return logits


@contextmanager
def running_statistics_kept(model: nn.Module) -> Iterator[None]:
    """Keep the running statistics for a while: they are to be those of upright images, which the model will meet."""
    layers = [layer for layer in model.modules() if isinstance(layer, nn.BatchNorm2d)]
    before = [layer.momentum for layer in layers]
    for layer in layers:
        layer.momentum = 0.0
    try:
        yield
    finally:
        for layer, momentum in zip(layers, before, strict=True):
            layer.momentum = momentum


@contextmanager
def batch_statistics_used(model: nn.Module) -> Iterator[None]:
    """Let the BatchNorm layers of a model in evaluation mode use the statistics of each batch for a while."""
    layers = [layer for layer in model.modules() if isinstance(layer, nn.BatchNorm2d)]
    for layer in layers:
        layer.train()
    try:
        yield
    finally:
        for layer in layers:
            layer.eval()


def train(model: Preprocessed, images: Tensor, labels: Tensor, settings: Training) -> Preprocessed:
    """Train a model in place with a progress bar, and return it in evaluation mode."""
    optimizer = torch.optim.SGD(
        model.train().parameters(),
        lr=settings.learning_rate,
        momentum=settings.momentum,
        weight_decay=settings.weight_decay,
        nesterov=True,
    )
    steps = settings.epochs * (len(images) // settings.batch_size)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task("training", total=steps)
        for epoch in range(settings.epochs):
            for batch, answers in batches(images, labels, settings):
                optimizer.zero_grad()
                loss = joint_loss(model, batch, answers, settings.rotation_weight)
                loss.backward()
                optimizer.step()
                schedule.step()
                bar.update(task, advance=1, description=f"epoch {epoch + 1} of {settings.epochs}")
    return model.eval()


def start(settings: Training) -> None:
    """Make what follows repeat itself bit by bit."""
    torch.set_num_threads(settings.threads)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(settings.seed)


@torch.no_grad()
def errors(model: Preprocessed, images: Tensor, labels: Tensor) -> tuple[float, float]:
    """Return the share of upright images that the classifier has wrong, and of all four turns that the head has.

    The head is asked as TTT does: with the statistics of a batch of all four turns, as in training.
    """
    wrong = wrong_turns = 0
    for batch, answers in zip(images.split(200), labels.split(200), strict=True):
        upright = batch.float() / 255
        wrong += int((model(upright).argmax(1) != answers).sum())
        turned = torch.cat([torch.rot90(upright, turns, (-2, -1)) for turns in range(QUARTER_TURNS)])
        with running_statistics_kept(model), batch_statistics_used(model):
            told = rotation_logits(model, turned).argmax(1)
        wrong_turns += int((told != torch.arange(QUARTER_TURNS).repeat_interleave(len(batch))).sum())
    return round(wrong / len(labels), 6), round(wrong_turns / len(labels) / QUARTER_TURNS, 6)


def write(output: Path, name: str, model: Preprocessed, made: dict[str, object]) -> None:
    """Write the weights, and the record of how they were made."""
    weights = save(model.network.state_dict())
    versions = {"python": platform.python_version()} | {library: version(library) for library in LIBRARIES}
    record = made | {"weights_sha256": hashlib.sha256(weights).hexdigest(), "versions": versions}
    output.mkdir(parents=True, exist_ok=True)
    write_whole(output / f"{name}.safetensors", weights)
    write_whole(output / f"{name}.json", (json.dumps(record, indent=2) + "\n").encode())


def described(model: Preprocessed, settings: Training) -> dict[str, object]:
    """Say how a model was trained."""
    return {
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "settings": asdict(settings),
        "recipe": RECIPE,
    }


def contents(parts: Iterable[tuple[str, Dataset]]) -> dict[str, object]:
    """Say which images there were."""
    return {split: {"images": len(data), "fingerprint": data.fingerprint()} for split, data in parts}


def cpu_seconds() -> float:
    """Return the time that all cores have spent on this process."""
    return time.process_time()
