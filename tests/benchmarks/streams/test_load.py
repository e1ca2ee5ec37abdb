from pathlib import Path

import numpy as np
import pytest
import torch

from mixnorm.benchmarks import load_stream
from mixnorm.benchmarks.corrupted_copies import CopySettings, Layout, iter_corrupted_copies
from mixnorm.benchmarks.corruptions import CORRUPTIONS, corrupt
from mixnorm.benchmarks.datasets import load_dataset
from mixnorm.errors import MissingDataError, SettingError, UnknownNameError
from tests.benchmarks.datasets.writers import random_images, write_array_benchmark, write_folder
from tests.real import REAL, needs_real


def test_digits_under_all_corruptions_need_no_download() -> None:
    stream = load_stream("digits-c", limit=60)
    assert stream.corruptions == CORRUPTIONS
    dataset = load_dataset("digits")
    for batch in stream.batches(25):
        for image, label, (name, severity), index in zip(
            batch.images, batch.labels, batch.shifts, batch.indices, strict=True
        ):
            place = np.array([index])
            expected = corrupt(dataset.images(place), name, severity, seed=0, indices=place, scale="large")[0]
            assert torch.equal(image, torch.from_numpy(expected).permute(2, 0, 1).float() / 255)
            assert label == dataset.labels[index]


def test_a_clean_set_comes_clean_unless_corruptions_are_named(tmp_path: Path) -> None:
    write_folder(tmp_path / "own", {"a": 3, "b": 2}, side=32)
    clean = load_stream(tmp_path / "own")
    assert (clean.corruptions, len(clean)) == (("clean",), 5)
    shifted = load_stream(str(tmp_path / "own"), corruptions="fog", severity=1, order="single")
    assert (shifted.name, len(shifted)) == ("own-c", 5)
    assert {shift for batch in shifted.batches(2) for shift in batch.shifts} == {("fog", 1)}


def test_extra_corruptions_are_used_when_named() -> None:
    assert "saturate" not in load_stream("digits-c").corruptions
    assert len(load_stream("digits-c", corruptions=["saturate"], limit=4)) == 4


def test_folders_of_the_two_layouts_are_recognised(tmp_path: Path) -> None:
    write_array_benchmark(tmp_path / "arrays-c", ["fog", "snow", "saturate"], [0, 1, 1])
    for corruption in ("fog", "snow"):
        write_folder(tmp_path / "files-c" / corruption / "5", {"a": 2, "b": 1})
    arrays = load_stream(tmp_path / "arrays-c", order="single")
    files = load_stream(tmp_path / "files-c", order="single")
    assert arrays.corruptions == files.corruptions == ("snow", "fog")
    assert len(arrays) == len(files) == 6
    assert sum(len(batch) for batch in files.batches(4)) == 6


@pytest.mark.parametrize("layout", ["arrays", "folders"])
def test_copies_that_the_library_makes_are_read_back(tmp_path: Path, layout: Layout) -> None:
    write_folder(tmp_path / "own", {"a": 3, "b": 2}, side=32)
    settings = CopySettings(
        source=str(tmp_path / "own"), output=tmp_path / "own-c", corruptions=("brightness", "fog"), layout=layout
    )
    assert [step.failures for step in iter_corrupted_copies(settings)][-1] == ()
    stored = load_stream(tmp_path / "own-c", order="gradual")
    made = load_stream(tmp_path / "own", order="gradual", corruptions=stored.corruptions)
    assert stored.corruptions == ("fog", "brightness")
    for one, other in zip(stored.batches(7), made.batches(7), strict=True):
        assert (one.shifts, one.labels.tolist()) == (other.shifts, other.labels.tolist())
        if layout == "arrays":
            assert torch.equal(one.images, other.images)
        else:  # JPEG files keep the colour of noise, not its pixels
            assert torch.allclose(one.images.mean((2, 3)), other.images.mean((2, 3)), atol=0.03)


def test_cifar10_c_in_every_order(data_folder: Path) -> None:
    names = ["fog", "frost", "shot_noise"]
    stored = write_array_benchmark(data_folder / "CIFAR-10-C", names, [0, 1, 2, 3] * 5, side=32)
    lengths = {"single": 60, "continual": 60, "mixed": 20, "mixed-all": 60, "gradual": 540, "correlated": 60}
    for order, length in lengths.items():
        stream = load_stream("cifar10-c", order=order)
        assert len(stream) == length
        for batch in stream.batches(16):
            for image, (name, severity), index in zip(batch.images, batch.shifts, batch.indices, strict=True):
                expected = stored[name][(severity - 1) * 20 + int(index)]
                assert torch.equal((image * 255).round().byte(), torch.from_numpy(expected).permute(2, 0, 1))


def test_a_mixed_npz_keeps_its_shifts(tmp_path: Path) -> None:
    names = np.array(["fog", "snow", "fog", "frost"])
    np.savez(tmp_path / "own.npz", x=random_images(4, 8, 8, 3), y=np.array([0, 1, 0, 1]), corruption=names)
    stream = load_stream(tmp_path / "own.npz", severity=3)
    pairs = [pair for batch in stream.batches(3) for pair in zip(batch.indices.tolist(), batch.shifts, strict=True)]
    assert dict(pairs) == {index: (str(name), 3) for index, name in enumerate(names)}
    assert len(load_stream(tmp_path / "own.npz", corruptions=["fog"])) == 2


def test_stored_sets_are_not_resized(tmp_path: Path) -> None:
    write_array_benchmark(tmp_path / "own", ["fog"], [0, 1])
    with pytest.raises(SettingError, match="used as it is stored; leave out resize"):
        load_stream(tmp_path / "own", resize=4)


def test_unknown_names_and_missing_sets() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown data set 'cifar-10-c'; did you mean 'cifar10-c'"):
        load_stream("cifar-10-c")
    with pytest.raises(MissingDataError, match="there is nothing at some/folder"):
        load_stream("some/folder")


@needs_real
def test_the_real_mixed_set() -> None:
    stream = load_stream(REAL / "cifar10c_mixed_severity5.npz")
    assert (len(stream), set(stream.corruptions)) == (10_000, set(CORRUPTIONS))
    with np.load(REAL / "cifar10c_mixed_severity5.npz") as file:
        pixels, labels, numbers, names = file["x"], file["y"], file["corruption"], file["corruption_names"]
    batch = next(stream.batches(200))
    indices = batch.indices.numpy()
    assert torch.equal(batch.labels, torch.from_numpy(labels[indices].astype(np.int64)))
    assert batch.shifts == tuple((str(names[numbers[index]]), 5) for index in indices)
    np.testing.assert_array_equal((batch.images * 255).round().byte().permute(0, 2, 3, 1).numpy(), pixels[indices])


@needs_real
def test_real_photographs_are_corrupted_on_the_fly() -> None:
    stream = load_stream(REAL / "imagenet_val", corruptions=["gaussian_noise", "contrast"], limit=12)
    batches = list(stream.batches(5))
    assert [tuple(batch.images.shape) for batch in batches] == [(5, 3, 224, 224)] * 2 + [(2, 3, 224, 224)]


def test_the_constants_of_another_scale_can_be_asked_for() -> None:
    large, small = (load_stream("digits-c", corruptions="contrast", limit=4, scale=scale) for scale in (None, "small"))
    assert large.fingerprint() != small.fingerprint()
    with pytest.raises(UnknownNameError, match="unknown scale 'tiny'"):
        load_stream("digits-c", scale="tiny")  # type: ignore[arg-type]


def own_npz(folder: Path, **arrays: object) -> Path:
    np.savez(folder / "own.npz", x=random_images(4, 8, 8, 3), y=np.array([0, 1, 0, 1]), **arrays)  # type: ignore[arg-type]
    return folder / "own.npz"


@pytest.mark.parametrize("order", ["mixed", "mixed-all", "single", "continual", "correlated", "gradual"])
def test_an_npz_with_severities_of_its_own_comes_whole(tmp_path: Path, order: str) -> None:
    shifts = [("fog", 1), ("clean", 0), ("fog", 4), ("snow", 2)]
    names, severities = np.array([name for name, _ in shifts]), np.array([level for _, level in shifts])
    stream = load_stream(own_npz(tmp_path, corruption=names, severity=severities), order=order)
    told = [pair for batch in stream.batches(3) for pair in zip(batch.indices.tolist(), batch.shifts, strict=True)]
    assert set(told) == set(enumerate(shifts))
    assert len(told) == (5 if order == "gradual" else 4)  # fog rises from 1 to 4 and falls back to 1


def test_a_severity_cannot_be_chosen_where_images_have_their_own(tmp_path: Path) -> None:
    names = np.array(["fog", "clean", "fog", "snow"])
    path = own_npz(tmp_path, corruption=names, severity=np.array([1, 0, 4, 2]))
    with pytest.raises(SettingError, match=r"own\.npz says that .* severities \[1, 2, 4\], so severity=2"):
        load_stream(path, severity=2)
    path = own_npz(tmp_path, corruption=names, severity=np.array(2))
    assert len(load_stream(path, severity=2)) == len(load_stream(path)) == 4


def test_copies_in_folders_have_the_labels_of_their_source(tmp_path: Path) -> None:
    labels = np.array([10, 2, 0, 10, 7])
    np.savez(tmp_path / "own.npz", x=random_images(5, 32, 32, 3), y=labels)
    for layout in ("folders", "arrays"):
        settings = CopySettings(
            source=str(tmp_path / "own.npz"),
            output=tmp_path / layout,
            corruptions=("contrast",),
            layout=layout,
        )
        assert not list(iter_corrupted_copies(settings))[-1].failures
        stream = load_stream(tmp_path / layout)
        assert stream.class_names == tuple(map(str, range(11)))
        assert sorted(label for batch in stream.batches(2) for label in batch.labels.tolist()) == sorted(labels)
    first = load_stream(tmp_path / "folders", order="single").data.labels.tolist()
    assert first == [0, 10, 10, 2, 7]  # in the order of the folders' names


def test_the_digits_are_the_same_pictures_on_the_fly_and_in_copies(tmp_path: Path) -> None:
    settings = CopySettings(source="digits", output=tmp_path / "out", corruptions=("contrast",))
    assert not list(iter_corrupted_copies(settings))[-1].failures
    for name in ("digits-c", "digits"):
        flying = load_stream(name, corruptions=settings.corruptions, limit=40)
        for one, other in zip(load_stream(tmp_path / "out", limit=40).batches(40), flying.batches(40), strict=True):
            assert torch.equal(one.images, other.images)
            assert torch.equal(one.labels, other.labels)


def test_a_name_means_the_data_set_and_a_path_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_folder(tmp_path / "cifar10", {"a": 2}, side=32)
    write_folder(tmp_path / "cifar10-c" / "fog" / "5", {"a": 2})
    for name in ("cifar10", "cifar10-c"):
        with pytest.raises(MissingDataError, match=rf"For your own folder of that name give '\./{name}'"):
            load_stream(name)
        assert len(load_stream(f"./{name}")) == len(load_stream(Path(name))) == 2


@pytest.mark.parametrize("name", [5, None, ["digits-c"], "", b"digits", "own\0"])
def test_what_is_neither_name_nor_path_is_refused(name: object) -> None:
    for load in (load_stream, load_dataset):
        with pytest.raises(SettingError, match="the data set must be a name or a path, got"):
            load(name)  # type: ignore[arg-type]


def test_paths_that_no_system_can_have_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="there is nothing to read at"):
        load_stream("./" + "x" * 5000)
    with pytest.raises(SettingError, match="~nobody-of-this-name"):
        load_stream("~nobody-of-this-name/photos")
    with pytest.raises(SettingError, match="the data folder must be"):
        load_stream("cifar10-c", data_dir=5)  # type: ignore[arg-type]


def test_a_scale_is_refused_where_nothing_is_corrupted() -> None:
    with pytest.raises(SettingError, match="scale='large' is for corruptions made on the fly"):
        load_stream("digits", scale="large")
