"""Any folder with one folder of images per class; ImageNet's validation set is one."""

from pathlib import Path

from mixnorm.benchmarks.datasets.decode import SUFFIXES, check_same_size
from mixnorm.benchmarks.datasets.fetch import find
from mixnorm.benchmarks.datasets.files import FileDataset
from mixnorm.benchmarks.datasets.sizing import Sizing
from mixnorm.errors import DataError

IMAGENET_CLASSES = 1000
IMAGENET_SIZING = Sizing(resize=256, crop=224)


def load_folder(folder: Path, sizing: Sizing) -> FileDataset:
    """Return the images of `folder/<class>/<file>`; classes are numbered in the order of their folders' names.

    Unless they are resized, all images must have one size, which is checked before anything is decoded.
    """
    classes = class_folders(folder)
    files = {each.name: class_files(each) for each in classes}
    paths = [path for images in files.values() for path in images]
    if not sizing:
        check_same_size(paths)
    labels = [label for label, images in enumerate(files.values()) for _ in images]
    return FileDataset(folder.name, folder, paths, labels, tuple(files), sizing=sizing)


def load_imagenet(split: str, sizing: Sizing, data_dir: Path | None) -> FileDataset:
    """Return ImageNet's validation images out of their 1,000 class folders, 224 px out of 256 unless said otherwise."""
    folder = find("imagenet", f"imagenet/{split}", data_dir)
    dataset = load_folder(folder, sizing or IMAGENET_SIZING)
    check_class_count(folder, len(dataset.class_names))
    dataset.name = "imagenet"
    return dataset


def check_class_count(folder: Path, count: int) -> None:
    """Raise `DataError` unless there are 1,000 classes: a label is the place of its folder among all of them."""
    if count != IMAGENET_CLASSES:
        raise DataError(
            f"{folder} has {count} class folders, not ImageNet's {IMAGENET_CLASSES:,}, so labels would be wrong; "
            f"add the missing ones, or load the folder by its path to number its own classes"
        )


def class_folders(folder: Path) -> list[Path]:
    """Return the class folders in the order of their names."""
    found = sorted(each for each in folder.iterdir() if each.is_dir() and not each.name.startswith("."))
    if not found:
        raise DataError(f"{folder} has no class folders; give a folder with one folder of images per class")
    return found


def class_files(folder: Path) -> list[Path]:
    """Return the image files of a class folder in the order of their names."""
    # Hidden files are no images, whatever their suffix: macOS leaves a `._name.jpg` beside a `name.jpg`.
    found = sorted(each for each in folder.iterdir() if each.suffix.lower() in SUFFIXES and each.name[0] != ".")
    if not found:
        raise DataError(
            f"the class folder {folder} has no images; add some ({', '.join(sorted(SUFFIXES))}) or delete it"
        )
    return found
