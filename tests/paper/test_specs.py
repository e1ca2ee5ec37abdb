"""From a cell to its run."""

from mixnorm.evaluation import Protocol
from mixnorm.paper import load_table
from mixnorm.paper.selection import select
from mixnorm.paper.specs import Setup, spec_of

SINGLE = load_table("cifar10-c-single-wrn28")


def test_the_papers_own_run() -> None:
    (cell,) = select(SINGLE, methods=["mixnorm"], batch_sizes=[16]).cells
    spec = spec_of(SINGLE, cell, Setup())
    assert spec.model == "wrn-28-10"
    assert (spec.data["name"], spec.data["severity"], spec.data["limit"]) == ("cifar10-c", 5, None)
    assert spec.protocol == Protocol(order="single", reset="segment", batch_size=16)
    assert (spec.method["m"], spec.method["tau"], spec.method["learn"]["lr"]) == (0.05, 1e-3, 1e-3)


def test_what_the_user_has_takes_the_place_of_the_papers() -> None:
    setup = Setup(model="m.py:f", checkpoint="w.pt", data="c.npz", data_dir="d", limit=9, seed=4, threads=2)
    spec = spec_of(SINGLE, SINGLE.cells[0], setup)
    assert (spec.model, spec.checkpoint, spec.seed, spec.threads) == ("m.py:f", "w.pt", 4, 2)
    data = {key: spec.data[key] for key in ("name", "data_dir", "limit", "seed")}
    assert data == {"name": "c.npz", "data_dir": "d", "limit": 9, "seed": 4}
    assert spec.protocol.order == "single"


def test_split_epochs_and_a_data_set_for_each_column() -> None:
    table = load_table("domain-adaptation")
    setup = Setup(data={"mnist": "a.npz", "usps": "b.npz", "mnist-m": "c.npz"}, split="train", epochs=3)
    specs = [spec_of(table, cell, setup) for cell in table.cells]
    assert [spec.data["name"] for spec in specs[:3]] == ["a.npz", "b.npz", "c.npz"]
    assert {(spec.data["split"], spec.data["resize"], spec.protocol.epochs) for spec in specs} == {("train", 32, 3)}


def test_each_cell_is_a_run_of_its_own() -> None:
    assert len({spec_of(SINGLE, cell, Setup()).id for cell in SINGLE.cells}) == len(SINGLE.cells)
