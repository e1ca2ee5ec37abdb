import json
from dataclasses import replace

import pytest

from mixnorm.benchmarks import load_dataset, load_stream
from mixnorm.benchmarks.corruptions import CORRUPTIONS
from mixnorm.benchmarks.datasets.shifted import AsStored
from mixnorm.benchmarks.streams import ORDERS, Stream
from mixnorm.errors import SettingError, UnknownNameError


def digits(**settings: object) -> Stream:
    return load_stream("digits-c", **settings)  # type: ignore[arg-type]


def test_it_describes_itself_as_plain_data() -> None:
    stream = digits(order="correlated", corruptions=["fog"], severity=2, seed=4, limit=9, concentration=0.5)
    assert json.loads(json.dumps(stream.describe())) == {
        "name": "digits-c",
        "order": "correlated",
        "severity": 2,
        "corruptions": ["fog"],
        "seed": 4,
        "limit": 9,
        "concentration": 0.5,
    }
    assert (stream.name, stream.class_count, len(stream)) == ("digits-c", 10, 9)


def test_the_fingerprint_tells_streams_apart() -> None:
    base = digits(limit=20)
    same = [base.fingerprint(), digits(limit=20).fingerprint(), replace(base, concentration=9.0).fingerprint()]
    assert len(set(same)) == 1
    others = [replace(base, order=order) for order in ORDERS if order != "mixed"]
    others += [replace(base, severity=4), replace(base, limit=19), replace(base, corruptions=CORRUPTIONS[:3])]
    others += [digits(limit=20, seed=1), digits(limit=20, split="train")]
    assert len({same[0], *(each.fingerprint() for each in others)}) == 1 + len(others)


def test_the_order_can_be_replaced() -> None:
    stream = replace(digits(limit=5), order="single")
    assert len(stream) == 75
    assert [batch.segment for batch in stream.batches(5)] == list(range(15))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"severity": 6}, "severity=6 is not one of 1, 2, 3, 4, 5"),
        ({"severity": 5.0}, "severity=5.0 is not one of"),
        ({"seed": -1}, "seed=-1 is not a whole number of at least 0"),
        ({"seed": 0.5}, "seed=0.5 is not a whole number"),
        ({"limit": 0}, "limit=0 is not a whole number of at least 1"),
        ({"concentration": 0.0}, "concentration=0.0 is not a positive number"),
        ({"concentration": float("nan")}, "concentration=nan is not a positive number"),
        ({"corruptions": []}, "must name at least one"),
        ({"corruptions": ["fog", "fog"]}, "each once"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        digits(**settings)


def test_a_limit_beyond_the_images_is_refused() -> None:
    with pytest.raises(SettingError, match="limit=601 is more than the 600 images"):
        len(digits(limit=601))


def test_unknown_names_list_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown order 'gradul'; did you mean 'gradual'"):
        digits(order="gradul")
    with pytest.raises(UnknownNameError, match="unknown corruption of digits-c 'fogg'; did you mean 'fog'"):
        digits(corruptions=["fogg"])


def test_clean_images_have_severity_0() -> None:
    stream = Stream(data=AsStored(load_dataset("digits")), corruptions=("clean",), limit=3, order="gradual")
    assert {shift for batch in stream.batches(8) for shift in batch.shifts} == {("clean", 0)}


def test_segments_one_at_a_time_are_the_whole_stream() -> None:
    stream = digits(limit=5, order="single", corruptions=CORRUPTIONS[:3])
    assert stream.segments == (0, 1, 2)
    whole = [batch.indices.tolist() for batch in stream.batches(2)]
    parts = [batch for segment in stream.segments for batch in stream.batches(2, segment=segment)]
    assert [batch.indices.tolist() for batch in parts] == whole
    assert [batch.segment for batch in parts] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert digits(limit=5).segments == (0,)


def test_a_segment_that_there_is_not() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown segment 3\. Known: 0"):
        digits(limit=5).batches(2, segment=3)
