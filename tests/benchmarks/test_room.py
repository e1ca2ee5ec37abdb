"""Promises of the whole room: examples that run, exports that exist, an import that stays light."""

import doctest
import importlib
import pkgutil
import subprocess
import sys

import pytest

import mixnorm.benchmarks

MODULES = [each.name for each in pkgutil.walk_packages(mixnorm.benchmarks.__path__, "mixnorm.benchmarks.")]
HEAVY = {"PIL", "matplotlib", "open_clip", "platformdirs", "rich", "scipy", "sklearn", "timm", "torchvision"}


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_the_docstrings_run(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_importing_the_room_loads_no_extra() -> None:
    program = "import sys, mixnorm.benchmarks; print(*{name.split('.')[0] for name in sys.modules})"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(result.stdout.split()) & HEAVY == set()
