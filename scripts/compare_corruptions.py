"""Compare our corruptions with images of the published generator, made from the same CIFAR-10 test images.

Prints a Markdown table, one row per corruption at severity 5. What is random in a corruption is drawn several times, so
that the mean speaks of the generator, and the worst of the draws of what a single one may do. It needs the folder of
real data and networks:

    python scripts/compare_corruptions.py ../shared/real
"""

import argparse
import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, stdev

import numpy as np
import numpy.typing as npt
import torch

from mixnorm.benchmarks.corruptions import CORRUPTIONS, corrupt
from mixnorm.benchmarks.corruptions.frost_pictures import frost_source

Bytes = npt.NDArray[np.uint8]
SEEDS = range(4)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Our images of one corruption, drawn with several seeds, beside the published ones of the same clean images."""

    name: str
    draws: tuple[Bytes, ...]
    reference: Bytes
    labels: npt.NDArray[np.int64]

    def only(self, rows: npt.NDArray[np.bool_]) -> "Comparison":
        """Keep some of the images."""
        draws = tuple(images[rows] for images in self.draws)
        return replace(self, draws=draws, reference=self.reference[rows], labels=self.labels[rows])

    def difference_of_means(self) -> float:
        """Average the absolute difference of an image's mean, in steps of 1/255."""
        means = self.reference.mean((1, 2, 3))
        return float(np.mean([np.abs(images.mean((1, 2, 3)) - means) for images in self.draws]))

    def difference_of_stds(self) -> float:
        """Average the absolute difference of an image's standard deviation, in steps of 1/255."""
        stds = self.reference.std((1, 2, 3))
        return float(np.mean([np.abs(images.std((1, 2, 3)) - stds) for images in self.draws]))


def comparisons(real: Path, limit: int | None = None, names: Sequence[str] = CORRUPTIONS) -> Iterator[Comparison]:
    """Corrupt the clean images behind the reference images, at most `limit` per corruption, once with each seed."""
    reference = np.load(real / "cifar10c_mixed_severity5.npz")
    clean = np.load(real / "cifar10_test.npz")["x"]
    x, y, which, index = (reference[key] for key in ("x", "y", "corruption", "test_index"))
    for name in names:
        rows = np.flatnonzero(which == list(reference["corruption_names"]).index(name))[:limit]
        source, places = clean[index[rows]], index[rows]
        draws = tuple(corrupt(source, name, 5, seed=seed, indices=places) for seed in SEEDS)
        yield Comparison(name=name, draws=draws, reference=x[rows], labels=y[rows])


def load_network(real: Path, name: str = "cifar_resnet56") -> torch.nn.Module:
    """Load a network out of the `models.py` beside the data."""
    spec = importlib.util.spec_from_file_location("real_models", real / "models.py")
    if spec is None or spec.loader is None:
        raise SystemExit(f"error: {real / 'models.py'} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    network: torch.nn.Module = getattr(module, name)()
    return network


@torch.inference_mode()
def error(network: torch.nn.Module, images: Bytes, labels: npt.NDArray[np.int64]) -> float:
    """Measure the error in percent."""
    inputs = torch.from_numpy(images.transpose(0, 3, 1, 2) / np.float32(255))
    batches = (inputs[start : start + 128] for start in range(0, len(inputs), 128))
    predicted = [network(batch).argmax(1).numpy() for batch in batches]
    return 100 * float(np.mean(np.concatenate(predicted) != labels)) if predicted else 0.0


def differences(network: torch.nn.Module, pair: Comparison) -> list[float]:
    """Measure by how many points each draw's error is above that of the reference."""
    reference = error(network, pair.reference, pair.labels)
    return [error(network, images, pair.labels) - reference for images in pair.draws]


def row(network: torch.nn.Module, pair: Comparison) -> str:
    """Write one line of the table."""
    apart, reference = differences(network, pair), error(network, pair.reference, pair.labels)
    return (
        f"| {pair.name} | {len(pair.labels)} | {reference + mean(apart):.1f} | {reference:.1f} | {mean(apart):+.1f} "
        f"| {stdev(apart):.1f} | {max(apart, key=abs):+.1f} "
        f"| {pair.difference_of_means():.2f} | {pair.difference_of_stds():.2f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("real", type=Path, help="folder with cifar10_test.npz, cifar10c_mixed_severity5.npz, models.py")
    parser.add_argument("--corruptions", nargs="+", default=CORRUPTIONS, metavar="NAME", help="default: all")
    args = parser.parse_args()
    network = load_network(args.real)
    print(f"Frost pictures: {frost_source()}. Seeds: {', '.join(map(str, SEEDS))}.\n")
    print("| corruption | images | ours | reference | difference | std | worst draw | of means | of stds |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for pair in comparisons(args.real, names=args.corruptions):
        print(row(network, pair), flush=True)


if __name__ == "__main__":
    main()
