"""Sample pictures, and what was predicted before and after."""

import base64
import copy
import dataclasses

import pytest

import mixnorm as mn
from mixnorm.report.pictures import pictures
from mixnorm.report.runs import Run, finished
from tests.report.records import make_record
from tests.report.svg import parse, text, with_class

NUMBERS = {"Source": 0, "TENT": 1}


def pair() -> tuple[Run, Run]:
    records = [make_record(corruptions=("fog", "snow")), make_record(mn.Tent(), error=5.0, corruptions=("fog", "snow"))]
    before, after = finished(copy.deepcopy(records))
    return before, after


def test_a_card_for_each_sample_with_both_predictions() -> None:
    before, after = pair()
    before.results["examples"][0] |= {"label": 3, "prediction": 8, "confidence": 0.41, "class_names": ["3", "8"]}
    after.results["examples"][0] |= {"label": 3, "prediction": 3, "confidence": 0.9, "class_names": ["3", "3"]}
    first, second = with_class(parse(pictures(before, after, NUMBERS)), "card")
    assert text(first) == "fogtruly 3Source✗ wrong: 8, 41 %TENT✓ right: 3, 90 %"
    assert text(second).startswith("snow")
    (picture,) = first.iter("img")
    assert picture.get("src") == "data:image/png;base64," + before.results["examples"][0]["png"]
    assert picture.get("alt") == "sample 0 under fog, truly 3"


@pytest.mark.parametrize("png", ["", "no base64!", base64.b64encode(b"<svg onload=alert(1)>").decode(), '"><script>'])
def test_what_is_no_picture_is_not_put_into_the_page(png: str) -> None:
    before, after = pair()
    before.results["examples"][0]["png"] = png
    shown = pictures(before, after, NUMBERS)
    assert len(list(parse(shown).iter("img"))) == 1
    assert "no picture" in shown


def test_only_samples_that_both_hold_are_shown() -> None:
    before, after = pair()
    del after.results["examples"][0]
    assert [text(card[1]) for card in with_class(parse(pictures(before, after, NUMBERS)), "card")] == ["snow"]
    after = dataclasses.replace(after, results=after.results | {"examples": []})
    assert pictures(before, after, NUMBERS) == "<p>The records hold no sample pictures.</p>"
