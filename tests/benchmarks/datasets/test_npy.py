import contextlib
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from mixnorm.benchmarks.datasets.npy import load_npy, open_npy
from mixnorm.benchmarks.datasets.sizing import Sizing
from mixnorm.errors import DataError, MissingDataError
from tests.benchmarks.datasets.writers import random_images


def test_an_array_is_mapped_not_read(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", random_images(3, 8, 8, 3))
    array = open_npy(tmp_path / "x.npy")
    assert isinstance(array, np.memmap)
    np.testing.assert_array_equal(array, random_images(3, 8, 8, 3))


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"nothing at .*absent\.npy"):
        open_npy(tmp_path / "absent.npy")


@pytest.mark.parametrize("place", range(128))
def test_no_damaged_byte_of_a_header_gives_anything_but_a_clear_error(tmp_path: Path, place: int) -> None:
    path = tmp_path / "x.npy"
    np.save(path, random_images(1, 4, 4, 3))
    content = path.read_bytes()
    for value in b"\0\n('9[\xff":
        path.write_bytes(content[:place] + bytes([value]) + content[place + 1 :])
        with contextlib.suppress(DataError):
            open_npy(path)


@pytest.mark.parametrize("header", [b"{'descr': '|u1', 'fortran_order': False, 'shape': (2, ", b"{'a", b"(" * 60])
def test_a_header_that_python_cannot_parse_is_refused(tmp_path: Path, header: bytes) -> None:
    path = tmp_path / "x.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    with pytest.raises(DataError, match=r"x\.npy cannot be read as an \.npy file of plain numbers"):
        open_npy(path)


def test_several_arrays_are_no_npy(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", x=np.zeros(3))
    (tmp_path / "x.npz").rename(tmp_path / "x.npy")
    with pytest.raises(DataError, match="it holds several arrays"):
        open_npy(tmp_path / "x.npy")


def test_images_are_brought_to_the_size_asked_for(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", random_images(2, 9, 11, 3))
    np.save(tmp_path / "y.npy", np.array([0, 3]))
    dataset = load_npy(tmp_path / "x.npy", tmp_path / "y.npy", Sizing(crop=5))
    np.testing.assert_array_equal(dataset.images([1])[0], random_images(2, 9, 11, 3)[1, 2:7, 3:8])
    assert dataset.class_names == ("0", "1", "2", "3")


@pytest.mark.parametrize("labels", [np.array([0, 2**31]), np.zeros(2), np.zeros((2, 1), int), np.array([], int)])
def test_labels_that_are_none_are_refused(tmp_path: Path, labels: npt.NDArray[np.generic]) -> None:
    np.save(tmp_path / "x.npy", random_images(2, 9, 11, 3))
    np.save(tmp_path / "y.npy", labels)
    with pytest.raises(DataError, match=r"y\.npy has labels"):
        load_npy(tmp_path / "x.npy", tmp_path / "y.npy", Sizing())
