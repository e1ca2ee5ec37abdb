import json
from dataclasses import replace

import numpy as np
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
        ({"seed": -1}, "seed must be a whole number of 0 or more, got -1"),
        ({"seed": 0.5}, "seed must be a whole number of 0 or more, got 0.5"),
        ({"limit": 0}, "limit must be a whole number of 1 or more, got 0"),
        ({"concentration": 0.0}, "concentration must be a positive number, got 0.0"),
        ({"concentration": float("nan")}, "concentration must be a positive number, got nan"),
        ({"concentration": "0.1"}, "concentration must be a positive number, got '0.1'"),
        ({"severity": True}, "severity=True is not one of"),
        ({"seed": False}, "seed must be a whole number of 0 or more, got False"),
        ({"limit": 10**30}, "is more than the 600 images of digits-c"),
        ({"resize": "32"}, "resize must be a whole number of 1 or more, got '32'"),
        ({"corruptions": 5}, "corruptions must be a name or a list of names, got 5"),
        ({"corruptions": [["fog"]]}, "corruptions must be a name or a list of names"),
        ({"corruptions": []}, "must name at least one"),
        ({"corruptions": ["fog", "fog"]}, "each once"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        digits(**settings)


def test_a_limit_beyond_the_images_is_refused() -> None:
    with pytest.raises(SettingError, match="limit=601 is more than the 600 images"):
        digits(limit=601)


def test_unknown_names_list_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown order 'gradul'; did you mean 'gradual'"):
        digits(order="gradul")
    with pytest.raises(UnknownNameError, match="unknown corruption of digits-c 'fogg'; did you mean 'fog'"):
        digits(corruptions=["fogg"])


def test_clean_images_have_severity_0_which_neither_rises_nor_falls() -> None:
    stream = Stream(data=AsStored(load_dataset("digits")), corruptions=("clean",), limit=3, order="gradual")
    assert [shift for batch in stream.batches(8) for shift in batch.shifts] == [("clean", 0)] * 3


def test_numbers_of_numpy_are_as_good_as_those_of_python() -> None:
    numbers = {"severity": np.int32(2), "seed": np.int64(4), "limit": np.uint8(9), "concentration": np.float32(0.5)}
    stream = digits(order="correlated", corruptions=["fog"], **numbers)
    same = digits(order="correlated", corruptions=["fog"], severity=2, seed=4, limit=9, concentration=0.5)
    assert json.dumps(stream.describe()) == json.dumps(same.describe())
    assert stream.fingerprint() == same.fingerprint()
    assert len(list(stream.batches(np.int64(4)))) == 3  # type: ignore[arg-type]


def test_a_stream_is_made_of_a_data_set_under_shifts() -> None:
    with pytest.raises(SettingError, match="data must be a data set under shifts, got 'digits'"):
        Stream(data="digits", corruptions=("clean",))  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="corruptions must be a tuple of names, got 'clean'"):
        Stream(data=AsStored(load_dataset("digits")), corruptions="clean")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="unknown order"):
        digits(order=["mixed"])


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
