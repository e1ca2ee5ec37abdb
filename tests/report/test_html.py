"""Elements: everything that is not an element is escaped."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixnorm.report.html import Html, element, join


@given(text=st.text(alphabet=st.characters(min_codepoint=32, codec="utf-8")))
def test_any_text_comes_back_as_it_was(text: str) -> None:
    parsed = ElementTree.fromstring(element("p", text, title=text))
    assert (parsed.text or "") == text
    assert parsed.get("title") == text
    assert len(parsed) == 0


def test_elements_are_taken_as_they_are_and_text_around_them_is_escaped() -> None:
    assert element("p", "<", element("b", "&")) == "<p>&lt;<b>&amp;</b></p>"
    assert join("<", Html("<br>")) == "&lt;<br>"


@pytest.mark.parametrize(("value", "written"), [(1.0, "1"), (0.125, "0.12"), (10.0, "10"), (3, "3"), ("a", "a")])
def test_numbers_are_as_short_as_a_screen_needs(value: object, written: str) -> None:
    assert element("rect", x=value) == f'<rect x="{written}"/>'


def test_names_of_attributes() -> None:
    assert element("p", class_="a", aria_label="b", id=None) == '<p class="a" aria-label="b"></p>'
