"""Where the published weights of a model are, on the web and on this machine."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from mixnorm.benchmarks.cache import data_dir
from mixnorm.benchmarks.download import download
from mixnorm.errors import ChecksumError, DownloadError, MissingDataError


@dataclass(frozen=True, kw_only=True)
class WeightsFile:
    """One published file: its address, its path below `models/` of the data folder, and its SHA-256.

    `sha256` is whole or its first digits, as published; where it is None no checksum is published, and loading every
    parameter by name and shape is the only check. `by_hand` says why a program cannot download it.
    """

    url: str
    path: str
    sha256: str | None = None
    by_hand: str | None = None

    def find(self, model: str, folder: Path | None = None) -> Path:
        """Return the verified file, or say how `model` gets it."""
        path = self._path(folder)
        if not path.is_file():
            raise MissingDataError(f"the weights of {model} are not at {path}. {self._how_to_get(model, path)}")
        self._verify(path)
        return path

    def fetch(self, model: str, folder: Path | None = None, *, quiet: bool = False) -> Path:
        """Download the file if it is not there, and return it verified."""
        path = self._path(folder)
        if path.is_file():
            return self.find(model, folder)
        if self.by_hand:
            raise DownloadError(f"a program cannot download {model}. {self._how_to_get(model, path)}")
        return download(self.url, path, sha256=self.sha256, quiet=quiet)

    def _path(self, folder: Path | None) -> Path:
        return (folder or data_dir()) / "models" / self.path

    def _verify(self, path: Path) -> None:
        if self.sha256 is None:
            return
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if not digest.startswith(self.sha256):
            raise ChecksumError(
                f"{path} is not the published file: its SHA-256 is {digest}, the published one begins with "
                f"{self.sha256}; delete it and get it again from {self.url}"
            )

    def _how_to_get(self, model: str, path: Path) -> str:
        by_hand = f"open {self.url} in a browser and save the file as {path}"
        if self.by_hand:
            return f"{self.by_hand}: {by_hand}"
        return f"Call mixnorm.benchmarks.models.download_model({model!r}), or {by_hand}"


def checksum_in_name(file: str) -> str | None:
    """Return the first digits of the SHA-256 that PyTorch's habit puts at the end of a file's name.

    >>> checksum_in_name("resnet50-0676ba61.pth")
    '0676ba61'
    """
    digits = re.search(r"-([0-9a-f]{8,64})\.\w+$", file)
    return digits[1] if digits else None


@dataclass(frozen=True, kw_only=True)
class ShippedWeights:
    """Weights that are part of the package."""

    path: Path

    def find(self, model: str, folder: Path | None = None) -> Path:
        """Return the file."""
        return self.path

    def fetch(self, model: str, folder: Path | None = None, *, quiet: bool = False) -> Path:
        """Return the file; there is nothing to download."""
        return self.path
