"""Each case runs in a fresh interpreter: what is imported once stays imported."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

BROKEN = 'raise RuntimeError("operator torchvision::nms does not exist")'
NEEDS_OPERATOR = "import torch\ntorch.library.register_fake('torchvision::nms')(lambda *_: None)"


def run(code: str, library: Path | None = None) -> subprocess.CompletedProcess[str]:
    paths = [str(library)] if library else []
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*paths, *sys.path])}
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, env=environment, check=False
    )


def fake_torchvision(folder: Path, code: str) -> Path:
    (folder / "torchvision.py").write_text(code)
    return folder


def test_the_installed_torchvision_is_imported_twice_without_harm() -> None:
    result = run(
        "from mixnorm.benchmarks.torchvision_on_cpu import import_torchvision\n"
        "first, second = import_torchvision(), import_torchvision()\n"
        "assert first is second\n"
        "print(first.models.resnet18().fc.out_features)"
    )
    assert (result.stdout.strip(), result.stderr) == ("1000", "")


@pytest.mark.parametrize("factory", ["at_once", "late"])
def test_a_user_s_file_may_import_it(tmp_path: Path, factory: str) -> None:
    late = "def f():\n    import timm\n    return timm.create_model('test_resnet', num_classes=7)"
    at_once = "import torchvision\ndef f(): return torchvision.models.resnet18(num_classes=7)"
    (tmp_path / "mine.py").write_text(at_once if factory == "at_once" else late)
    result = run(
        "import torch, mixnorm\n"
        f"print(mixnorm.load_model({str(tmp_path / 'mine.py:f')!r})(torch.zeros(1, 3, 64, 64)).shape[1])"
    )
    assert (result.stdout.strip(), result.stderr) == ("7", "")


def test_a_missing_operator_is_declared(tmp_path: Path) -> None:
    result = run(
        "from mixnorm.benchmarks.torchvision_on_cpu import import_torchvision\n"
        "import torch\n"
        "import_torchvision()\n"
        "print(torch.ops.torchvision.nms.default._schema)",
        fake_torchvision(tmp_path, NEEDS_OPERATOR),
    )
    assert "torchvision::nms(Tensor dets, Tensor scores, float iou_threshold)" in result.stdout, result.stderr


def test_a_torchvision_whose_operators_exist_is_left_alone(tmp_path: Path) -> None:
    result = run(
        "from mixnorm.benchmarks import torchvision_on_cpu\n"
        "torchvision_on_cpu.import_torchvision()\n"
        "print(torchvision_on_cpu._declare_operators.cache_info().misses)",
        fake_torchvision(tmp_path, "whole = True"),
    )
    assert (result.stdout.strip(), result.stderr) == ("0", "")


@pytest.mark.parametrize("code", ["raise RuntimeError('something else')", BROKEN])
def test_a_failure_that_cannot_be_mended_is_shown(tmp_path: Path, code: str) -> None:
    result = run(
        "from mixnorm.benchmarks.torchvision_on_cpu import import_torchvision\nimport_torchvision()",
        fake_torchvision(tmp_path, code),
    )
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1] in {
        "RuntimeError: something else",
        "RuntimeError: operator torchvision::nms does not exist",
    }


def test_an_absent_torchvision_gives_the_command_that_installs_it() -> None:
    result = run(
        "import sys\n"
        "sys.modules['torchvision'] = None\n"
        "from mixnorm.benchmarks.torchvision_on_cpu import import_torchvision\n"
        "import_torchvision()"
    )
    assert "torchvision is not installed; install it with: pip install 'mixnorm[vision]'" in result.stderr


def test_importing_the_module_imports_no_torchvision() -> None:
    result = run("import sys, mixnorm.benchmarks.torchvision_on_cpu\nprint('torchvision' in sys.modules)")
    assert (result.stdout.strip(), result.stderr) == ("False", "")
