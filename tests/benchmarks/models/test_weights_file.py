import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mixnorm.benchmarks.models.weights_file import ShippedWeights, WeightsFile, checksum_in_name
from mixnorm.errors import ChecksumError, DownloadError, MissingDataError
from tests.benchmarks.conftest import FileServer

CONTENT = b"weights" * 1000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def file(server: FileServer, sha256: str | None = SHA256[:8], by_hand: str | None = None) -> WeightsFile:
    server.files["net.pt"] = CONTENT
    return WeightsFile(url=server.url("net.pt"), path="lab/net.pt", sha256=sha256, by_hand=by_hand)


@pytest.mark.parametrize("sha256", [None, SHA256[:8], SHA256])
def test_a_download_lands_in_the_data_folder(server: FileServer, data_folder: Path, sha256: str | None) -> None:
    weights = file(server, sha256)
    path = weights.fetch("net", quiet=True)
    assert path == data_folder / "models/lab/net.pt"
    assert path.read_bytes() == CONTENT
    assert weights.find("net") == weights.fetch("net", quiet=True) == path
    assert len(server.asked) == 1


def test_a_folder_may_be_given(server: FileServer, tmp_path: Path) -> None:
    assert file(server).fetch("net", tmp_path, quiet=True) == tmp_path / "models/lab/net.pt"


def test_a_cut_connection_is_taken_up_again(server: FileServer) -> None:
    server.cuts = [3000]
    assert file(server).fetch("net", quiet=True).read_bytes() == CONTENT


def test_a_download_with_other_bytes_never_arrives(server: FileServer, data_folder: Path) -> None:
    weights = file(server, sha256="0123abcd")
    with pytest.raises(ChecksumError, match=r"not the published 0123abcd; it came from .* and was deleted"):
        weights.fetch("net", quiet=True)
    assert not any(path.is_file() for path in data_folder.rglob("*"))


def test_several_at_once_fetch_it_once(server: FileServer) -> None:
    server.pause = 0.1
    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(file(server).fetch, "net", quiet=True) for _ in range(4)]
    assert [call.result().read_bytes() for call in calls] == [CONTENT] * 4
    assert len(server.asked) == 1


def test_a_web_page_in_place_of_weights_never_arrives(server: FileServer, data_folder: Path) -> None:
    weights = file(server, sha256=None)
    server.files["net.pt"] = b"<!DOCTYPE html><title>Sign in to the network</title>"
    with pytest.raises(DownloadError, match="sent a web page in place of the file"):
        weights.fetch("net", quiet=True)
    assert not any(path.is_file() for path in data_folder.rglob("*"))


def test_a_file_placed_by_hand_is_verified(server: FileServer, data_folder: Path) -> None:
    placed = data_folder / "models/lab/net.pt"
    placed.parent.mkdir(parents=True)
    placed.write_bytes(b"something else")
    with pytest.raises(ChecksumError, match=r"net\.pt is not the published file.*delete it"):
        file(server).find("net")


def test_absent_weights_say_what_from_where_into_which_path(server: FileServer, data_folder: Path) -> None:
    with pytest.raises(MissingDataError) as caught:
        file(server).find("net")
    path = data_folder / "models/lab/net.pt"
    assert str(caught.value) == (
        f"the weights of net are not at {path}. Call mixnorm.benchmarks.models.download_model('net'), "
        f"or open {server.url('net.pt')} in a browser and save the file as {path}"
    )


def test_what_a_program_cannot_download_says_how_a_person_can(server: FileServer) -> None:
    weights = file(server, by_hand="The host wants a click")
    with pytest.raises(DownloadError, match=r"cannot download net\. The host wants a click: open http"):
        weights.fetch("net", quiet=True)
    with pytest.raises(MissingDataError, match=r"not at .* The host wants a click: open http"):
        weights.find("net")
    assert server.asked == []


def test_shipped_weights_are_there(tmp_path: Path) -> None:
    shipped = ShippedWeights(path=tmp_path)
    assert shipped.find("x") == shipped.fetch("x") == tmp_path


@pytest.mark.parametrize(
    ("name", "digits"),
    [
        ("resnet50-0676ba61.pth", "0676ba61"),
        ("resnet50_a1_0-14fe96d1.pth", "14fe96d1"),
        ("dinov2_vits14_pretrain.pth", None),
        ("net-v2.pth", None),
    ],
)
def test_pytorch_names_files_by_their_checksum(name: str, digits: str | None) -> None:
    assert checksum_in_name(name) == digits
