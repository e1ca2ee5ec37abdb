"""Importing a user's file so that it finds its neighbours, and only its own, for as long as anything of it lives.

Each folder is a package under a name made of its path. Its modules get an `__import__` of their own that looks beside
the file first, so `import blocks` means the `blocks.py` of that folder at any time, in a factory or in a forward pass
too, and two folders may both have one. `sys.path` and the names that others import stay as they were.
"""

import builtins
import hashlib
import importlib
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

PREFIX = "mixnorm_user_"


def import_file(path: Path) -> ModuleType:
    """Import a Python file; one that was imported before is imported again only when it or a neighbour has changed."""
    if not any(isinstance(finder, _Neighbours) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Neighbours())
    importlib.invalidate_caches()
    package = _package(path.parent)
    name = f"{package.__name__}.{_name_in_package(path)}"
    return sys.modules[name] if name in sys.modules else _execute(name, path)


def _execute(name: str, path: Path) -> ModuleType:
    loader = _Loader(name, str(path))
    module = module_from_spec(ModuleSpec(name, loader, origin=str(path)))
    module.__file__ = str(path)
    # It stays known under its name, so that its classes can be pickled.
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _package(folder: Path) -> ModuleType:
    name = f"{PREFIX}{_short_hash(str(folder))}"
    if _has_changed(name):
        for known in [known for known in sys.modules if known == name or known.startswith(f"{name}.")]:
            del sys.modules[known]
    if name not in sys.modules:
        package = ModuleType(name, f"The modules in {folder}.")
        package.__path__ = [str(folder)]
        sys.modules[name] = package
    return sys.modules[name]


def _has_changed(package: str) -> bool:
    loaders = (getattr(module, "__loader__", None) for name, module in sys.modules.items() if name.startswith(package))
    return any(isinstance(loader, _Loader) and loader.has_changed() for loader in loaders)


def _name_in_package(path: Path) -> str:
    return path.stem if path.stem.isidentifier() else f"file_{_short_hash(path.name)}"


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


class _Neighbours(MetaPathFinder):
    """Finds the modules of the packages made here."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module as Python does, and let it be loaded as one of a user's folder."""
        spec = PathFinder.find_spec(fullname, path, target) if fullname.startswith(PREFIX) else None
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(fullname, spec.loader.path)
        return spec


class _Loader(SourceFileLoader):
    """Runs a module's source with an `__import__` that looks beside the file first."""

    def get_code(self, fullname: str) -> CodeType:
        """Compile the source as it is now: the age of a cached compilation is known to the second only."""
        self.source = self.get_data(self.path)
        return self.source_to_code(self.source, self.path)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module."""
        module.__dict__["__builtins__"] = _builtins(self.name.partition(".")[0])
        super().exec_module(module)

    def has_changed(self) -> bool:
        """Whether the file is another one than was run."""
        path = Path(self.path)
        return not path.is_file() or path.read_bytes() != self.source


@cache
def _builtins(package: str) -> dict[str, Any]:
    def import_beside_first(
        name: str,
        globals: Mapping[str, Any] | None = None,  # noqa: A002 - the signature of the builtin
        locals: Mapping[str, Any] | None = None,  # noqa: A002
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        first = name.partition(".")[0]
        if level or not _is_neighbour(package, first, globals or {}):
            return builtins.__import__(name, globals, locals, fromlist or (), level)
        found = builtins.__import__(f"{package}.{name}", globals, locals, fromlist or (), 0)
        return found if fromlist else sys.modules[f"{package}.{first}"]

    return {**vars(builtins), "__import__": import_beside_first}


def _is_neighbour(package: str, name: str, importer: Mapping[str, Any]) -> bool:
    full_name = f"{package}.{name}"
    if importer.get("__name__") == full_name and "__path__" not in importer:
        return False  # in a file `timm.py` the line `import timm` means the library
    if full_name in sys.modules:
        return True
    spec = PathFinder.find_spec(full_name, sys.modules[package].__path__)
    # A folder without `__init__.py` gives way to a library of its name, as on Python's own path.
    return spec is not None and (spec.loader is not None or (name not in sys.modules and find_spec(name) is None))
