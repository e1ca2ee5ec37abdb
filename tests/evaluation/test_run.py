from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import mixnorm as mn
from mixnorm.errors import DataError, ModelError, SettingError
from mixnorm.evaluation import Loader, Protocol, RunSpec, evaluate, iter_run, results_of, run, run_or_fail
from tests.real import REAL, needs_real

DATA: dict[str, Any] = {"name": "digits-c", "limit": 20, "corruptions": ["fog", "contrast"]}


def digits(**changes: Any) -> RunSpec:
    base = {"model": "digits", "data": DATA, "method": "MixNorm:m=0.2"}
    return RunSpec.from_dict({**base, "protocol": {"batch_size": 10}, **changes})


def test_a_run_is_an_evaluation_of_what_the_spec_names() -> None:
    spec = digits(seed=4)
    record = run(spec)
    adapted = mn.adapt(mn.load_model("digits"), mn.MixNorm(m=0.2), seed=4)
    expected = evaluate(adapted, mn.load_stream(**DATA), Protocol(batch_size=10))
    assert record.results == expected.results
    threads = {"threads": 1}
    assert record.fingerprint | threads == expected.fingerprint | {"model": "digits"} | threads
    assert (record.id, record.spec, record.error) == (spec.id, spec.to_dict(), None)


def test_the_number_of_threads_is_the_spec_s_and_put_back() -> None:
    before = torch.get_num_threads()
    seen = [(torch.get_num_threads(), step.record) for step in iter_run(digits(threads=before + 1))]
    assert {threads for threads, _ in seen} == {before + 1}
    assert torch.get_num_threads() == before
    assert seen[-1][1] is not None
    assert seen[-1][1].fingerprint["threads"] == before + 1


def test_a_loader_that_is_used_again_changes_no_number() -> None:
    loader = Loader()
    specs = [digits(), digits(method="Tent"), digits(protocol={"order": "single", "batch_size": 10})]
    fresh = [run(spec) for spec in specs]
    for spec, expected in zip([*specs, *specs], [*fresh, *fresh], strict=True):
        kept = run(spec, loader)
        assert (kept.fingerprint, kept.results) == (expected.fingerprint, expected.results)
    assert loader.model(specs[0]) is loader.model(specs[1])
    assert loader.stream(specs[0]).data is loader.stream(specs[2]).data


def test_double_precision() -> None:
    record = run(digits(dtype="float64"))
    assert record.fingerprint["dtype"] == "float64"


def test_a_run_that_fails_has_its_error_in_the_record(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def network():\n    raise RuntimeError('out of luck')\n")
    spec = digits(model=f"{file}:network")
    record = run_or_fail(spec)
    assert record.id == spec.id
    assert (record.results, record.cost) == (None, None)
    assert record.error is not None
    assert record.error["type"] == "ModelError"
    assert "out of luck" in record.error["message"]
    assert "Traceback" in record.error["traceback"]
    with pytest.raises(DataError, match=f"the run {spec.id} failed and has no results: .*out of luck"):
        results_of(record)


def test_data_without_labels(tmp_path: Path) -> None:
    np.savez(tmp_path / "bare.npz", x=np.zeros((4, 32, 32, 3), np.uint8))
    with pytest.raises(DataError, match="it needs images x and labels y"):
        run(digits(data={"name": str(tmp_path / "bare.npz")}))


def test_a_model_of_other_classes(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "import torch\n"
        "def network():\n"
        "    layers = torch.nn.Conv2d(3, 7, 32), torch.nn.BatchNorm2d(7), torch.nn.Flatten()\n"
        "    return torch.nn.Sequential(*layers)\n"
    )
    with pytest.raises(ModelError, match="the model answers with 7 classes, digits-c has 10"):
        run(digits(model=f"{file}:network"))


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_device_that_is_not_there() -> None:
    with pytest.raises(SettingError, match="device='cuda' cannot be used here"):
        run(digits(device="cuda"))


@needs_real
def test_a_real_network_on_real_data() -> None:
    spec = RunSpec(
        model=f"{REAL / 'models.py'}:cifar_resnet56",
        data={"name": str(REAL / "cifar10c_mixed_severity5.npz"), "limit": 200},
        method=mn.MixNorm(m=0.3, tau=0.0, views=0).to_dict(),
        protocol=Protocol(batch_size=100),
    )
    results = results_of(run(spec))
    assert results["count"] == 200
    assert 18 <= results["error"] <= 40
    assert len(results["by_corruption"]) == 15


def test_a_model_that_ends_the_program_fails_its_run_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import sys, torch\n"
        "def f(): return torch.nn.Sequential(torch.nn.BatchNorm2d(3), Ends())\n"
        "class Ends(torch.nn.Module):\n"
        "    def forward(self, x): sys.exit(3)\n"
    )
    spec = RunSpec(model=f"{tmp_path}/mine.py:f", data={"name": "digits-c", "limit": 2}, method={"method": "Source"})
    record = run_or_fail(spec)
    assert record.error is not None
    assert record.error["message"] == "the model ended the program while it answered (SystemExit: 3)"
