"""Repeating tables for real, on the bundled model and data."""

import dataclasses
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path

import pytest

import mixnorm as mn
from mixnorm.benchmarks.models.prompts import TEMPLATES
from mixnorm.errors import DataError, MissingDataError, ModelError, SettingError
from mixnorm.evaluation import Record, RunSpec, read_records, write_record
from mixnorm.paper import Setup, Table, iter_reproduce, load_table, reproduce, select
from mixnorm.sweeps import Processes
from tests.benchmarks.datasets.writers import (
    write_cifar10,
    write_cifar100,
    write_food101,
    write_stanford_cars,
    write_stl10,
)
from tests.real import REAL, needs_real

BUNDLED = Setup(model="digits", data="digits-c", limit=12)
SMALL = select(load_table("cifar10-c-mixed-wrn28"), methods=["source", "mixnorm-fixed"], batch_sizes=[5, 8])


class NoMoreRuns:
    """An executor for when all records have to be there already."""

    def run(self, specs: Sequence[RunSpec]) -> Iterator[Record]:
        raise AssertionError(f"{len(specs)} runs are done again")


def slow_error(table: Table) -> list[float]:
    """The error of each cell by a loop that shares nothing with the package's evaluation."""
    errors = []
    for cell in table.cells:
        run = table.run(cell)
        stream = mn.load_stream("digits-c", order=run.order, severity=run.severity, seed=0, limit=12)
        adapted = mn.adapt(mn.load_model("digits"), run.method, seed=0)
        wrong: dict[str, list[bool]] = {}
        segment = 0
        for batch in stream.batches(run.batch_size):
            if run.reset == "segment" and batch.segment != segment:
                adapted.reset()
            segment = batch.segment
            answers = (adapted(batch.images).argmax(1) != batch.labels).tolist()
            for answer, (corruption, _) in zip(answers, batch.shifts, strict=True):
                wrong.setdefault(corruption if run.order == "single" else "all", []).append(answer)
        errors.append(100 * sum(sum(group) / len(group) for group in wrong.values()) / len(wrong))
    return errors


def test_measured_errors_are_those_of_a_plain_loop(tmp_path: Path) -> None:
    made = reproduce(SMALL, tmp_path, setup=BUNDLED)
    assert [made.measured(cell) for cell in SMALL.cells] == pytest.approx(slow_error(SMALL))
    assert not made.failures
    assert len(read_records(tmp_path)) == 4


def test_corruptions_one_after_another(tmp_path: Path) -> None:
    table = select(load_table("cifar10-c-single-wrn28"), methods=["mixnorm"], batch_sizes=[16])
    made = reproduce(table, tmp_path, setup=BUNDLED)
    assert [made.measured(cell) for cell in table.cells] == pytest.approx(slow_error(table))


def test_the_comparison_grows_and_an_interrupted_one_goes_on(tmp_path: Path) -> None:
    steps = iter_reproduce(SMALL, tmp_path, setup=BUNDLED)
    assert [len(next(steps).records) for _ in range(3)] == [0, 1, 2]
    assert isinstance(steps, Generator)
    steps.close()
    assert len(read_records(tmp_path)) == 2
    whole = reproduce(SMALL, tmp_path, setup=BUNDLED)
    again = reproduce(SMALL, tmp_path, setup=BUNDLED, executor=NoMoreRuns())
    assert again.to_dict() == whole.to_dict()


def test_records_of_other_weights_do_not_stand_in_the_same_table(tmp_path: Path) -> None:
    one_cell = select(SMALL, methods=["source"], batch_sizes=[5])
    (record,) = reproduce(one_cell, tmp_path, setup=BUNDLED).records.values()
    write_record(dataclasses.replace(record, fingerprint=record.fingerprint | {"weights_hash": "other"}), tmp_path)
    with pytest.raises(
        DataError, match=r"use another folder for the results: .* same protocol: weights_hash: 'other' and"
    ):
        reproduce(SMALL, tmp_path, setup=BUNDLED)


def test_processes_give_the_same_numbers(tmp_path: Path) -> None:
    here = reproduce(SMALL, tmp_path / "a", setup=BUNDLED)
    there = reproduce(SMALL, tmp_path / "b", setup=BUNDLED, executor=Processes(workers=1))
    assert there.to_dict() == here.to_dict()


def test_two_cells_that_are_the_same_run_are_run_once(tmp_path: Path) -> None:
    twice = dataclasses.replace(SMALL, columns=tuple(dataclasses.replace(SMALL.columns[0], id=name) for name in "ab"))
    made = reproduce(twice, tmp_path, setup=BUNDLED)
    assert len(read_records(tmp_path)) == 2
    assert len({made.measured(cell) for cell in twice.cells}) == 1


def test_a_run_that_fails_is_told_and_tried_again_when_asked(tmp_path: Path) -> None:
    model = tmp_path / "model.py"
    model.write_text(
        "from torch import nn\ndef small():\n    return nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(5))\n"
    )
    setup = dataclasses.replace(BUNDLED, model=f"{model}:small")
    made = reproduce(SMALL, tmp_path / "results", setup=setup)
    assert set(made.failures) == {"5, source", "5, mixnorm-fixed", "8, source", "8, mixnorm-fixed"}
    model.write_text("import mixnorm\ndef small():\n    return mixnorm.load_model('digits')\n")
    assert reproduce(SMALL, tmp_path / "results", setup=setup).failures == made.failures
    assert not reproduce(SMALL, tmp_path / "results", setup=setup, retry_failed=True).failures


def test_a_model_that_cannot_be_adapted_is_told_before_any_work(tmp_path: Path) -> None:
    model = tmp_path / "model.py"
    model.write_text("from tests.benchmarks.models.clips import small_transformer\n")
    setup = dataclasses.replace(BUNDLED, model=f"{model}:small_transformer")
    with pytest.raises(ModelError, match=r"none was begun:\n  Source on .*vision transformers have none"):
        reproduce(SMALL, tmp_path / "results", setup=setup)
    assert not list((tmp_path / "results").glob("*.json"))


def test_all_that_is_missing_is_told_at_once_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError) as caught:
        reproduce(load_table("cifar10-c-mixed-wrn28"), tmp_path / "results", setup=Setup(data_dir=str(tmp_path)))
    text = str(caught.value)
    assert f"1. the weights of wrn-28-10 are not at {tmp_path}" in text
    assert "https://drive.google.com/file/d/" in text
    assert f"2. cifar10-c is not there: looked for {tmp_path / 'CIFAR-10-C'}" in text
    assert "https://zenodo.org/records/2535967/files/CIFAR-10-C.tar" in text
    assert "--model digits --data digits-c are always at hand" in text
    assert not (tmp_path / "results").exists()


def test_what_zero_shot_needs_is_told_with_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError) as caught:
        reproduce(load_table("zero-shot"), tmp_path / "results", setup=Setup(data_dir=str(tmp_path)))
    text = str(caught.value)
    assert f"1. the weights of clip-rn50 are not at {tmp_path / 'models/timm/resnet50_clip.openai'}" in text
    assert "Call mixnorm.benchmarks.models.download_model('clip-rn50')" in text
    for number, name in enumerate(("cifar100", "stanford-cars", "cifar10", "food101", "stl10"), start=2):
        assert f"\n  {number}. {name} is not there: looked for {tmp_path}" in text
    assert "\n  7." not in text
    assert not (tmp_path / "results").exists()


def write_zero_shot_sets(folder: Path) -> None:
    for write in (write_cifar10, write_cifar100, write_stl10, write_food101, write_stanford_cars):
        write(folder, "test", [0, 1, 2, 1])


def test_zero_shot_is_run_at_batch_size_1_with_fixed_parameters(tmp_path: Path) -> None:
    """The whole table on a few images in the formats of all five data sets, with a small CLIP model."""
    write_zero_shot_sets(tmp_path / "data")
    model = tmp_path / "models.py"
    model.write_text("from tests.benchmarks.models.clips import small_clip\ndef clip():\n    return small_clip(32)\n")
    table = load_table("zero-shot")
    made = reproduce(table, tmp_path / "results", setup=Setup(model=f"{model}:clip", data_dir=str(tmp_path / "data")))
    assert not made.failures
    for cell in table.cells:
        record = made.record(cell)
        assert record is not None
        assert record.results is not None
        assert made.measured(cell) == pytest.approx(100 - record.results["error"])
        assert record.fingerprint["templates"] == list(TEMPLATES[cell.column.id])
        assert record.fingerprint["batch_size"] == 1
        assert record.fingerprint["corruptions"] == ["clean"]
    settings = {
        cell.column.id: (spec["method"]["m"], spec["method"]["tau"], spec["method"]["views"], spec["method"]["learn"])
        for cell in table.cells
        if cell.row.id == "mixnorm-fixed" and (record := made.record(cell)) and (spec := record.spec)
    }
    assert settings == {
        "cifar100": (0.01, 1e-6, 1, None),
        "stanford-cars": (0.01, 1e-7, 1, None),
        "cifar10": (0.01, 1e-6, 1, None),
        "food101": (0.005, 1e-7, 1, None),
        "stl10": (0.01, 1e-6, 1, None),
    }


def test_settings_are_nothing_to_run(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"hyper-parameters-mixnorm .* has settings, not results"):
        reproduce(load_table("hyper-parameters-mixnorm"), tmp_path)


@needs_real
def test_a_real_network_on_real_data(tmp_path: Path) -> None:
    setup = Setup(
        model=f"{REAL / 'models.py'}:cifar_resnet56", data=str(REAL / "cifar10c_mixed_severity5.npz"), limit=200
    )
    table = select(load_table("cifar10-c-mixed-wrn28"), methods=["source", "mixnorm-fixed"], batch_sizes=[200])
    made = reproduce(table, tmp_path, setup=setup)
    source, mixnorm = (made.measured(cell) or 0.0 for cell in table.cells)
    assert 25 < mixnorm < source - 3 < 55
