from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from mixnorm.benchmarks.corrupted_copies import CopySettings
from mixnorm.errors import DataError, MissingDataError, SettingError, UnknownNameError
from tests.benchmarks.corrupted_copies.sources import image_folder
from tests.benchmarks.corruptions.images import scenes


def settings(source: Path | str, **rest: Any) -> CopySettings:
    return CopySettings(source=str(source), output=Path("out"), **rest)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"corruptions": ("fogg",)}, UnknownNameError, "did you mean 'fog'"),
        ({"corruptions": ()}, SettingError, "at least one corruption"),
        ({"severities": (0,), "layout": "folders"}, SettingError, "severity=0 is not one of 1, 2, 3, 4, 5"),
        ({"severities": (1, 5)}, SettingError, "use the layout 'folders'"),
        ({"layout": "zip"}, UnknownNameError, "unknown layout 'zip'"),
        ({"scale": "huge"}, UnknownNameError, "unknown scale 'huge'"),
        ({"workers": 0}, SettingError, "workers must be a whole number of 1 or more, got 0"),
        ({"seed": -1}, SettingError, "seed must be a whole number of 0 or more, got -1"),
        ({"workers": True}, SettingError, "workers must be a whole number of 1 or more, got True"),
        ({"seed": "0"}, SettingError, "seed must be a whole number of 0 or more, got '0'"),
        ({"corruptions": 5}, SettingError, "corruptions must be a name or a list of names, got 5"),
        ({"severities": 5}, SettingError, "severities must be a tuple of numbers, got 5"),
        ({"severities": (5.0,), "layout": "folders"}, SettingError, "severity=5.0 is not one of"),
        ({"resize": "32"}, SettingError, "resize must be a whole number of 1 or more, got '32'"),
        ({"resize": 8, "crop": 9}, SettingError, "crop=9 is larger than resize=8"),
        ({"output": ""}, SettingError, "the output must be a name or a path, got ''"),
        ({"output": None}, SettingError, "the output must be a name or a path, got None"),
        ({"source": ""}, SettingError, "the input must be a name or a path, got ''"),
        ({"source": ["digits"]}, SettingError, "the input must be a name or a path"),
        ({"batch_size": 1.5}, SettingError, r"batch_size must be a whole number of 1 or more, got 1\.5"),
    ],
)
def test_wrong_settings_are_refused_when_made(wrong: dict[str, Any], error: type[Exception], message: str) -> None:
    defaults: dict[str, Any] = {"source": "digits", "output": Path("out")}
    with pytest.raises(error, match=message):
        CopySettings(**defaults | wrong)


def test_the_layout_follows_the_source(tmp_path: Path) -> None:
    assert settings("digits").layout_name == "arrays"
    assert settings(tmp_path).layout_name == "folders"
    assert settings(tmp_path, layout="arrays").layout_name == "arrays"


def test_an_npy_of_images_opens_with_its_labels(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", scenes(4))
    np.save(tmp_path / "y.npy", np.array([0, 1, 2, 1]))
    dataset = settings(tmp_path / "x.npy", labels=tmp_path / "y.npy").open()
    assert (dataset.images([3]) == scenes(4)[3:]).all()
    assert dataset.labels.tolist() == [0, 1, 2, 1]


def test_npy_files_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", scenes(4))
    np.save(tmp_path / "three.npy", np.arange(3))
    np.save(tmp_path / "floats.npy", np.zeros(4))
    (tmp_path / "broken.npy").write_bytes((tmp_path / "x.npy").read_bytes()[:200])
    (tmp_path / "text.npy").write_text("hello")
    with pytest.raises(SettingError, match=r"x\.npy holds images only; give the \.npy file of their labels"):
        settings(tmp_path / "x.npy").open()
    for labels, message in (
        ("three.npy", "4 images and 3 labels|3 labels"),
        ("floats.npy", "not one integer per image"),
    ):
        with pytest.raises(DataError, match=message):
            settings(tmp_path / "x.npy", labels=tmp_path / labels).open()
    for broken in ("broken.npy", "text.npy"):
        with pytest.raises(DataError, match=f"{broken} cannot be read"):
            settings(tmp_path / broken, labels=tmp_path / "three.npy").open()
    with pytest.raises(MissingDataError, match=r"nothing at .*absent\.npy"):
        settings(tmp_path / "absent.npy", labels=tmp_path / "three.npy").open()
    with pytest.raises(SettingError, match=r"go with an \.npy file"):
        settings("digits", labels=tmp_path / "three.npy").open()


def test_an_npy_is_brought_to_size_and_has_no_splits(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", scenes(4))
    np.save(tmp_path / "y.npy", np.array([0, 1, 2, 1]))
    own = {"labels": tmp_path / "y.npy"}
    assert settings(tmp_path / "x.npy", resize=16, crop=8, **own).open().images([0]).shape == (1, 8, 8, 3)
    with pytest.raises(SettingError, match=r"split='train' is for data sets that have several; .*x\.npy is one array"):
        settings(tmp_path / "x.npy", split="train", **own).open()


def test_a_name_means_the_data_set_whatever_folder_is_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    image_folder(tmp_path / "digits")
    assert (settings("digits").layout_name, len(settings("digits").open())) == ("arrays", 600)
    assert (settings("./digits").layout_name, len(settings("./digits").open())) == ("folders", 9)


def test_images_that_are_corrupted_already_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "own.npz", x=scenes(2), y=np.array([0, 1]), corruption=np.array(["fog", "snow"]))
    with pytest.raises(DataError, match="corrupted already; give the clean ones"):
        settings(tmp_path / "own.npz").open()


def test_bad_folders_are_refused_before_any_work(tmp_path: Path) -> None:
    folder = image_folder(tmp_path / "in")
    Image.new("RGB", (20, 30)).save(folder / "dog" / "small.png")
    with pytest.raises(DataError, match=r"different sizes.*20 x 30"):
        settings(folder).open()
    assert settings(folder, resize=16).open().images([0, 1]).shape == (2, 16, 16, 3)
    (folder / "dog" / "small.png").write_text("no image")
    with pytest.raises(DataError, match=r"small\.png cannot be read as an image"):
        settings(folder).open()
    (folder / "dog" / "small.png").unlink()
    (folder / "empty").mkdir()
    with pytest.raises(DataError, match="empty has no images"):
        settings(folder).open()
