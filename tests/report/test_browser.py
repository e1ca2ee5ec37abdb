"""The page in a real browser: no console message, all figures drawn, nothing wider than the screen."""

import json
import re
from pathlib import Path

import pytest
from PIL import Image

from mixnorm.report import Findings, page
from tests.report.browser import browse, needs_browser
from tests.report.records import demo_records

# A frame is as wide as it is told to be, also where the smallest window is wider than a phone.
FRAME = """<!doctype html><body style="margin:0">
<iframe src="report.html" style="border:0;width:{width}px;height:900px"></iframe><script>
document.querySelector("iframe").onload = event => {{
  const page = event.target.contentDocument;
  const seen = [...page.querySelectorAll("figure > svg")].map(svg => svg.getBoundingClientRect());
  const texts = [...page.querySelectorAll("figure > svg text")].map(text => text.getBoundingClientRect());
  const pictures = [...page.querySelectorAll("img")];
  const words = [...page.querySelectorAll("table:has(td.text)")].map(table => table.querySelector("th:last-child"));
  document.title = JSON.stringify({{
    figures: seen.filter(box => box.width > 200 && box.height > 100).length,
    wide: page.documentElement.scrollWidth,
    outside: texts.filter(box => box.left < 0 || box.right > {width}).length,
    smallest: Math.min(...texts.map(box => box.height)),
    columns: new Set(seen.map(box => Math.round(box.left))).size,
    askew: words.filter(head => page.defaultView.getComputedStyle(head).textAlign != "left").length,
    words: words.length,
    pictures: pictures.length,
    loaded: pictures.filter(picture => picture.naturalWidth > 0).length,
  }});
}};
</script>"""
BROKEN = "<!doctype html><script>console.error('seen'); missing();</script>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    records = [*demo_records(), *demo_records(order="single", reset="segment", count=3000)]
    (folder / "report.html").write_text(page(Findings.of(records)), encoding="utf-8")
    return folder


@needs_browser
@pytest.mark.parametrize(("width", "columns"), [(1280, 2), (360, 1)])
def test_the_page_fits_a_wide_and_a_narrow_screen(folder: Path, tmp_path: Path, width: int, columns: int) -> None:
    frame = folder / f"{width}.html"
    frame.write_text(FRAME.format(width=width), encoding="utf-8")
    flags = ("--allow-file-access-from-files", "--window-size=1400,1000", "--virtual-time-budget=5000", "--dump-dom")
    dom, console = browse(frame, tmp_path, *flags)
    assert console == []
    found = re.search(r"<title>(.*?)</title>", dom)
    assert found, dom[:500]
    seen = json.loads(found[1])
    assert seen["figures"] == 8
    assert seen["wide"] <= width
    assert seen["outside"] == 0
    assert seen["smallest"] > 9
    assert seen["columns"] == columns
    assert seen["words"] > 0
    assert seen["askew"] == 0
    assert seen["loaded"] == seen["pictures"] == 30


@needs_browser
def test_a_message_on_the_console_would_be_seen(tmp_path: Path) -> None:
    broken = tmp_path / "broken.html"
    broken.write_text(BROKEN, encoding="utf-8")
    _, console = browse(broken, tmp_path / "profile", "--dump-dom")
    assert any("seen" in line for line in console)
    assert any("missing is not defined" in line for line in console)


@needs_browser
def test_light_and_dark(folder: Path, tmp_path: Path) -> None:
    grounds = []
    for scheme in (1, 0):
        shot = tmp_path / f"{scheme}.png"
        flags = ("--window-size=800,600", f"--blink-settings=preferredColorScheme={scheme}", f"--screenshot={shot}")
        _, console = browse(folder / "report.html", tmp_path / f"profile-{scheme}", *flags)
        assert console == []
        grounds.append(Image.open(shot).convert("RGB").getpixel((2, 2)))
    assert grounds == [(0xFF, 0xFF, 0xFF), (0x14, 0x17, 0x1B)]


@needs_browser
def test_it_prints(folder: Path, tmp_path: Path) -> None:
    paper = tmp_path / "report.pdf"
    _, console = browse(
        folder / "report.html", tmp_path / "profile", "--no-pdf-header-footer", f"--print-to-pdf={paper}"
    )
    assert console == []
    assert paper.read_bytes().startswith(b"%PDF")
