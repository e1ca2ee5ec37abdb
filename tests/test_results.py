"""Committed records that a page quotes: those of their grid, and quoted as they are."""

import pytest

from mixnorm.evaluation import Record, read_records, results_of
from mixnorm.report.labels import label
from mixnorm.sweeps import read_grid
from tests.real import PROJECT

DIGITS = PROJECT / "results" / "digits-c-single"


def digits() -> dict[str, Record]:
    return {label(record.fingerprint["method"]): record for record in read_records(DIGITS)}


def test_the_records_of_ttt_on_digits_are_those_of_the_grid() -> None:
    records = digits()
    assert {record.id for record in records.values()} == {spec.id for spec in read_grid(DIGITS / "grid.toml")}
    assert set(records) == {"Source", "BN", "TENT", "TTT"}
    assert not any((record.commit or "-dirty").endswith("-dirty") for record in records.values())


def test_the_page_of_methods_quotes_them() -> None:
    errors = {name: results_of(record)["error"] for name, record in digits().items()}
    quoted = ", ".join(f"{name} {errors[name]:.1f} %" for name in ("Source", "BN", "TENT", "TTT"))
    page = " ".join((PROJECT / "docs" / "methods.md").read_text(encoding="utf-8").split())
    assert quoted in page
    assert errors["TTT"] < errors["Source"]


@pytest.mark.parametrize(
    ("folder", "count"),
    [("ablation-statistics-resnet56", 8), ("ablation-views-resnet56", 6), ("cifar10-c-mixed-resnet56", 48)],
)
def test_tables_on_real_data_show_their_records(folder: str, count: int) -> None:
    records = read_records(PROJECT / "results" / folder)
    pages = " ".join(page.read_text(encoding="utf-8") for page in (PROJECT / "docs" / folder).glob("*.md"))
    assert len(records) == count
    for record in records:
        assert results_of(record)["count"] == 10_000
        assert f" {results_of(record)['error']:.2f}" in pages


def test_the_page_of_real_data_quotes_the_ablation() -> None:
    page = " ".join((PROJECT / "docs" / "mixed-resnet56.md").read_text(encoding="utf-8").split())
    for record in read_records(PROJECT / "results" / "ablation-statistics-resnet56"):
        assert f"{results_of(record)['error']:.2f}" in page


def test_the_page_of_real_data_quotes_the_number_of_views() -> None:
    page = (PROJECT / "docs" / "mixed-resnet56.md").read_text(encoding="utf-8")
    records = read_records(PROJECT / "results" / "ablation-views-resnet56")
    by_views = {record.fingerprint["method"]["views"]: results_of(record)["error"] for record in records}
    cells = [f"{by_views[views]:.2f}" for views in (1, 3, 5, 7, 9, 15)]
    assert f"| error in % | {' | '.join(cells)} |" in page
