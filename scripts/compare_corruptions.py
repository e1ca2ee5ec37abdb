"""Compare our corruptions with images of the published generator, made from the same CIFAR-10 test images.

Prints a Markdown table, one row per corruption at severity 5. It needs the folder of real data and networks:

    python scripts/compare_corruptions.py ../shared/real
"""

import argparse
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from mixnorm.benchmarks.corruptions import CORRUPTIONS, corrupt
from mixnorm.benchmarks.corruptions.frost_pictures import frost_source

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Our images of one corruption beside the published generator's, from the same clean images."""

    name: str
    clean: Bytes
    ours: Bytes
    reference: Bytes
    labels: npt.NDArray[np.int64]

    def only(self, rows: npt.NDArray[np.bool_]) -> "Comparison":
        """Keep some of the images."""
        fields = ("clean", "ours", "reference", "labels")
        return replace(self, **{field: getattr(self, field)[rows] for field in fields})

    def difference_of_means(self) -> float:
        """Average the absolute difference of an image's mean, in steps of 1/255."""
        return float(np.abs(self.ours.mean((1, 2, 3)) - self.reference.mean((1, 2, 3))).mean())

    def difference_of_stds(self) -> float:
        """Average the absolute difference of an image's standard deviation, in steps of 1/255."""
        return float(np.abs(self.ours.std((1, 2, 3)) - self.reference.std((1, 2, 3))).mean())


def comparisons(real: Path, limit: int | None = None) -> Iterator[Comparison]:
    """Corrupt the clean images behind the reference images, at most `limit` per corruption."""
    reference = np.load(real / "cifar10c_mixed_severity5.npz")
    clean = np.load(real / "cifar10_test.npz")["x"]
    x, y, which, index = (reference[key] for key in ("x", "y", "corruption", "test_index"))
    for name in CORRUPTIONS:
        rows = np.flatnonzero(which == list(reference["corruption_names"]).index(name))[:limit]
        source = clean[index[rows]]
        ours = corrupt(source, name, 5, indices=index[rows])
        yield Comparison(name=name, clean=source, ours=ours, reference=x[rows], labels=y[rows])


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("real", type=Path, help="folder with cifar10_test.npz, cifar10c_mixed_severity5.npz, models.py")
    folder = parser.parse_args().real
    network = load_network(folder)
    print(f"Frost pictures: {frost_source()}.\n")
    print("| corruption | images | error of ours | error of reference | difference | of means | of stds |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for pair in comparisons(folder):
        ours, reference = (error(network, images, pair.labels) for images in (pair.ours, pair.reference))
        print(
            f"| {pair.name} | {len(pair.labels)} | {ours:.1f} | {reference:.1f} | {ours - reference:+.1f} "
            f"| {pair.difference_of_means():.2f} | {pair.difference_of_stds():.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
