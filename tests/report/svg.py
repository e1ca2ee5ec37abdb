"""Reading drawings back."""

import re
from xml.etree import ElementTree
from xml.etree.ElementTree import Element


def parse(drawing: str) -> Element:
    """Parse an element; the page's drawings carry no namespace."""
    return ElementTree.fromstring(drawing)


def parse_page(page: str) -> Element:
    """Parse a whole page, which is well-formed but for its first line."""
    return parse(page.removeprefix("<!doctype html>\n"))


def classes(element: Element) -> list[str]:
    return (element.get("class") or "").split()


def with_class(root: Element, name: str) -> list[Element]:
    return [element for element in root.iter() if name in classes(element)]


def places(polyline: Element) -> list[tuple[float, float]]:
    pairs = (pair.split(",") for pair in (polyline.get("points") or "").split())
    return [(float(x), float(y)) for x, y in pairs]


def place_of(mark: Element) -> tuple[float, float]:
    found = re.match(r"translate\((\S+) (\S+)\)", mark.get("transform") or "")
    assert found
    return float(found[1]), float(found[2])


def text(element: Element) -> str:
    return "".join(element.itertext())


def rows(table: Element) -> list[list[str]]:
    return [[text(cell) for cell in row if cell.tag in ("td", "th")] for row in table.iter("tr")]
