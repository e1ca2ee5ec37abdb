import json
from pathlib import Path

import pytest

from tests.scripts.conftest import Load


def test_a_stream_is_followed_through_its_parts(
    load_script: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "long.json"
    arguments = ["--model", "digits", "--data", "digits", "--limit", "4", "--batch-size", "16", "-o", str(output)]
    monkeypatch.setattr("sys.argv", ["long_stream.py", *arguments])
    load_script("long_stream").main()
    parts = json.loads(output.read_text())["parts"]
    assert {part: found["count"] for part, found in parts.items()} == {"mixed": 60, "one corruption": 4, "clean": 4}
    for found in parts.values():
        assert 0 <= found["first"] <= 100
        assert 0 <= found["last"] <= 100
        assert 0 <= found["last, fresh"] <= 100
    # Of fewer samples than a window, the first are the last, and the first part's model has seen nothing before.
    assert parts["clean"]["first"] == parts["clean"]["last"]
    assert parts["mixed"]["first"] == parts["mixed"]["last, fresh"]
    assert parts["clean"]["first, source"] == parts["clean"]["last, source"]
    assert "clean" in capsys.readouterr().out
