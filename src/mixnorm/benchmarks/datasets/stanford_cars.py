"""Stanford Cars: photographs of 196 makes, with the labels in MATLAB files."""

from pathlib import Path

from mixnorm.benchmarks.datasets.fetch import find
from mixnorm.benchmarks.datasets.files import FileDataset
from mixnorm.benchmarks.datasets.matlab import read_mat
from mixnorm.benchmarks.datasets.sizing import ClipSizing, Sizing

ANNOTATIONS = {"test": "cars_test_annos_withlabels.mat", "train": "devkit/cars_train_annos.mat"}
SIZING = ClipSizing(resize=224, crop=224)  # the paper has this set for CLIP alone


def load_stanford_cars(split: str, sizing: Sizing, data_dir: Path | None) -> FileDataset:
    """Return Stanford Cars: 8,144 training and 8,041 test photographs, 224 px as for CLIP unless said otherwise."""
    meta = read_mat(find("stanford-cars", "stanford_cars/devkit/cars_meta.mat", data_dir), "class_names")
    names = tuple(str(name[0]) for name in meta["class_names"].reshape(-1))
    content = read_mat(find("stanford-cars", f"stanford_cars/{ANNOTATIONS[split]}", data_dir), "annotations")
    rows = content["annotations"].reshape(-1)
    folder = find("stanford-cars", f"stanford_cars/cars_{split}", data_dir)
    paths = [folder / str(row["fname"][0]) for row in rows]
    labels = [int(row["class"][0, 0]) - 1 for row in rows]
    return FileDataset("stanford-cars", folder, paths, labels, names, sizing=sizing or SIZING)
