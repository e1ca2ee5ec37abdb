"""`mixnorm demo`: the runs it makes, and the whole command on few images."""

import json
from pathlib import Path

import pytest

from mixnorm.cli import main
from mixnorm.cli.demo import BATCH_SIZES, METHODS, USUAL, demo_runs
from mixnorm.errors import UnknownNameError


def test_all_methods_at_all_batch_sizes_in_both_orders() -> None:
    runs = demo_runs(list(METHODS), 400)
    assert len({run.id for run in runs}) == len(METHODS) * len(BATCH_SIZES) * 2
    assert {(run.protocol.order, run.protocol.reset) for run in runs} == {("mixed", "never"), ("single", "segment")}


def test_all_are_the_usual_ones_with_ttt_and_shot() -> None:
    names = [{run.method["method"] for run in demo_runs(list(chosen), 400)} for chosen in (USUAL, ["all"])]
    assert names[1] - names[0] == {"Ttt", "Shot"}
    assert USUAL == ("Source", "BN", "TENT", "MixNorm-fixed", "MixNorm", "MixNormBN", "ShrinkNorm")


def test_settings_are_the_papers_for_the_order() -> None:
    found = {
        (run.protocol.order, run.method["m"])
        for run in demo_runs(["MixNorm-fixed"], 400)
        if run.method["method"] == "MixNorm"
    }
    assert found == {("mixed", 0.2), ("single", 0.05)}


def test_each_corruption_of_the_single_order_holds_the_largest_batch() -> None:
    assert {run.data["limit"] for run in demo_runs([], 10**6) if run.protocol.order == "single"} == {max(BATCH_SIZES)}


def test_an_unknown_method_is_named() -> None:
    with pytest.raises(UnknownNameError, match="unknown method of the demo 'MixNom'; did you mean 'MixNorm'"):
        demo_runs(["MixNom"], 100)


def test_the_whole_command_and_going_on_after_an_interruption(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "demo"
    command = ["demo", "--output", str(folder), "--limit", "10", "--methods", "MixNorm-fixed", "--workers", "1"]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "Error in %, mixed order, 10 samples" in said
    assert "Error in %, single order, 30 samples" in said
    assert f"{folder / 'report.html'}: the same with figures" in said
    first = {path.name: path.read_bytes() for path in folder.glob("*.json")}
    assert len(first) == 2 * len(BATCH_SIZES) * 2

    lost = next(iter(first))
    (folder / lost).unlink()
    (folder / "report.html").unlink()
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["report"] == str(folder / "report.html")
    second = {path.name: path.read_bytes() for path in folder.glob("*.json")}
    assert set(second) == set(first)
    assert [name for name in first if first[name] != second[name]] == [lost]
    before, after = (json.loads(records[lost])["results"] for records in (first, second))
    assert before == after
    assert (folder / "report.html").is_file()
