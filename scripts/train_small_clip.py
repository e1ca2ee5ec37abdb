"""Train a small CLIP model on MNIST: `python scripts/train_small_clip.py --data DIR --output DIR`.

A stand-in for the published CLIP models where their weights are not at hand: a ResNet of open_clip and a text tower
learn to match each digit with the sentence about it, among ten. It is small and knows ten words, so it says nothing
about the published numbers; it lets the whole path from sentences to adapted answers run on real images.

`--data` has `mnist.npz` (`x_train`, `y_train`) and other digit sets as `.npz`. Written are `small_clip.safetensors`,
for `--model scripts/train_small_clip.py:small_clip --checkpoint ...`, and the sets' test images with names of classes.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize

from mixnorm.benchmarks.datasets import load_dataset
from mixnorm.benchmarks.models.clip_towers import towers_of
from mixnorm.benchmarks.models.from_open_clip import import_open_clip
from mixnorm.benchmarks.models.preprocessing import Preprocess
from mixnorm.benchmarks.models.prompts import sentences
from mixnorm.files import write_whole

NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
TEMPLATES = ("a photo of a {}.", "the number {}.", "a {} written by hand.")
SIDE = 64


def small_clip() -> Any:
    """Make the model with random weights: open_clip's ResNet with one block in each of four stages."""
    vision = {"layers": [1, 1, 1, 1], "width": 16, "image_size": SIDE, "head_width": 64}
    text = {"width": 32, "heads": 2, "layers": 1, "context_length": 16}
    return import_open_clip().CLIP(embed_dim=32, vision_cfg=vision, text_cfg=text)


def train(images: Tensor, labels: Tensor, *, epochs: int, seed: int) -> Any:
    torch.manual_seed(seed)
    clip = small_clip().train()
    towers = towers_of(clip)
    preprocess = Preprocess(towers.preprocessing)
    tokens = towers.tokenizer(sentences(NAMES, TEMPLATES)).view(len(TEMPLATES), len(NAMES), -1)
    optimizer = torch.optim.AdamW(clip.parameters(), lr=1e-3)
    for epoch in range(epochs):
        right = 0
        for step, rows in enumerate(torch.split(torch.randperm(len(images)), 100)):
            texts = normalize(clip.encode_text(tokens[step % len(TEMPLATES)]), dim=-1)
            seen = normalize(clip.encode_image(preprocess(images[rows])), dim=-1)
            logits = clip.logit_scale.exp() * seen @ texts.T
            optimizer.zero_grad()
            cross_entropy(logits, labels[rows]).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            right += int((logits.argmax(1) == labels[rows]).sum())
        print(f"epoch {epoch + 1} of {epochs}: {right / len(images):.1%} of the training images matched", flush=True)
    return clip.eval()


def training_images(path: Path, count: int) -> tuple[Tensor, Tensor]:
    dataset = load_dataset(path, split="train")
    pixels = torch.from_numpy(dataset.images(range(count))).permute(0, 3, 1, 2).float() / 255
    return pixels, torch.from_numpy(dataset.labels[:count])


def write_named(path: Path, folder: Path) -> None:
    """Write the test images of a set with the names of their classes."""
    dataset = load_dataset(path)
    with (folder / path.name).open("wb") as file:
        np.savez(file, x=dataset.images(range(len(dataset))), y=dataset.labels, class_names=np.array(NAMES))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder with mnist.npz and other sets")
    parser.add_argument("--sets", nargs="+", default=["mnist.npz"], metavar="FILE", help="sets to write with names")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR")
    parser.add_argument("--images", type=int, default=6000, metavar="N", help="the first N training images")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    clip = train(*training_images(args.data / "mnist.npz", args.images), epochs=args.epochs, seed=args.seed)
    write_whole(args.output / "small_clip.safetensors", save(clip.state_dict()))
    for name in args.sets:
        write_named(args.data / name, args.output)
    print(f"written to {args.output}")


if __name__ == "__main__":
    main()
