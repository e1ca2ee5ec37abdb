from pathlib import Path

import pytest

from mixnorm.benchmarks.datasets import load_dataset
from mixnorm.errors import DataError, MissingDataError, SettingError, UnknownNameError
from tests.benchmarks.datasets.writers import write_mnist


def test_unknown_names_list_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown data set 'digit'; did you mean 'digits'"):
        load_dataset("digit")
    with pytest.raises(UnknownNameError, match="unknown split of digits 'tests'; did you mean 'test'"):
        load_dataset("digits", split="tests")
    for split in (5, ["test"]):
        with pytest.raises(SettingError, match="split must be a name, got"):
            load_dataset("digits", split=split)  # type: ignore[arg-type]


def test_the_data_folder_can_be_given(tmp_path: Path) -> None:
    write_mnist(tmp_path, "test", [1])
    assert len(load_dataset("mnist", data_dir=tmp_path)) == len(load_dataset("mnist", data_dir=str(tmp_path))) == 1
    with pytest.raises(MissingDataError, match=r"download_dataset\('mnist'\)"):
        load_dataset("mnist")


def test_names_win_over_paths_and_other_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "digits").mkdir()
    assert load_dataset("digits").name == "digits"
    (tmp_path / "own.csv").touch()
    with pytest.raises(DataError, match=r"own\.csv is neither a folder of images nor an \.npz file"):
        load_dataset("own.csv")
    for absent in ("absent.npz", Path("cifar")):
        with pytest.raises(MissingDataError, match=f"nothing at {absent}"):
            load_dataset(absent)


def test_digits_at_another_size() -> None:
    assert load_dataset("digits", resize=28).images([0]).shape == (1, 28, 28, 3)
