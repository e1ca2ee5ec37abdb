"""A user's own model: `path/to/file.py:factory`, a function without arguments that returns the model."""

import hashlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from torch import nn

from mixnorm.errors import MissingDataError, ModelError, unknown_name


def is_user_model(name: str) -> bool:
    """Whether a name is a place in a Python file.

    >>> is_user_model("models.py:small"), is_user_model("resnet50")
    (True, False)
    """
    return name.endswith(".py") or ".py:" in name


def call_factory(name: str) -> nn.Module:
    """Import the file, call the factory and return its model; the file may import what lies beside it."""
    file, _, factory = name.rpartition(":") if ".py:" in name else (name, "", "")
    path = Path(file).expanduser().resolve()
    if not path.is_file():
        raise MissingDataError(f"{name!r}: there is no file {path}")
    with _first_on_path(path.parent):
        module = _import(path)
        if not hasattr(module, factory):
            raise unknown_name(f"factory in {path.name}", factory, _factories(module))
        return _model(getattr(module, factory), name)


@contextmanager
def _first_on_path(folder: Path) -> Iterator[None]:
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def _import(path: Path) -> ModuleType:
    # The module stays known under a name of its own, so that its classes can be pickled and copied.
    name = f"mixnorm_user_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ModelError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise ModelError(f"{path} could not be imported: {type(error).__name__}: {error}") from error
    return module


def _factories(module: ModuleType) -> list[str]:
    """List what the file itself defines and what may be called; what it imports is not meant."""
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and callable(value) and getattr(value, "__module__", None) == module.__name__
    ]


def _model(factory: object, name: str) -> nn.Module:
    if isinstance(factory, nn.Module):
        return factory
    if not callable(factory):
        raise ModelError(
            f"{name} is a {type(factory).__name__}; name a function without arguments that returns the model"
        )
    _refuse_arguments(factory, name)
    try:
        model = factory()
    except Exception as error:
        raise ModelError(f"{name} raised {type(error).__name__}: {error}") from error
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
