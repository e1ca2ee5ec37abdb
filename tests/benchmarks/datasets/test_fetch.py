import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from mixnorm.benchmarks.datasets import download_dataset, load_dataset
from mixnorm.benchmarks.datasets.sources import SOURCES, Source
from mixnorm.errors import ChecksumError, DownloadError, UnknownNameError
from tests.benchmarks.conftest import FileServer
from tests.benchmarks.datasets.writers import write_cifar10, write_mnist


def test_every_source_is_official_and_verifiable() -> None:
    for name, sources in SOURCES.items():
        for source in sources:
            assert source.by_hand or source.url.startswith("https://"), name
            assert source.by_hand or len(source.md5 or "") == 32, name


def test_an_archive_is_fetched_verified_unpacked_and_deleted(
    server: FileServer, data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_cifar10(tmp_path, "test", [3, 4])
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        tar.add(tmp_path / "cifar-10-batches-bin", "cifar-10-batches-bin")
    server.files["cifar.tar.gz"] = packed.getvalue()
    source = Source(
        url=server.url("cifar.tar.gz"),
        makes="cifar-10-batches-bin",
        unpack_in="",
        md5=hashlib.md5(packed.getvalue()).hexdigest(),
        size=len(packed.getvalue()),
    )
    monkeypatch.setitem(SOURCES, "cifar10", (source,))
    download_dataset("cifar10", quiet=True)
    assert load_dataset("cifar10").labels.tolist() == [3, 4]
    assert [path.name for path in data_folder.iterdir()] == ["cifar-10-batches-bin"]
    download_dataset("cifar10", quiet=True)
    assert len(server.asked) == 1


def test_plain_files_are_fetched_to_where_they_are_read(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_mnist(tmp_path, "test", [7, 1])
    sources = []
    for source in SOURCES["mnist"][:2]:
        content = (tmp_path / source.makes).read_bytes()
        server.files[source.makes] = content
        digest = hashlib.md5(content).hexdigest()
        sources.append(Source(url=server.url(source.makes), makes=source.makes, md5=digest))
    monkeypatch.setitem(SOURCES, "mnist", tuple(sources))
    download_dataset("mnist", data_dir=tmp_path / "own", quiet=True)
    assert load_dataset("mnist", data_dir=tmp_path / "own").labels.tolist() == [7, 1]


def test_other_bytes_than_the_published_ones_are_refused(
    server: FileServer, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.files["set.tar"] = b"anything"
    source = Source(url=server.url("set.tar"), makes="CIFAR-10-C", unpack_in="", md5="0" * 32)
    monkeypatch.setitem(SOURCES, "cifar10-c", (source,))
    with pytest.raises(ChecksumError):
        download_dataset("cifar10-c", quiet=True)
    assert list(data_folder.iterdir()) == []


@pytest.mark.parametrize("name", ["imagenet", "mnist-m", "stanford-cars"])
def test_what_no_program_can_fetch_says_what_to_do(name: str, data_folder: Path) -> None:
    with pytest.raises(DownloadError, match=f"{name} cannot be downloaded by a program.*put it at {data_folder}"):
        download_dataset(name)


def test_an_unknown_name_lists_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'cifar10-c'"):
        download_dataset("cifar-10-c")
