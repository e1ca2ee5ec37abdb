"""Small data sets in the formats of the published ones, for tests; each returns what was put in."""

import bz2
import gzip
import struct
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt
import scipy.io
from PIL import Image

Bytes = npt.NDArray[np.uint8]


def random_images(count: int, *shape: int, seed: int = 0) -> Bytes:
    return np.random.default_rng(seed).integers(0, 256, (count, *shape), dtype=np.uint8)


def write_image(path: Path, pixels: Bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


def write_cifar10(root: Path, split: str, labels: list[int]) -> Bytes:
    images = random_images(len(labels), 32, 32, 3)
    folder = root / "cifar-10-batches-bin"
    folder.mkdir(parents=True, exist_ok=True)
    names = ["test_batch"] if split == "test" else [f"data_batch_{number}" for number in range(1, 6)]
    parts = np.array_split(np.arange(len(labels)), len(names))
    for name, part in zip(names, parts, strict=True):
        with (folder / f"{name}.bin").open("wb") as file:
            for index in part:
                file.write(bytes([labels[index]]))
                for channel in range(3):
                    file.write(images[index, :, :, channel].tobytes())
    (folder / "batches.meta.txt").write_text("airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n\n")
    return images


def write_cifar100(root: Path, split: str, labels: list[int]) -> Bytes:
    images = random_images(len(labels), 32, 32, 3)
    folder = root / "cifar-100-binary"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{split}.bin").open("wb") as file:
        for label, image in zip(labels, images, strict=True):
            file.write(bytes([label // 5, label]))
            for channel in range(3):
                file.write(image[:, :, channel].tobytes())
    (folder / "fine_label_names.txt").write_text("\n".join(f"class_{number}" for number in range(100)) + "\n")
    return images


def write_svhn(root: Path, split: str, labels: list[int]) -> Bytes:
    images = random_images(len(labels), 32, 32, 3)
    (root / "svhn").mkdir(parents=True, exist_ok=True)
    stored = np.array([[10 if label == 0 else label] for label in labels], dtype=np.uint8)
    content = {"X": np.stack(list(images), axis=-1), "y": stored}
    scipy.io.savemat(root / "svhn" / f"{split}_32x32.mat", content)
    return images


def write_idx(path: Path, values: Bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    header = bytes([0, 0, 8, values.ndim]) + b"".join(struct.pack(">I", length) for length in values.shape)
    path.write_bytes(gzip.compress(header + values.tobytes()))


def write_mnist(root: Path, split: str, labels: list[int]) -> Bytes:
    images = random_images(len(labels), 28, 28)
    prefix = "t10k" if split == "test" else "train"
    write_idx(root / "mnist" / f"{prefix}-images-idx3-ubyte.gz", images)
    write_idx(root / "mnist" / f"{prefix}-labels-idx1-ubyte.gz", np.array(labels, dtype=np.uint8))
    return images


def write_usps(root: Path, split: str, labels: list[int]) -> Bytes:
    images = random_images(len(labels), 16, 16)
    lines = []
    for label, image in zip(labels, images, strict=True):
        values = " ".join(f"{place}:{value / 127.5 - 1:.4f}" for place, value in enumerate(image.ravel(), start=1))
        lines.append(f"{label + 1} {values} \n")
    (root / "usps").mkdir(parents=True, exist_ok=True)
    name = "usps.t.bz2" if split == "test" else "usps.bz2"
    (root / "usps" / name).write_bytes(bz2.compress("".join(lines).encode()))
    return images


def write_mnist_m(root: Path, split: str, labels: list[int]) -> Bytes:
    images = random_images(len(labels), 32, 32, 3)
    lines = []
    for number, (label, image) in enumerate(zip(labels, images, strict=True)):
        write_image(root / "mnist_m" / f"mnist_m_{split}" / f"{number:08d}.png", image)
        lines.append(f"{number:08d}.png {label}\n")
    (root / "mnist_m" / f"mnist_m_{split}_labels.txt").write_text("".join(lines))
    return images


def write_stl10(root: Path, split: str, labels: list[int]) -> Bytes:
    images = random_images(len(labels), 96, 96, 3)
    folder = root / "stl10_binary"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{split}_X.bin").open("wb") as file:
        for image in images:
            for channel in range(3):
                file.write(image[:, :, channel].tobytes(order="F"))  # column by column
    (folder / f"{split}_y.bin").write_bytes(bytes(label + 1 for label in labels))
    names = ["airplane", "bird", "car", "cat", "deer", "dog", "horse", "monkey", "ship", "truck"]
    (folder / "class_names.txt").write_text("\n".join(names) + "\n")
    return images


def write_food101(root: Path, split: str, labels: list[int]) -> Bytes:
    names = ["apple_pie", "baby_back_ribs", "baklava"]
    images = random_images(len(labels), 224, 224, 3)
    stems = []
    for number, (label, image) in enumerate(zip(labels, images, strict=True)):
        stems.append(f"{names[label]}/{number}")
        write_image(root / "food-101" / "images" / f"{stems[-1]}.png", image)
        # The files are JPEG by name; lossless content lets the test compare pixels.
        (root / "food-101" / "images" / f"{stems[-1]}.png").rename(root / "food-101" / "images" / f"{stems[-1]}.jpg")
    meta = root / "food-101" / "meta"
    meta.mkdir(parents=True, exist_ok=True)
    (meta / "classes.txt").write_text("\n".join(names) + "\n")
    (meta / f"{split}.txt").write_text("\n".join(stems) + "\n")
    return images


def write_stanford_cars(root: Path, split: str, labels: list[int]) -> Bytes:
    images = random_images(len(labels), 224, 224, 3)
    folder = root / "stanford_cars"
    (folder / "devkit").mkdir(parents=True, exist_ok=True)
    names = np.array(["AM General Hummer SUV 2000", "Acura RL Sedan 2012", "Acura TL Sedan 2012"], dtype=object)
    scipy.io.savemat(folder / "devkit" / "cars_meta.mat", {"class_names": names})
    kind = [(field, object) for field in ("bbox_x1", "bbox_y1", "bbox_x2", "bbox_y2", "class", "fname")]
    rows = np.empty((1, len(labels)), dtype=kind)
    for number, (label, image) in enumerate(zip(labels, images, strict=True)):
        file = f"{number + 1:05d}.jpg"
        write_image(folder / f"cars_{split}" / f"{file}.png", image)
        (folder / f"cars_{split}" / f"{file}.png").rename(folder / f"cars_{split}" / file)
        rows[0, number] = (1, 2, 30, 40, label + 1, file)
    place = "cars_test_annos_withlabels.mat" if split == "test" else "devkit/cars_train_annos.mat"
    scipy.io.savemat(folder / place, {"annotations": rows})
    return images


def write_folder(folder: Path, classes: dict[str, int], side: int = 8, suffix: str = ".png") -> Bytes:
    images = random_images(sum(classes.values()), side, side, 3)
    queue = iter(images)
    for name, count in classes.items():
        for number in range(count):
            write_image(folder / name / f"{number}{suffix}", next(queue))
    return images


def write_array_benchmark(folder: Path, corruptions: list[str], labels: list[int], side: int = 8) -> dict[str, Bytes]:
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "labels.npy", np.tile(np.array(labels, dtype=np.uint8), 5))
    stored = {}
    for seed, name in enumerate(corruptions):
        stored[name] = random_images(5 * len(labels), side, side, 3, seed=seed)
        np.save(folder / f"{name}.npy", stored[name])
    return stored


def write_png_of_16_bits(path: Path, values: npt.NDArray[np.uint16]) -> None:
    """Write grey or colours (H, W, 1 or 3) as a PNG of 16 bits per channel, which Pillow cannot do for colours."""
    height, width, channels = values.shape
    head = struct.pack(">IIBBBBB", width, height, 16, {1: 0, 3: 2}[channels], 0, 0, 0)
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + b"".join(
            struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
            for kind, content in chunks
        )
    )
