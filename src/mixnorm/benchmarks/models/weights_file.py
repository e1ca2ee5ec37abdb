"""Where the published weights of a model are, on the web and on this machine."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from mixnorm.benchmarks.cache import data_dir
from mixnorm.benchmarks.download import download as download_file
from mixnorm.errors import ChecksumError, MissingDataError


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

    def find(self, *, folder: Path | None = None, download: bool = False) -> Path:
        """Return the verified file, downloading it first where that is allowed and possible."""
        path = (folder or data_dir()) / "models" / self.path
        if not path.is_file():
            if not download or self.by_hand:
                raise MissingDataError(self._how_to_get(path))
            self._download(path)
        self._verify(path)
        return path

    def _download(self, path: Path) -> None:
        """Download beside the final place: a file that is not the published one never gets there."""
        arrived = download_file(self.url, path.with_name(f"{path.name}.unverified"))
        try:
            self._verify(arrived)
        except ChecksumError:
            arrived.unlink()
            raise
        arrived.replace(path)

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

    def _how_to_get(self, path: Path) -> str:
        missing = f"the weights are not at {path}"
        if self.by_hand:
            return f"{missing}; {self.by_hand}: open {self.url} in a browser and save the file as that path"
        return f"{missing}; allow the download with download=True, or save {self.url} as that path"


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

    def find(self, *, folder: Path | None = None, download: bool = False) -> Path:
        """Return the file; it is always there."""
        return self.path
