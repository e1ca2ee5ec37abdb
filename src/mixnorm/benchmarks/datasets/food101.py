"""Food-101: photographs in class folders, with the splits as lists of names."""

from pathlib import Path

from mixnorm.benchmarks.datasets.fetch import find
from mixnorm.benchmarks.datasets.files import FileDataset
from mixnorm.benchmarks.datasets.sizing import ClipSizing, Sizing
from mixnorm.errors import DataError

SIZING = ClipSizing(resize=224, crop=224)  # the paper has this set for CLIP alone


def load_food101(split: str, sizing: Sizing, data_dir: Path | None) -> FileDataset:
    """Return Food-101: 75,750 training and 25,250 test photographs, 224 px as for CLIP unless said otherwise."""
    folder = find("food101", "food-101/images", data_dir)
    classes = tuple(find("food101", "food-101/meta/classes.txt", data_dir).read_text().split())
    stems = find("food101", f"food-101/meta/{split}.txt", data_dir).read_text().split()
    paths = [folder / f"{stem}.jpg" for stem in stems]
    try:
        number = {name: label for label, name in enumerate(classes)}
        labels = [number[stem.split("/")[0]] for stem in stems]
    except KeyError as error:
        raise DataError(
            f"meta/{split}.txt of {folder.parent} names the class {error}, meta/classes.txt does not"
        ) from error
    return FileDataset("food101", folder, paths, labels, classes, sizing=sizing or SIZING)
