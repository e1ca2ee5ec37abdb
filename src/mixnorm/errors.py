"""Everything that mixnorm raises, in one tree.

Each class is also the builtin that a Python user expects, so `except ValueError` keeps working.

    MixNormError
    ├── SettingError          (ValueError)         a setting of a method, protocol or call is out of range
    ├── UnknownNameError      (LookupError)        a name that is not known; the nearest ones are listed
    ├── ModelError            (TypeError)          a model, or a layer of it, that cannot be used
    │   └── NothingToAdaptError                    a model without any layer to adapt
    ├── InputError            (ValueError)         a batch that a model cannot be called with
    ├── StateError            (ValueError)         a snapshot or state file that does not fit
    ├── DataError             (ValueError)         data that is there and is not what it should be
    │   └── ChecksumError                          a file whose bytes are not the published ones
    ├── MissingDataError      (FileNotFoundError)  data or weights that are not there, and how to get them
    ├── DownloadError         (OSError)            a download that did not finish
    ├── MissingExtraError     (ImportError)        an optional library that is not installed
    └── CheckError            (AssertionError)     a promise that a method does not keep
"""

import difflib
import importlib
from collections.abc import Iterable
from types import ModuleType


class MixNormError(Exception):
    """The base of all errors that mixnorm raises."""


class SettingError(MixNormError, ValueError):
    """A setting of a method, protocol or call is out of range."""


class UnknownNameError(MixNormError, LookupError):
    """A name that is not known."""


class ModelError(MixNormError, TypeError):
    """A model, or a layer of it, that cannot be used."""


class NothingToAdaptError(ModelError):
    """A model without any layer to adapt."""


class InputError(MixNormError, ValueError):
    """A batch that a model cannot be called with."""


class StateError(MixNormError, ValueError):
    """A snapshot or state file that does not fit."""


class DataError(MixNormError, ValueError):
    """Data that is there and is not what it should be."""


class ChecksumError(DataError):
    """A file whose bytes are not the published ones."""


class MissingDataError(MixNormError, FileNotFoundError):
    """Data or weights that are not there."""


class DownloadError(MixNormError, OSError):
    """A download that did not finish."""


class MissingExtraError(MixNormError, ImportError):
    """An optional library that is not installed."""


class CheckError(MixNormError, AssertionError):
    """A promise that a method does not keep."""


def unknown_name(kind: str, given: object, known: Iterable[str]) -> UnknownNameError:
    """Make the error for a name that is not known, with the nearest ones first.

    >>> print(unknown_name("corruption", "fogg", ["fog", "frost", "snow"]))
    unknown corruption 'fogg'; did you mean 'fog'? Known: fog, frost, snow
    """
    names = list(known)
    nearest = difflib.get_close_matches(str(given), names, n=3)
    hint = f"; did you mean {' or '.join(map(repr, nearest))}?" if nearest else "."
    return UnknownNameError(f"unknown {kind} {given!r}{hint} Known: {', '.join(names) or 'none'}")


def require(module: str, extra: str) -> ModuleType:
    """Import an optional library where it is used, or say how to install it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        # Only the absence of the library itself is the user's to mend; a failure inside it is shown as it is.
        if error.name != module.split(".", maxsplit=1)[0]:
            raise
        raise MissingExtraError(
            f"{module} is not installed; install it with: pip install 'mixnorm[{extra}]'"
        ) from error
