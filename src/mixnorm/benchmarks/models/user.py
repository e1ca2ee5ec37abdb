"""A user's own model: `path/to/file.py:factory`, a function without arguments that returns the model."""

import copy
import inspect
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType

from torch import nn

from mixnorm.benchmarks.models.user_modules import import_file
from mixnorm.benchmarks.torchvision_on_cpu import with_torchvision
from mixnorm.errors import MissingDataError, ModelError, SettingError, unknown_name


def is_user_model(name: str) -> bool:
    """Whether a name is a place in a Python file.

    >>> is_user_model("models.py:small"), is_user_model("resnet50")
    (True, False)
    """
    return name.endswith(".py") or ".py:" in name


def import_factory(name: str) -> Callable[[], nn.Module]:
    """Import the file, which may import what lies beside it, and return what calls the factory and checks its model."""
    file, _, factory = name.rpartition(":") if ".py:" in name else (name, "", "")
    path = Path(file).expanduser().resolve()
    if not path.is_file():
        raise MissingDataError(
            f"{name!r}: {path} is a folder" if path.is_dir() else f"{name!r}: there is no file {path}"
        )
    with _said_plainly(f"{path} could not be imported:", path):
        module = with_torchvision(partial(import_file, path))
    known = _factories(module)
    if not factory:
        raise SettingError(
            f"which model of {file}? Name its factory, such as {file}:{known[0] if known else 'FACTORY'}"
        )
    if not hasattr(module, factory):
        raise unknown_name(f"factory in {path.name}", factory, known)
    return partial(_model, getattr(module, factory), name, path)


@contextmanager
def _said_plainly(beginning: str, path: Path) -> Iterator[None]:
    """Turn whatever a user's code raises into an error that names the code; Ctrl-C stays what it is."""
    try:
        yield
    except (Exception, SystemExit) as error:
        raise ModelError(f"{beginning} {type(error).__name__}: {error}{_place(error, path)}{_advice(error)}") from error


def _place(error: BaseException, path: Path) -> str:
    """Say in which line of the file it was, to a user who sees no traceback."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f" ({path.name}, line {lines[-1]})" if lines else ""


def _advice(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return "; put what a script does when it is run, such as reading arguments, below: if __name__ == '__main__'"
    if isinstance(error, ModuleNotFoundError):
        return "; modules beside the file are found by import statements, for those of other folders set PYTHONPATH"
    return ""


def _factories(module: ModuleType) -> list[str]:
    """List what the file itself defines and what may be called; what it imports is not meant."""
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and callable(value) and getattr(value, "__module__", None) == module.__name__
    ]


def _model(factory: object, name: str, path: Path) -> nn.Module:
    if isinstance(factory, nn.Module):
        return copy.deepcopy(factory)  # the one in the file may be asked for again
    if not callable(factory):
        raise ModelError(
            f"{name} is a {type(factory).__name__}; name a function without arguments that returns the model"
        )
    _refuse_arguments(factory, name)
    with _said_plainly(f"{name} raised", path):
        model = with_torchvision(factory)
    if isinstance(model, type):
        raise ModelError(f"{name} returned the class {model.__name__} and not a model; return {model.__name__}()")
    if not isinstance(model, nn.Module):
        raise ModelError(f"{name} returned a {type(model).__name__} and not a torch.nn.Module")
    return model


def _refuse_arguments(factory: Callable[..., object], name: str) -> None:
    try:
        signature = inspect.signature(factory)
    except ValueError:  # written in C, without a signature: calling it will tell
        return
    try:
        signature.bind()
    except TypeError as error:
        raise ModelError(f"{name} needs arguments: {signature}; write a function without any that calls it") from error
