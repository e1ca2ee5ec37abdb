"""Sample pictures of each corruption, with the predictions before and after adaptation."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from mixnorm.report.chart import style
from mixnorm.report.html import Html, element
from mixnorm.report.runs import Run

_PNG = b"\x89PNG\r\n\x1a\n"
_SMALL = 100  # pixels below which a picture is shown in whole pixels


def pictures(before: Run, after: Run, numbers: dict[str, int]) -> Html:
    """Show a card for each sample that both runs hold."""
    later = {_sample(example): example for example in after.results["examples"]}
    cards = [
        _card(example, later[_sample(example)], before, after, numbers)
        for example in before.results["examples"]
        if _sample(example) in later
    ]
    return element("div", *cards, class_="cards") if cards else element("p", "The records hold no sample pictures.")


def _sample(example: Mapping[str, Any]) -> tuple[Any, ...]:
    return example["index"], example["corruption"], example["severity"]


def _card(
    earlier: Mapping[str, Any], later: Mapping[str, Any], before: Run, after: Run, numbers: dict[str, int]
) -> Html:
    name = str(earlier["corruption"]).replace("_", " ")
    truth = str(earlier["class_names"][0])
    return element(
        "div",
        _picture(str(earlier.get("png") or ""), f"sample {earlier['index']} under {name}, truly {truth}"),
        element("h3", name),
        element("p", "truly ", element("b", truth)),
        _prediction(before.label, earlier, numbers),
        _prediction(after.label, later, numbers),
        class_="card",
    )


def _prediction(label: str, example: Mapping[str, Any], numbers: dict[str, int]) -> Html:
    right = example["label"] == example["prediction"]
    name = f"{example['class_names'][1]}, {100 * example['confidence']:.0f} %"
    verdict = element("b", "✓ " if right else "✗ ", class_="right" if right else "wrong")
    words = element("span", "right: " if right else "wrong: ", class_="unseen")
    return element("p", element("i", label, class_=style(numbers[label])), verdict, words, name)


def _picture(encoded: str, text: str) -> Html:
    """Show a PNG of the record; what is none is not put into the page."""
    try:
        content = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        content = b""
    if not content.startswith(_PNG) or len(content) < 24:
        return element("div", "no picture", class_="nothing")
    width = int.from_bytes(content[16:20])
    whole = "whole" if width < _SMALL else None
    return element("img", src=f"data:image/png;base64,{encoded}", alt=text, class_=whole)
