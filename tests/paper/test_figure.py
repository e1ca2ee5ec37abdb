"""The figure: whole files, the curves it should have, the same bytes for the same numbers."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mixnorm.errors import SettingError
from mixnorm.paper import load_table
from mixnorm.paper.figure import _picture, draw
from mixnorm.paper.selection import select
from tests.paper.records import comparison

MIXED = load_table("cifar10-c-mixed-wrn28")


def test_files_are_whole_and_repeat(tmp_path: Path) -> None:
    made = comparison(MIXED, lambda cell: 40.0)
    first, second = draw(made, tmp_path / "a" / "b"), draw(made, tmp_path / "c")
    assert [path.name for path in first] == ["cifar10-c-mixed-wrn28.png", "cifar10-c-mixed-wrn28.svg"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert sorted(path.name for path in (tmp_path / "c").iterdir()) == [path.name for path in second]
    with Image.open(first[0]) as picture:
        assert np.asarray(picture.convert("L")).std() > 5
    assert first[1].read_text().rstrip().endswith("</svg>")


def test_curves_are_the_numbers() -> None:
    table = select(MIXED, methods=["tent", "source"], batch_sizes=[1, 200])
    picture = _picture(comparison(table, lambda cell: 40.0))
    (axes,) = picture.axes
    curves = [(list(line.get_xdata()), list(line.get_ydata()), line.get_linestyle()) for line in axes.lines[:3]]
    assert curves[0] == ([1, 200], [40.0, 40.0], "-")
    assert curves[1] == ([1, 200], [89.69, 33.12], "--")
    assert curves[2] == ([1, 200], [40.0, 40.0], "-")
    assert np.isnan(axes.lines[3].get_ydata()).all()
    assert [text.get_text() for text in picture.legends[0].get_texts()] == ["TENT", "Source", "published"]


def test_a_table_without_batch_sizes_has_no_figure(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="ablation-statistics has no figure"):
        draw(comparison(load_table("ablation-statistics"), lambda cell: 1.0), tmp_path)
