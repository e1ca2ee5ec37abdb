import pytest

from mixnorm import errors
from mixnorm.errors import MissingExtraError, MixNormError, require, unknown_name

CLASSES = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, MixNormError)]


def test_every_error_is_drawn_in_the_tree_with_its_builtin() -> None:
    for error in CLASSES:
        line = next(
            line for line in (errors.__doc__ or "").splitlines() if line.strip(" │├└─").split()[:1] == [error.__name__]
        )
        builtins = [
            base.__name__ for base in error.__bases__ if base.__module__ == "builtins" and base is not Exception
        ]
        assert all(f"({name})" in line for name in builtins)


def test_an_unknown_name_without_a_near_one_lists_all() -> None:
    assert str(unknown_name("order", "zzz", ["mixed", "single"])) == "unknown order 'zzz'. Known: mixed, single"


def test_a_missing_extra_gives_the_command_that_installs_it() -> None:
    with pytest.raises(
        MissingExtraError, match=r"no_such_library is not installed; .* pip install 'mixnorm\[vision\]'"
    ):
        require("no_such_library", "vision")


def test_a_failure_inside_an_extra_is_shown_as_it_is(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    from pathlib import Path

    folder = Path(str(tmp_path))
    (folder / "broken_extra.py").write_text("import no_such_dependency\n")
    monkeypatch.syspath_prepend(folder)
    with pytest.raises(ModuleNotFoundError, match="no_such_dependency") as caught:
        require("broken_extra", "vision")
    assert not isinstance(caught.value, MixNormError)
