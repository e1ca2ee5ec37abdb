import pytest

from mixnorm.errors import SettingError, UnknownNameError
from mixnorm.evaluation import Protocol


def test_to_and_from_plain_data() -> None:
    protocol = Protocol(order="single", reset="segment", batch_size=8, window=50)
    assert Protocol.from_dict(protocol.to_dict()) == protocol
    assert Protocol.from_dict({}) == Protocol()
    offline = Protocol(epochs=3)
    assert Protocol.from_dict(offline.to_dict()) == offline
    assert "epochs" not in Protocol().to_dict()


@pytest.mark.parametrize("field", ["batch_size", "window"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True, "8", None])
def test_counts_must_be_whole_and_positive(field: str, value: object) -> None:
    with pytest.raises(SettingError, match=f"{field} must be a whole number of 1 or more, got"):
        Protocol(**{field: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [-1, 1.5, True, "8", None])
def test_epochs_may_be_none_but_not_less(value: object) -> None:
    with pytest.raises(SettingError, match="epochs must be a whole number of 0 or more, got"):
        Protocol(epochs=value)  # type: ignore[arg-type]


def test_names_that_are_not_known() -> None:
    with pytest.raises(UnknownNameError, match="unknown order 'mixd'; did you mean 'mixed'"):
        Protocol(order="mixd")
    with pytest.raises(UnknownNameError, match="unknown reset 'always'"):
        Protocol(reset="always")
    with pytest.raises(UnknownNameError, match="unknown field of a protocol 'batchsize'"):
        Protocol.from_dict({"batchsize": 1})
    with pytest.raises(SettingError, match="must be a table of fields"):
        Protocol.from_dict("mixed")  # type: ignore[arg-type]
