"""The grid over settings, and which one is chosen."""

from pathlib import Path

import pytest

import mixnorm as mn
from mixnorm.errors import SettingError, UnknownNameError
from mixnorm.paper import Comparison, Setup, reproduce
from mixnorm.paper.tune import best, best_settings, grid_of, published_values, source_error, tuning_table
from tests.paper.records import comparison


def test_the_published_values_are_those_of_appendix_b() -> None:
    assert published_values(mn.MixNorm()) == ((0.005, 0.01, 0.05, 0.2), (1e-7, 1e-6, 1e-3))
    assert published_values(mn.MixNormBN()) == ((0.01, 0.05, 0.1, 0.2), (0.5, 0.75, 1.1))


def test_each_cell_is_a_run_on_gaussian_noise_of_severity_5() -> None:
    table = tuning_table(grid_of("mixnormbn", m=[0.1, 0.2], speed=[0.5], batch_size=64), data="d", model="n")
    runs = [table.run(cell) for cell in table.cells]
    assert [run.method for run in runs] == [
        *(mn.MixNormBN(m=m, tau_max=0.5, views=1, learn=mn.Entropy()) for m in (0.1, 0.2)),
        mn.Source(),
    ]
    for run in runs:
        assert (run.data, run.model, run.batch_size) == ("d", "n", 64)
        assert (run.corruptions, run.severity, run.reset) == (("gaussian_noise",), 5, "segment")


def test_fixed_and_learnable() -> None:
    for name, learn in (("mixnorm-fixed", None), ("mixnorm", mn.Entropy())):
        table = tuning_table(grid_of(name, m=[0.3], speed=[0.0]), data="d", model="n")
        assert table.run(table.cells[0]).method == mn.MixNorm(m=0.3, tau=0.0, views=1, learn=learn)


def test_the_lowest_error_wins_and_the_first_of_equals() -> None:
    table = tuning_table(grid_of("mixnorm-fixed", m=[0.1, 0.2], speed=[0.0, 1e-3]), data="d", model="n")
    errors = {
        ("Source", "0"): 10.0,
        ("Source", "0.001"): 10.0,
        ("0.1", "0"): 30.0,
        ("0.1", "0.001"): 20.0,
        ("0.2", "0"): 20.0,
        ("0.2", "0.001"): 40.0,
    }
    made = comparison(table, lambda cell: errors[cell.row.id, cell.column.id])
    assert best_settings(made) == {"m": 0.1, "tau": 1e-3}
    assert source_error(made) == 10.0


def test_no_run_no_choice() -> None:
    table = tuning_table(grid_of("mixnorm-fixed"), data="d", model="n")
    made = Comparison(table=table, setup=Setup(), records={})
    assert best(made) is None
    assert best_settings(made) is None


def test_a_real_grid_on_the_bundled_data(tmp_path: Path) -> None:
    grid = grid_of("mixnorm-fixed", m=[0.0, 0.3], speed=[0.0], batch_size=60)
    made = reproduce(tuning_table(grid, data="digits-c", model="digits"), tmp_path, setup=Setup(limit=60))
    still, mixed, source = (made.measured(cell) for cell in made.table.cells)
    stream = mn.load_stream("digits-c", order="single", corruptions="gaussian_noise", limit=60)
    (batch,) = stream.batches(60)
    wrong = mn.load_model("digits")(batch.images).argmax(1) != batch.labels
    assert source == pytest.approx(100 * float(wrong.float().mean()))
    assert still == source == source_error(made)
    assert mixed is not None
    assert source is not None
    assert mixed < source
    assert best_settings(made) == {"m": 0.3, "tau": 0.0}


@pytest.mark.parametrize("values", [[], [0.1, 0.1]])
def test_values_to_try(values: list[float]) -> None:
    with pytest.raises(SettingError, match="m must be at least one value, each once, got"):
        grid_of("mixnorm", m=values)


def test_a_method_without_these_settings() -> None:
    with pytest.raises(UnknownNameError, match="unknown method to tune 'tent'"):
        grid_of("tent")
