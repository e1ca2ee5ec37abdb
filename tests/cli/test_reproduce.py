"""`mixnorm reproduce` from the command line, on the bundled model and data."""

import json
from pathlib import Path

import pytest

from mixnorm.cli import main
from mixnorm.paper import list_tables
from tests.benchmarks.datasets.writers import write_folder

BUNDLED = ["--model", "digits", "--data", "digits-c", "--limit", "12"]


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MIXNORM_DATA", str(tmp_path / "data"))


def test_the_comparison_is_printed_and_written(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["reproduce", "cifar10-c-mixed-wrn28", *BUNDLED, "--methods", "bn", "tent", "--batch-sizes", "8"]
    assert main(command) == 0
    shown = capsys.readouterr()
    for words in ("published", "measured", "difference", "37.15", "compare the order of the methods"):
        assert words in " ".join(shown.out.split())
    assert "2/2" in shown.err
    folder = Path("results/cifar10-c-mixed-wrn28")
    assert len(list(folder.glob("*.json"))) == 2
    page = (folder / "cifar10-c-mixed-wrn28.md").read_text()
    assert "(37.15) |" in page
    assert "(cifar10-c-mixed-wrn28.svg)" in page
    assert (folder / "cifar10-c-mixed-wrn28.svg").exists()
    assert (folder / "cifar10-c-mixed-wrn28.png").exists()


def test_json_and_other_folders(capsys: pytest.CaptureFixture[str]) -> None:
    folders = ["--results", "records", "--output", "page"]
    assert main(["reproduce", "ablation-statistics", *BUNDLED, "--methods", "instance", *folders, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    (cell,) = answer["cells"]
    assert cell["difference"] == pytest.approx(cell["measured"] - 78.21)
    assert (Path("records") / f"{cell['record']}.json").exists()
    assert answer["files"] == [str(Path("page/ablation-statistics.md"))]
    assert Path(answer["files"][0]).exists()


@pytest.mark.parametrize("name", [table.name for table in list_tables()])
def test_published_numbers_of_every_table(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", name, "--published"]) == 0
    assert "of the paper" in capsys.readouterr().out
    assert main(["reproduce", name, "--published", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["table"] == name
    assert not Path("results").exists()


def test_failed_runs_give_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    Path("wrong.py").write_text("from torch import nn\ndef net():\n    return nn.Sequential(nn.BatchNorm2d(5))\n")
    own = ["--model", "wrong.py:net", "--data", "digits-c", "--limit", "5"]
    assert main(["reproduce", "ablation-statistics", "--methods", "instance", *own]) == 1
    assert "Failed: instance, error: " in capsys.readouterr().out


def test_zero_shot_with_a_clip_model_and_data_of_ones_own(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.py").write_text("from tests.benchmarks.models.clips import small_clip as clip\n")
    write_folder(Path("fruit"), {"red_apple": 3, "pear": 2}, side=40)
    own = ["--model", "mine.py:clip", "--data", "fruit", "--methods", "source", "mixnorm-fixed"]
    assert main(["reproduce", "zero-shot", *own]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Accuracy in %; a difference is measured - published." in shown
    assert "Measured with mine.py:clip on fruit; published with clip-rn50 on cifar100, stanford-cars," in shown
    records = [json.loads(path.read_text()) for path in Path("results/zero-shot").glob("*.json")]
    (error,) = (each["results"]["error"] for each in records if each["spec"]["method"]["method"] == "Source")
    assert f"| {100 - error:.2f} (40.97) |" in Path("results/zero-shot/zero-shot.md").read_text()


def test_a_transformer_cannot_adapt_in_a_zero_shot_run(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.py").write_text("from tests.benchmarks.models.clips import small_transformer as clip\n")
    write_folder(Path("fruit"), {"apple": 1, "pear": 1})
    assert main(["evaluate", "--model", "mine.py:clip", "--data", "fruit"]) == 2
    assert "has no BatchNorm layer" in capsys.readouterr().err


def test_domain_adaptation_with_another_source_and_other_targets(capsys: pytest.CaptureFixture[str]) -> None:
    own = ["--model", "digits", "--data", "usps=digits", "mnist=digits-c", "--limit", "20", "--epochs", "2"]
    assert main(["reproduce", "domain-adaptation", *own, "--methods", "source", "mixnormbn", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    cells = [(cell["row"], cell["column"], cell["published"]) for cell in answer["cells"]]
    assert cells == [
        ("source", "usps", 37.02),
        ("source", "mnist", 23.84),
        ("mixnormbn", "usps", 25.71),
        ("mixnormbn", "mnist", 7.95),
    ]
    records = [
        json.loads(Path(f"results/domain-adaptation/{cell['record']}.json").read_text()) for cell in answer["cells"]
    ]
    assert [record["fingerprint"]["data"] for record in records] == ["digits", "digits-c"] * 2
    assert [record["spec"]["method"].get("tau_max") for record in records] == [None, None, 0.5, 0.75]
    assert all(record["spec"]["protocol"]["epochs"] == 2 and record["cost"]["fit"]["seconds"] > 0 for record in records)


def test_all_that_domain_adaptation_lacks_is_told_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "domain-adaptation"]) == 2
    said = capsys.readouterr().err
    for lacking in ("the weights of svhn-affine are not at", "svhn-f564f3d8.pth", "mnist/", "usps/", "mnist_m/"):
        assert lacking in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["domain-adaptation", "--data", "digits", "digits-c"],
            "--data digits digits-c: give one data set, or COLUMN=",
        ),
        (["domain-adaptation", "--data", "usps=digits", "usps=digits-c"], "each once"),
        (["domain-adaptation", "--data", "uspss=digits"], "unknown column of domain-adaptation 'uspss'; did you mean"),
        (["domain-adaptation", *BUNDLED, "--epochs", "-1"], "epochs must be a whole number of 0 or more, got -1"),
        (["cifar10-c"], "unknown table 'cifar10-c'"),
        (["zero-shot"], "the weights of clip-rn50 are not at"),
        (["digit-datasets"], "has datasets, not results"),
        (["cifar10-c-single-wrn40"], "the weights of wrn-40-2 are not at"),
        (["imagenet-c-mixed-resnet50", "--methods", "memo"], "unknown method of imagenet-c-mixed-resnet50 'memo'"),
        (["ablation-statistics", *BUNDLED, "--batch-sizes", "0"], "batch_size must be a whole number of 1 or more"),
        (["ablation-statistics", *BUNDLED[:4], "--limit", "100000"], "limit=100000 is more than the 600 images"),
    ],
)
def test_a_users_mistake_gives_exit_code_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not Path("results").exists()
