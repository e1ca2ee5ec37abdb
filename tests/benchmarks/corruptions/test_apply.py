import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mixnorm.benchmarks.corruptions.apply as module
from mixnorm.benchmarks.corruptions import CORRUPTIONS, EXTRA_CORRUPTIONS, SCALES, Scale, corrupt
from mixnorm.errors import DataError, MissingExtraError, SettingError, UnknownNameError
from tests.benchmarks.corruptions.images import Bytes, scenes
from tests.real import PROJECT

ALL = CORRUPTIONS + EXTRA_CORRUPTIONS
RANDOM = set(ALL) - {
    "defocus_blur",
    "zoom_blur",
    "gaussian_blur",
    "brightness",
    "contrast",
    "saturate",
    "pixelate",
    "jpeg_compression",
}


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", ALL)
def test_an_image_gets_the_same_bytes_in_every_batch_and_order(
    name: str, scale: Scale, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = scenes(9, 40, 48)
    before = images.copy()
    whole = corrupt(images, name, 5, scale=scale)
    assert (images == before).all()
    assert whole.shape == images.shape
    assert whole.dtype == np.uint8
    order = np.random.default_rng(0).permutation(9)
    assert (corrupt(images[order], name, 5, scale=scale, indices=order) == whole[order]).all()
    alone = [corrupt(images[i : i + 1], name, 5, scale=scale, indices=[i]) for i in range(9)]
    assert (np.concatenate(alone) == whole).all()
    monkeypatch.setattr(module, "_BLOCK_PIXELS", 4 * 40 * 48)
    assert (corrupt(images, name, 5, scale=scale) == whole).all()


@pytest.mark.parametrize("name", ALL)
def test_seed_severity_and_index_each_change_random_corruptions(name: str) -> None:
    image = scenes(1)
    first = corrupt(image, name, 3)
    changed = (corrupt(image, name, 3, seed=1) != first).any(), (corrupt(image, name, 3, indices=[1]) != first).any()
    assert changed == ((name in RANDOM),) * 2
    assert (corrupt(image, name, 5) != first).any()


@pytest.mark.parametrize("name", ALL)
def test_every_size_down_to_a_few_pixels_works(name: str) -> None:
    for shape in ((1, 5, 7, 3), (2, 33, 64, 3), (0, 32, 32, 3)):
        images = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
        for scale in SCALES:
            assert corrupt(images, name, 5, scale=scale).shape == shape


def test_the_size_of_the_images_chooses_the_constants() -> None:
    small, large = scenes(1, 99, 120), scenes(1, 100, 120)
    assert (corrupt(small, "contrast", 5) == corrupt(small, "contrast", 5, scale="small")).all()
    assert (corrupt(large, "contrast", 5) == corrupt(large, "contrast", 5, scale="large")).all()


def test_the_number_of_threads_does_not_change_the_bytes(tmp_path: Path) -> None:
    """Dense matrix products of a few hundred rows are split among threads, and add up differently then."""
    np.save(tmp_path / "images.npy", scenes(2, 224, 224))
    code = (
        "import sys, hashlib, numpy as np; from mixnorm.benchmarks.corruptions import corrupt\n"
        "x = np.load(sys.argv[1]); names = 'gaussian_blur glass_blur elastic_transform defocus_blur zoom_blur snow'\n"
        "print([hashlib.sha256(corrupt(x, name, 5)).hexdigest() for name in names.split()])"
    )
    hashes = set()
    for threads in ("1", "2"):
        environment = os.environ | {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
        command = [sys.executable, "-c", code, str(tmp_path / "images.npy")]
        run = subprocess.run(command, env=environment, cwd=PROJECT, capture_output=True, text=True, check=True)
        hashes.add(run.stdout)
    assert len(hashes) == 1


def test_names_are_there_without_scipy_and_pillow() -> None:
    code = (
        "import sys, mixnorm.benchmarks.corruptions as c\n"
        "assert len(c.CORRUPTIONS) == 15 and len(c.EXTRA_CORRUPTIONS) == 4\n"
        "assert not {'scipy', 'PIL'} & set(sys.modules), sorted({'scipy', 'PIL'} & set(sys.modules))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=PROJECT)


def test_a_missing_library_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    module._functions.cache_clear()
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(MissingExtraError, match=r"scipy is not installed.*mixnorm\[benchmarks\]"):
        corrupt(scenes(1), "fog", 1)


def test_wrong_names_and_severities_say_what_is_right() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'motion_blur'"):
        corrupt(scenes(1), "motion_blurr", 1)
    with pytest.raises(SettingError, match=r"severity=6 is not one of 1, 2, 3, 4, 5"):
        corrupt(scenes(1), "fog", 6)
    with pytest.raises(UnknownNameError, match="unknown scale 'huge'"):
        corrupt(scenes(1), "fog", 1, scale="huge")  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="seed must be a whole number of 0 or more, got -1"):
        corrupt(scenes(1), "fog", 1, seed=-1)


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (scenes(1) / 255, "uint8, not float64"),
        (scenes(1)[0], r"\(N, H, W, 3\), not \(32, 32, 3\)"),
        (scenes(1)[..., :1], r"not \(1, 32, 32, 1\)"),
        ([[1]], "uint8, not list"),
    ],
)
def test_wrong_images_say_what_is_wrong(images: Bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        corrupt(images, "fog", 1)


@pytest.mark.parametrize("indices", [[0], [0.5, 1.5], [[0, 1]], [-1, 0]])
def test_wrong_indices_are_refused(indices: object) -> None:
    with pytest.raises(SettingError, match="indices must be"):
        corrupt(scenes(2), "fog", 1, indices=indices)  # type: ignore[arg-type]


@pytest.mark.parametrize("severity", [5.0, True, "5", None, [5]])
def test_a_severity_of_another_type_is_refused(severity: object) -> None:
    with pytest.raises(SettingError, match="is not one of 1, 2, 3, 4, 5"):
        corrupt(scenes(1), "fog", severity)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [["fog"], None, 3])
def test_a_name_of_another_type_is_refused(name: object) -> None:
    with pytest.raises(UnknownNameError, match="unknown corruption"):
        corrupt(scenes(1), name, 1)  # type: ignore[arg-type]


def test_numbers_of_numpy_are_as_good_as_those_of_python() -> None:
    expected = corrupt(scenes(1), "fog", 3, seed=7)
    assert (corrupt(scenes(1), "fog", np.int64(3), seed=np.uint8(7)) == expected).all()  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="seed must be a whole number of 0 or more, got True"):
        corrupt(scenes(1), "fog", 3, seed=True)
