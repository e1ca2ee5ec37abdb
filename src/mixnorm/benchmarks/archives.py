"""Unpacking archives without letting them write anywhere else, whole or not at all."""

import gzip
import lzma
import tarfile
import tempfile
import zipfile
import zlib
from pathlib import Path

from mixnorm.errors import DataError, DownloadError

# What archives raise that are cut, of another kind, encrypted or packed in a way that Python does not know.
BROKEN = (
    tarfile.TarError,
    zipfile.BadZipFile,
    gzip.BadGzipFile,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    NotImplementedError,
    RuntimeError,
)


def extract(archive: Path, folder: Path) -> None:
    """Unpack a .tar, .tar.gz, .tgz or .zip archive into a folder.

    It is unpacked beside its place and each of its top entries is then renamed into it, so that an entry is there
    whole or not at all; an entry that is there already is left alone.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".unpacking-", ignore_cleanup_errors=True) as scratch:
            _unpack(archive, Path(scratch))
            for entry in sorted(Path(scratch).iterdir()):
                _put(entry, folder / entry.name)
    except BROKEN as error:
        raise DataError(f"{archive} cannot be unpacked: {error}; delete it and download it again") from error
    except OSError as error:
        raise DownloadError(f"{archive} could not be unpacked in {folder}: {error}; mend that, call again") from error


def _put(entry: Path, place: Path) -> None:
    if place.exists():
        return
    try:
        entry.rename(place)
    except OSError:
        if not place.exists():  # else another process was quicker
            raise


def _unpack(archive: Path, folder: Path) -> None:
    if archive.suffix == ".zip":
        _unzip(archive, folder)
    else:
        with tarfile.open(archive) as tar:
            tar.extractall(folder, filter="data")  # refuses paths and links that lead out of the folder


def _unzip(archive: Path, folder: Path) -> None:
    with zipfile.ZipFile(archive) as zipped:
        for name in zipped.namelist():
            if not (folder / name).resolve().is_relative_to(folder.resolve()):
                raise DataError(f"{archive} holds {name!r}, which leads out of its folder; it was not unpacked")
        zipped.extractall(folder)  # noqa: S202 - its paths were checked
