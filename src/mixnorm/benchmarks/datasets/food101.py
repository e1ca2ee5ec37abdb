"""Food-101: photographs in class folders, with the splits as lists of names."""

from pathlib import Path

from mixnorm.benchmarks.datasets.fetch import find
from mixnorm.benchmarks.datasets.files import FileDataset
from mixnorm.benchmarks.datasets.sizing import Sizing

SIZING = Sizing(resize=256, crop=224)


def load_food101(split: str, sizing: Sizing, data_dir: Path | None) -> FileDataset:
    """Return Food-101: 75,750 training and 25,250 test photographs, 224 px out of 256 unless said otherwise."""
    folder = find("food101", "food-101", data_dir)
    classes = tuple((folder / "meta" / "classes.txt").read_text().split())
    stems = (folder / "meta" / f"{split}.txt").read_text().split()
    number = {name: label for label, name in enumerate(classes)}
    paths = [folder / "images" / f"{stem}.jpg" for stem in stems]
    labels = [number[stem.split("/")[0]] for stem in stems]
    return FileDataset("food101", folder, paths, labels, classes, sizing=sizing or SIZING)
