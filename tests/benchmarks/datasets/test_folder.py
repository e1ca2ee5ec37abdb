from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mixnorm.benchmarks.datasets import load_dataset
from mixnorm.errors import DataError, MissingDataError
from tests.benchmarks.datasets.writers import random_images, write_folder, write_image, write_png_of_16_bits
from tests.real import REAL, needs_real


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_folder(tmp_path / "pets", {"dog": 2, "cat": 3})
    return tmp_path / "pets"


def test_classes_are_numbered_by_name(folder: Path) -> None:
    (folder / "notes.txt").write_text("not a class")
    (folder / ".cache").mkdir()
    (folder / "cat" / "notes.txt").write_text("not an image")
    dataset = load_dataset(folder)
    assert dataset.class_names == ("cat", "dog")
    assert dataset.labels.tolist() == [0, 0, 0, 1, 1]
    np.testing.assert_array_equal(dataset.images([3])[0], np.asarray(Image.open(folder / "dog" / "0.png")))
    assert dataset.images([]).shape[0] == 0


def test_grey_rgba_and_palette_files_become_rgb(tmp_path: Path) -> None:
    pixels = random_images(1, 8, 8, 3)[0]
    write_image(tmp_path / "set" / "a" / "0.png", pixels)
    Image.fromarray(pixels).convert("L").save(tmp_path / "set" / "a" / "1.png")
    Image.fromarray(np.dstack([pixels, random_images(1, 8, 8)[0]])).save(tmp_path / "set" / "a" / "2.png")
    Image.fromarray(pixels).quantize(8).save(tmp_path / "set" / "a" / "3.png")
    images = load_dataset(tmp_path / "set").images(range(4))
    assert images.shape == (4, 8, 8, 3)
    np.testing.assert_array_equal(images[2], pixels)
    assert (images[1, ..., 0] == images[1, ..., 1]).all()


def test_of_sixteen_bits_the_upper_eight_are_kept_in_grey_and_in_colour(tmp_path: Path) -> None:
    (tmp_path / "set" / "a").mkdir(parents=True)
    colours = np.random.default_rng(0).integers(0, 2**16, (8, 9, 3)).astype(np.uint16)
    write_png_of_16_bits(tmp_path / "set" / "a" / "0.png", colours)
    write_png_of_16_bits(tmp_path / "set" / "a" / "1.png", colours[..., :1])
    images = load_dataset(tmp_path / "set").images([0, 1])
    np.testing.assert_array_equal(images[0], colours >> 8)
    np.testing.assert_array_equal(images[1], np.repeat(colours[..., :1] >> 8, 3, axis=-1))


def test_more_than_sixteen_bits_are_refused_not_clipped(tmp_path: Path) -> None:
    (tmp_path / "set" / "a").mkdir(parents=True)
    Image.fromarray(np.full((8, 8), 0.5, np.float32)).save(tmp_path / "set" / "a" / "0.tiff")
    with pytest.raises(DataError, match=r"0\.tiff .*more than 8 bits"):
        load_dataset(tmp_path / "set").images([0])


def test_pixels_stay_as_they_are_stored_whatever_the_camera_notes(tmp_path: Path) -> None:
    pixels = random_images(1, 6, 9, 3)[0]
    (tmp_path / "set" / "a").mkdir(parents=True)
    turned = Image.Exif()
    turned[0x0112] = 6  # to be shown turned by 90 degrees
    Image.fromarray(pixels).save(tmp_path / "set" / "a" / "0.png", exif=turned)
    np.testing.assert_array_equal(load_dataset(tmp_path / "set").images([0])[0], pixels)


def test_hidden_files_are_no_images(folder: Path) -> None:
    (folder / "cat" / "._0.png").write_bytes(b"what macOS leaves beside 0.png")
    assert len(load_dataset(folder)) == 5


def test_different_sizes_name_two_files_before_any_work(folder: Path) -> None:
    write_image(folder / "dog" / "large.png", random_images(1, 9, 8, 3)[0])
    with pytest.raises(DataError, match=r"cat/0\.png is 8 x 8, .*dog/large\.png is 8 x 9; give resize="):
        load_dataset(folder)
    assert load_dataset(folder, resize=8).images(range(6)).shape == (6, 8, 8, 3)


def test_an_empty_class_folder_is_named(folder: Path) -> None:
    (folder / "bird").mkdir()
    with pytest.raises(DataError, match=r"pets/bird has no images; add some"):
        load_dataset(folder)


def test_a_folder_without_classes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no class folders"):
        load_dataset(tmp_path)


def test_a_file_that_is_no_image_is_named(folder: Path) -> None:
    (folder / "cat" / "bad.jpg").write_bytes(b"not a picture")
    with pytest.raises(DataError, match=r"cat/bad\.jpg cannot be read as an image"):
        load_dataset(folder)


def test_a_cut_file_is_named_when_it_is_read(folder: Path) -> None:
    path = folder / "cat" / "0.png"
    path.write_bytes(path.read_bytes()[:-60])
    with pytest.raises(DataError, match=r"cat/0\.png cannot be read as an image"):
        load_dataset(folder).images([1, 0])


def test_the_fingerprint_follows_the_files(folder: Path, tmp_path: Path) -> None:
    before = load_dataset(folder).fingerprint()
    write_folder(tmp_path / "elsewhere" / "pets", {"dog": 2, "cat": 3})
    assert load_dataset(tmp_path / "elsewhere" / "pets").fingerprint() == before
    assert load_dataset(folder, resize=8).fingerprint() != before
    (folder / "dog" / "0.png").rename(folder / "dog" / "9.png")
    assert load_dataset(folder).fingerprint() != before


def test_a_split_of_a_folder_is_refused(folder: Path) -> None:
    with pytest.raises(DataError, match="has no splits; give the path of its 'train' folder"):
        load_dataset(folder, split="train")


def test_imagenet_needs_all_its_classes(data_folder: Path) -> None:
    write_folder(data_folder / "imagenet" / "val", {"n01440764": 1, "n01443537": 1})
    with pytest.raises(DataError, match="2 class folders, not ImageNet's 1,000"):
        load_dataset("imagenet")


def test_imagenet_is_scaled_to_256_and_cropped_to_224(data_folder: Path) -> None:
    for number in range(1000):
        write_image(data_folder / "imagenet" / "val" / f"n{number:08d}" / "0.png", np.zeros((4, 5), np.uint8))
    dataset = load_dataset("imagenet")
    assert dataset.name == "imagenet"
    assert dataset.labels.tolist() == list(range(1000))
    assert dataset.images([999]).shape == (1, 224, 224, 3)


def test_an_image_that_went_away_is_named(folder: Path) -> None:
    dataset = load_dataset(folder)
    (folder / "cat" / "0.png").unlink()
    with pytest.raises(DataError, match=r"cat/0\.png cannot be read"):
        dataset.images([0])


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="there is nothing at"):
        load_dataset(tmp_path / "absent")


@needs_real
def test_real_imagenet_images() -> None:
    dataset = load_dataset(REAL / "imagenet_val")
    assert len(dataset) == len(dataset.class_names) == 1000
    assert dataset.images([0, 500, 999]).shape == (3, 224, 224, 3)
