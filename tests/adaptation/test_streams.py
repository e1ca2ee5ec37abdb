import pytest

from mixnorm.adaptation.streams import DEFAULT, Streams, stream_names
from mixnorm.errors import InputError, UnknownNameError


def taken_in(*names: str) -> Streams:
    streams = Streams()
    streams.take_in(names, streams.assign(names))
    return streams


def test_new_streams_get_free_slots_and_hold_them_once_seen() -> None:
    streams = Streams()
    assert streams.assign(["a", "b", "a"]) == {"a": 1, "b": 2}
    assert not streams.names
    streams.take_in(["b"], {"a": 1, "b": 2})
    assert streams.names == ("b",)
    assert streams.assign(["c", "b"]) == {"c": 1, "b": 2}


def test_a_forgotten_stream_frees_its_slot() -> None:
    streams = taken_in("a", "b", "a")
    streams.forget("a")
    assert streams.names == ("b",)
    assert streams.seen("a") == 0
    assert streams.assign(["c"]) == {"c": 1}


def test_places_count_within_each_stream() -> None:
    streams = taken_in("a", "a", "b")
    assert streams.places(["b", "a", "a", "c"]) == [1, 2, 3, 0]
    assert streams.seen("a") == 2


def test_export_and_load() -> None:
    streams = taken_in("a", "b", "a")
    streams.forget("a")
    copy = Streams()
    copy.load(streams.export())
    assert copy.export() == streams.export() == {DEFAULT: 0, "b": 1}
    assert copy.slot("b") == 1


def test_an_unknown_stream_is_named_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown stream 'cam1'; did you mean 'cam-1'\?"):
        taken_in("cam-1", "door").slot("cam1")


def test_names_of_a_batch() -> None:
    assert stream_names(None, 2) == [DEFAULT, DEFAULT]
    assert stream_names("door", 2) == ["door", "door"]
    assert stream_names(("a", "b"), 2) == ["a", "b"]


@pytest.mark.parametrize("bad", [["a"], ["a", "b", "c"], []])
def test_a_wrong_number_of_names_is_refused(bad: list[str]) -> None:
    with pytest.raises(InputError, match=f"got {len(bad)} stream names for 2 samples; give one for each sample"):
        stream_names(bad, 2)


@pytest.mark.parametrize("bad", [1, None, ""])
def test_a_name_that_is_no_name_is_refused(bad: object) -> None:
    with pytest.raises(InputError, match=f"must be a string that is not empty, got {bad!r}"):
        stream_names(["a", bad], 2)  # type: ignore[list-item]
