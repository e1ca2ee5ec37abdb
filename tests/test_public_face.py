"""What users see first: the names, the README, the examples in docstrings, and a light import."""

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import mixnorm

PROJECT = Path(__file__).resolve().parent.parent
ROOMS = (
    "mixnorm",
    *(
        f"mixnorm.{room}"
        for room in (
            "norms",
            "adaptation",
            "adaptation.methods",
            "benchmarks",
            "evaluation",
            "sweeps",
            "paper",
            "report",
        )
    ),
)
PAGES = (
    "README.md",
    "docs/corruptions.md",
    "docs/datasets.md",
    "docs/domain-adaptation.md",
    "docs/methods.md",
    "docs/models.md",
    "docs/reproduce.md",
    "docs/zero-shot.md",
)


def modules() -> Iterator[str]:
    yield "mixnorm"
    for module in pkgutil.walk_packages(mixnorm.__path__, "mixnorm."):
        yield module.name


@pytest.mark.parametrize("room", ROOMS)
def test_all_names_are_sorted_and_there(room: str) -> None:
    module = importlib.import_module(room)
    names = module.__all__
    assert sorted(names, key=lambda name: (not name.isupper(), not name[0].isupper(), name)) == names
    assert all(hasattr(module, name) for name in names)


def test_every_public_name_has_a_docstring() -> None:
    assert all(getattr(mixnorm, name).__doc__ for name in mixnorm.__all__)


@pytest.mark.parametrize("name", list(modules()))
def test_examples_in_docstrings_run(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_importing_the_package_is_light() -> None:
    heavy = ["ray", "torchvision", "matplotlib", "sklearn", "scipy", "PIL", "timm", "open_clip", "rich", "fastapi"]
    code = f"import sys, mixnorm; print([name for name in {heavy} if name in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert answer.stdout.strip() == "[]"


@pytest.mark.parametrize("page", PAGES)
def test_python_on_pages_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", (PROJECT / page).read_text(), re.MULTILINE | re.DOTALL)
    assert blocks
    exec(compile("\n".join(blocks), page, "exec"), {"__name__": page})


def test_pages_link_to_files_that_are_there() -> None:
    for page in [*PROJECT.glob("*.md"), *PROJECT.glob("docs/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
