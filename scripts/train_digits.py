"""Train the `digits` source model that the package ships: `python scripts/train_digits.py --output DIR`.

A plain training on scikit-learn's handwritten digits with small random shifts and no corruption, so that corrupted
digits are as new to the model as drifted images are to a deployed one. It writes `digits.safetensors` and the record of
the training, `digits.json`.
"""

import argparse
import hashlib
import json
import platform
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import torch
from safetensors.torch import save
from torch import Tensor
from torch.nn.functional import cross_entropy, pad

from mixnorm.benchmarks.datasets import Dataset, load_dataset
from mixnorm.benchmarks.models import check_clean_accuracy, find_model
from mixnorm.benchmarks.models.preprocessing import Preprocessed
from mixnorm.files import write_whole

LIBRARIES = ("torch", "numpy", "scikit-learn", "pillow", "safetensors")


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
    threads: int = 1


def tensors(dataset: Dataset) -> tuple[Tensor, Tensor]:
    images = torch.from_numpy(dataset.images(range(len(dataset))))
    return images.permute(0, 3, 1, 2).float() / 255, torch.from_numpy(dataset.labels)


def shifted(images: Tensor, most: int) -> Tensor:
    """Move each image by up to `most` pixels, filling with black, which is the ground the digits stand on."""
    side = images.shape[-1]
    padded = pad(images, (most, most, most, most))
    corners = torch.randint(0, 2 * most + 1, (len(images), 2)).tolist()
    return torch.stack([image[:, y : y + side, x : x + side] for image, (y, x) in zip(padded, corners, strict=True)])


def batches(images: Tensor, labels: Tensor, settings: Training) -> Iterator[tuple[Tensor, Tensor]]:
    order = torch.randperm(len(images))
    whole = len(order) - len(order) % settings.batch_size
    for rows in order[:whole].split(settings.batch_size):
        yield shifted(images[rows], settings.shift), labels[rows]


def train(settings: Training) -> Preprocessed:
    torch.set_num_threads(settings.threads)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(settings.seed)
    model = find_model("digits").build().train()
    images, labels = tensors(load_dataset("digits", split="train"))
    optimizer = torch.optim.SGD(
        model.parameters(),
        lr=settings.learning_rate,
        momentum=settings.momentum,
        weight_decay=settings.weight_decay,
        nesterov=True,
    )
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, settings.epochs)
    for epoch in range(settings.epochs):
        for batch, answers in batches(images, labels, settings):
            optimizer.zero_grad()
            cross_entropy(model(batch), answers).backward()
            optimizer.step()
        schedule.step()
        print(f"epoch {epoch + 1} of {settings.epochs}")
    return model.eval()


def error(model: Preprocessed, split: str) -> float:
    dataset = load_dataset("digits", split=split)
    measured = check_clean_accuracy(model, dataset, published=1.0, samples=len(dataset), allow=True).measured
    return round(1 - measured, 6)


def record(model: Preprocessed, settings: Training, weights: bytes) -> dict[str, object]:
    return {
        "made_by": "scripts/train_digits.py",
        "network": "WideResNet(depth=16, width=1, classes=10), input mean 0.5, std 0.5",
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "settings": asdict(settings),
        "recipe": "SGD with Nesterov momentum, cosine schedule by epoch, random shifts, no corruption, last epoch kept",
        "data": {
            split: {"images": len(dataset), "fingerprint": dataset.fingerprint()}
            for split in ("train", "test")
            for dataset in [load_dataset("digits", split=split)]
        },
        "clean_test_error": error(model, "test"),
        "clean_train_error": error(model, "train"),
        "weights_sha256": hashlib.sha256(weights).hexdigest(),
        "versions": {"python": platform.python_version()} | {name: version(name) for name in LIBRARIES},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the digits model that the package ships.")
    parser.add_argument("--output", type=Path, required=True, help="folder for digits.safetensors and digits.json")
    parser.add_argument("--epochs", type=int, default=Training.epochs, help="how often each image is seen")
    arguments = parser.parse_args()
    settings = Training(epochs=arguments.epochs)
    model = train(settings)
    weights = save(model.network.state_dict())
    made = record(model, settings, weights)
    arguments.output.mkdir(parents=True, exist_ok=True)
    write_whole(arguments.output / "digits.safetensors", weights)
    write_whole(arguments.output / "digits.json", (json.dumps(made, indent=2) + "\n").encode())
    print(f"error on clean test digits: {made['clean_test_error']:.2%}, written to {arguments.output}")


if __name__ == "__main__":
    main()
