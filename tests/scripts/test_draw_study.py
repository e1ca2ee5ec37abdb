from pathlib import Path

import pytest

from tests.real import PROJECT
from tests.scripts.conftest import Load

pytest.importorskip("matplotlib")


def test_the_picture_has_every_corruption_and_method(
    load_script: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "study.svg"
    monkeypatch.setattr("sys.argv", ["draw_study.py", str(PROJECT / "results" / "study"), str(output)])
    script = load_script("draw_study")
    script.main()
    drawn = output.read_text(encoding="utf-8")
    for name in (*script.NETWORKS, "gaussian_noise", "jpeg_compression", "mean", *script.STYLES):
        assert f">{name}</text>" in drawn
    shown = (PROJECT / "docs" / "images" / "study.svg").read_text(encoding="utf-8")
    assert shown.count("<use ") == drawn.count("<use ")


def test_no_records_no_picture(load_script: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["draw_study.py", str(tmp_path), str(tmp_path / "study.svg")])
    with pytest.raises(SystemExit, match="no records"):
        load_script("draw_study").main()
    assert not list(tmp_path.iterdir())


def test_the_mean_stands_below_the_corruptions_on_every_network(load_script: Load) -> None:
    panels = load_script("draw_study").picture(PROJECT / "results" / "study").axes
    assert len(panels) > 1
    for axes in panels:
        bottom, top = axes.get_ylim()
        assert bottom > top
    assert panels[0].get_yticklabels()[-1].get_text() == "mean"
