import importlib
import sys
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest
import torch

from tests.real import PROJECT

Load = Callable[[str], ModuleType]


@pytest.fixture
def load_script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Load]:
    """Import scripts as they are when they are run; they set torch's threads and determinism, which are put back."""
    threads, deterministic = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(PROJECT / "scripts"))
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if str(PROJECT / "scripts") in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(deterministic)
