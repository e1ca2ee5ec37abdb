"""Finding the files of a data set in the data folder, saying how to get them, and getting them."""

from pathlib import Path, PurePosixPath

from mixnorm.benchmarks import cache
from mixnorm.benchmarks.archives import extract
from mixnorm.benchmarks.datasets.sources import SOURCES, Source
from mixnorm.benchmarks.download import download
from mixnorm.benchmarks.paths import user_path
from mixnorm.errors import DownloadError, MissingDataError, unknown_name


def find(name: str, relative: str, data_dir: Path | None) -> Path:
    """Return where a file or folder of a data set is, or raise `MissingDataError` with what to do."""
    root = data_dir or cache.data_dir()
    if (root / relative).exists():
        return root / relative
    raise MissingDataError(_what_to_do(name, relative, root, given=data_dir is not None))


def _what_to_do(name: str, relative: str, root: Path, *, given: bool) -> str:
    wanted = f"{name} is not there: looked for {root / relative}.{_namesake(name)}"
    if any(source.by_hand for source in SOURCES[name]):
        return f"{wanted} It has to be fetched by hand. {' '.join(_by_hand(each, root) for each in SOURCES[name])}"
    call = f"download_dataset({name!r}{f', data_dir={str(root)!r}' if given else ''})"
    files = "; ".join(f"{each.describe()} as {root / each.makes}" for each in SOURCES[name])
    return f"{wanted} Get it with mixnorm.benchmarks.datasets.{call}, or put it there yourself: {files}."


def _namesake(name: str) -> str:
    """Say how to get at a folder of one's own that is called like the data set."""
    return f" (For your own folder of that name give './{name}'.)" if Path(name).exists() else ""


def _by_hand(source: Source, root: Path) -> str:
    return f"{source.describe()}: {source.by_hand}; put it at {root / source.makes}."


def download_dataset(name: str, *, data_dir: str | Path | None = None, quiet: bool = False) -> None:
    """Download, verify and unpack the files of a data set that are not there yet.

    An interrupted call goes on where it was; an archive is deleted once it is unpacked.
    """
    if not isinstance(name, str) or name not in SOURCES:
        raise unknown_name("data set to download", name, SOURCES)
    root = user_path("data folder", data_dir) if data_dir is not None else cache.data_dir()
    for source in SOURCES[name]:
        if not (root / source.makes).exists():
            _fetch(name, source, root, quiet=quiet)


def _fetch(name: str, source: Source, root: Path, *, quiet: bool) -> None:
    if source.by_hand:
        raise DownloadError(f"{name} cannot be downloaded by a program. {_by_hand(source, root)}")
    if source.unpack_in is None:
        download(source.url, root / source.makes, md5=source.md5, size=source.size, quiet=quiet)
        return
    archive = root / PurePosixPath(source.url).name
    download(source.url, archive, md5=source.md5, size=source.size, quiet=quiet)
    extract(archive, root / source.unpack_in)
    archive.unlink(missing_ok=True)
