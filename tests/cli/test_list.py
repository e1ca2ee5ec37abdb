import json

import pytest

from mixnorm.adaptation import Method
from mixnorm.benchmarks.corruptions import CORRUPTIONS
from mixnorm.cli import main
from mixnorm.cli.list import LISTS
from mixnorm.evaluation import method_from_text


@pytest.mark.parametrize("kind", LISTS)
def test_every_list_has_a_line_for_each_name(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", kind]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert main(["list", kind, "--json"]) == 0
    names = [row["name"] for row in json.loads(capsys.readouterr().out)]
    assert [line.split("  ")[0] for line in lines] == names
    assert len(set(names)) == len(names)


def test_every_method_that_is_listed_can_be_given(capsys: pytest.CaptureFixture[str]) -> None:
    main(["list", "methods", "--json"])
    methods = [method_from_text(row["name"]) for row in json.loads(capsys.readouterr().out)]
    assert {method.name for method in methods} == set(Method.registry)


def test_what_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    for kind, expected in (
        ("datasets", ("digits-c", "cifar10-c")),
        ("models", ("wrn-40-2",)),
        ("corruptions", CORRUPTIONS),
    ):
        main(["list", kind])
        printed = capsys.readouterr().out
        assert all(name in printed for name in expected)
