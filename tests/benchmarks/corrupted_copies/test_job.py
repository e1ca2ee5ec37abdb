import errno
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from mixnorm.benchmarks.corrupted_copies import CopySettings, Layout, Step, iter_corrupted_copies
from mixnorm.benchmarks.corrupted_copies.array_layout import ArrayLayout
from mixnorm.benchmarks.corrupted_copies.folder_layout import FolderLayout
from mixnorm.benchmarks.corruptions import corrupt
from mixnorm.benchmarks.datasets.array_benchmark import ArrayBenchmark
from mixnorm.benchmarks.datasets.folder_benchmark import FolderBenchmark
from mixnorm.errors import DataError, MixNormError, SettingError
from tests.benchmarks.corrupted_copies.sources import contents, image_folder, npz_file
from tests.benchmarks.corruptions.images import scenes

NAMES = ("gaussian_noise", "fog")


def make(source: Path | str, output: Path, **settings: Any) -> list[Step]:
    return list(
        iter_corrupted_copies(CopySettings(source=str(source), output=output, **{"corruptions": NAMES} | settings))
    )


def test_arrays_are_laid_out_as_in_cifar10_c(tmp_path: Path) -> None:
    steps = make(npz_file(tmp_path / "mine.npz"), tmp_path / "out", seed=3, batch_size=4)
    assert steps[-1] == Step(corruption="fog", done=20, total=20, failures=())
    assert [step.done for step in steps] == [4, 8, 10, 14, 18, 20]
    fog, labels = np.load(tmp_path / "out" / "fog.npy"), np.load(tmp_path / "out" / "labels.npy")
    expected = np.concatenate([corrupt(scenes(10), "fog", severity, seed=3) for severity in range(1, 6)])
    assert (fog == expected).all()
    assert (labels == np.tile(np.arange(10) % 3, 5)).all()


def test_the_arrays_load_as_a_benchmark(tmp_path: Path) -> None:
    make(npz_file(tmp_path / "mine.npz"), tmp_path / "out")
    benchmark = ArrayBenchmark("mine-c", tmp_path / "out")
    assert benchmark.corruptions == NAMES
    assert (benchmark.images([2], ("fog", 4)) == corrupt(scenes(10), "fog", 4)[2:3]).all()


def test_folders_are_laid_out_as_in_imagenet_c_and_load_as_a_benchmark(tmp_path: Path) -> None:
    make(image_folder(tmp_path / "in"), tmp_path / "out", severities=(2, 5))
    benchmark = FolderBenchmark("mine-c", tmp_path / "out")
    assert set(benchmark.corruptions) == set(NAMES)
    assert benchmark.class_names == ("cat", "dog")
    assert len(benchmark.labels) == 9
    assert {path.name for path in (tmp_path / "out" / "fog").iterdir()} == {"2", "5"}
    names = {path.name for path in (tmp_path / "out" / "fog" / "5" / "cat").iterdir()}
    assert names == {"0.JPEG", "1.png.jpg", "2.png.jpg", "grey.png.jpg"}
    with Image.open(tmp_path / "in" / "dog" / "1.png") as clean:
        index = 4 + 1  # after four cats
        expected = corrupt(np.asarray(clean)[None], "fog", 5, indices=[index])[0]
    Image.fromarray(expected).save(tmp_path / "expected.jpg", quality=85)
    with Image.open(tmp_path / "expected.jpg") as one, Image.open(tmp_path / "out/fog/5/dog/1.png.jpg") as other:
        assert (np.asarray(one) == np.asarray(other)).all()


def test_a_named_data_set_goes_into_folders_by_index(tmp_path: Path) -> None:
    make("digits", tmp_path / "out", corruptions=("contrast",), severities=(1,), layout="folders")
    files = list((tmp_path / "out" / "contrast" / "1").rglob("*.jpg"))
    assert len(files) == 600
    assert {path.parent.name for path in files} == set("0123456789")


@pytest.mark.parametrize("layout", ["arrays", "folders"])
def test_bytes_depend_neither_on_batches_nor_on_workers(tmp_path: Path, layout: str) -> None:
    source = image_folder(tmp_path / "in")
    names = ("snow", "elastic_transform")
    for output, batch_size, workers in (("a", 1, 1), ("b", 256, 1), ("c", 1, 2), ("d", 256, 2)):
        make(source, tmp_path / output, corruptions=names, layout=layout, batch_size=batch_size, workers=workers)
    first, *others = (contents(tmp_path / output) for output in "abcd")
    assert all(other == first for other in others)


def test_finished_files_are_not_made_again(tmp_path: Path) -> None:
    source = npz_file(tmp_path / "mine.npz")
    make(source, tmp_path / "out", corruptions=("fog",))
    before = (tmp_path / "out" / "fog.npy").stat()
    make(source, tmp_path / "out")
    after = (tmp_path / "out" / "fog.npy").stat()
    assert (before.st_mtime_ns, before.st_ino) == (after.st_mtime_ns, after.st_ino)
    assert (tmp_path / "out" / "gaussian_noise.npy").exists()


@pytest.mark.parametrize(("layout", "kind"), [(ArrayLayout, "arrays"), (FolderLayout, "folders")])
def test_an_interrupted_run_leaves_no_half_file_and_continues_to_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layout: type[ArrayLayout | FolderLayout], kind: str
) -> None:
    source = image_folder(tmp_path / "in")
    make(source, tmp_path / "whole", layout=kind, batch_size=2)
    calls = iter(range(100))
    write = layout.write

    def interrupted(self: Any, *arguments: Any) -> None:
        if next(calls) == 7:
            raise KeyboardInterrupt
        write(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(layout, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            make(source, tmp_path / "out", layout=kind, batch_size=2)
    complete = contents(tmp_path / "whole")
    assert contents(tmp_path / "out").items() < complete.items()
    make(source, tmp_path / "out", layout=kind, batch_size=2)
    assert contents(tmp_path / "out") == complete


@pytest.mark.parametrize("kind", ["arrays", "folders"])
def test_a_full_disk_is_reported_and_leaves_no_half_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    source = image_folder(tmp_path / "in")
    real_open = Path.open

    def opened_on_full_disk(path: Path, mode: str = "r", **rest: Any) -> Any:
        if mode == "r+b":
            raise OSError(errno.ENOSPC, "No space left on device")
        return real_open(path, mode, **rest)

    def saved_on_full_disk(_: Image.Image, path: Path, *rest: Any, **options: Any) -> None:
        path.write_bytes(b"half a picture")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Image.Image, "save", saved_on_full_disk)
    monkeypatch.setattr(Path, "open", opened_on_full_disk)
    with pytest.raises(MixNormError, match=r"No space left on device; finished files are kept; run the same again"):
        make(source, tmp_path / "out", layout=kind)
    assert set(contents(tmp_path / "out")) <= {"corruptions.json", "labels.npy"}


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def test_one_damaged_file_is_reported_and_the_rest_is_made(tmp_path: Path) -> None:
    source = image_folder(tmp_path / "in", side=64)
    truncate(source / "dog" / "2.png")
    steps = make(source, tmp_path / "out", severities=(1,))
    assert len(steps[-1].failures) == 1
    assert "2.png" in steps[-1].failures[0]
    assert len(list((tmp_path / "out" / "fog").rglob("*.*"))) == 8


def test_a_damaged_file_gets_no_row_in_the_arrays(tmp_path: Path) -> None:
    source = image_folder(tmp_path / "in", side=64)
    truncate(source / "cat" / "1.png")
    steps = make(source, tmp_path / "out", layout="arrays")
    assert "1.png" in steps[-1].failures[0]
    assert np.load(tmp_path / "out" / "fog.npy").shape == (5 * 8, 64, 64, 3)
    assert np.load(tmp_path / "out" / "labels.npy").tolist() == 5 * [0, 0, 0, 1, 1, 1, 1, 1]


def test_a_file_that_vanishes_on_the_way_leaves_its_array_unfinished_until_it_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = image_folder(tmp_path / "in")
    steps = iter_corrupted_copies(
        CopySettings(source=str(source), output=tmp_path / "out", corruptions=NAMES, layout="arrays")
    )
    next(steps)
    (source / "cat" / "1.png").rename(tmp_path / "away.png")
    *_, last = steps
    assert "1.png" in last.failures[0]
    assert set(contents(tmp_path / "out")) == {"corruptions.json", "labels.npy", "gaussian_noise.npy"}
    (tmp_path / "away.png").rename(source / "cat" / "1.png")
    assert make(source, tmp_path / "out", layout="arrays")[-1].failures == ()
    assert (tmp_path / "out" / "fog.npy").exists()


def test_an_output_begun_with_other_settings_is_refused(tmp_path: Path) -> None:
    source = npz_file(tmp_path / "mine.npz")
    make(source, tmp_path / "out", seed=0)
    with pytest.raises(DataError, match="seed was 0 and is 1"):
        make(source, tmp_path / "out", seed=1)
    npz_file(source, count=9)
    with pytest.raises(DataError, match=r"fingerprint was .*, images was 10 and is 9"):
        make(source, tmp_path / "out", seed=0)


def test_a_foreign_or_broken_output_folder_is_refused(tmp_path: Path) -> None:
    source = npz_file(tmp_path / "mine.npz")
    with pytest.raises(DataError, match="not empty"):
        make(source, tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "corruptions.json").write_text("{")
    with pytest.raises(DataError, match="is not the record of a run"):
        make(source, tmp_path / "out")


def test_the_record_says_what_was_made(tmp_path: Path) -> None:
    make(npz_file(tmp_path / "mine.npz"), tmp_path / "out", seed=5, scale="large")
    record = json.loads((tmp_path / "out" / "corruptions.json").read_text())
    assert record["source"] == "mine.npz"
    assert (record["seed"], record["scale"], record["images"], record["layout"]) == (5, "large", 10, "arrays")
    assert record["frost"] in ("photographs", "drawn")
    assert len(record["fingerprint"]) == 64


@pytest.mark.parametrize("layout", ["folders", "arrays"])
def test_a_run_goes_on_when_a_bad_file_is_mended(tmp_path: Path, layout: str) -> None:
    source = image_folder(tmp_path / "in", side=64)
    whole = make(source, tmp_path / "whole", layout=layout, batch_size=4)
    assert whole[-1].failures == ()
    picture = source / "dog" / "2.png"
    good = picture.read_bytes()
    truncate(picture)
    assert len(make(source, tmp_path / "out", layout=layout, batch_size=4)[-1].failures) == 1
    assert json.loads((tmp_path / "out" / "corruptions.json").read_text())["left_out"] == ["dog/2.png"]
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*.[jJ]*g")}
    picture.write_bytes(good)
    assert make(source, tmp_path / "out", layout=layout, batch_size=4)[-1].failures == ()
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())
    assert (layout == "folders") is bool(before)


def test_a_file_that_is_still_bad_stays_left_out_and_others_may_not_change(tmp_path: Path) -> None:
    source = image_folder(tmp_path / "in", side=64)
    truncate(source / "dog" / "2.png")
    for _ in range(2):
        assert len(make(source, tmp_path / "out", severities=(1,))[-1].failures) == 1
    other = source / "cat" / "1.png"
    other.write_bytes((source / "cat" / "2.png").read_bytes())
    with pytest.raises(DataError, match="begun otherwise: fingerprint was"):
        make(source, tmp_path / "out", severities=(1,))


def test_a_run_that_is_interrupted_after_a_failure_can_be_mended_too(tmp_path: Path) -> None:
    source = image_folder(tmp_path / "in", side=64)
    picture = source / "cat" / "0.JPEG"
    good = picture.read_bytes()
    truncate(picture)
    steps = iter_corrupted_copies(
        CopySettings(source=str(source), output=tmp_path / "out", corruptions=NAMES, batch_size=2)
    )
    assert next(steps).failures
    steps.close()  # type: ignore[attr-defined]
    picture.write_bytes(good)
    assert make(source, tmp_path / "out")[-1].failures == ()
    make(source, tmp_path / "whole")
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


@pytest.mark.parametrize("layout", ["folders", "arrays"])
def test_a_bad_file_is_on_record_as_soon_as_it_is_met(tmp_path: Path, layout: Layout) -> None:
    """A process that is killed gets no chance to write it down at the end."""
    source = image_folder(tmp_path / "in", side=64)
    truncate(source / "cat" / "0.JPEG")
    steps = iter_corrupted_copies(
        CopySettings(source=str(source), output=tmp_path / "out", corruptions=NAMES, layout=layout, batch_size=2)
    )
    assert next(steps).failures
    assert json.loads((tmp_path / "out" / "corruptions.json").read_text())["left_out"] == ["cat/0.JPEG"]


def test_a_file_left_out_before_stays_on_record_until_its_copies_are_made(tmp_path: Path) -> None:
    source = image_folder(tmp_path / "in", side=64)
    picture = source / "cat" / "1.png"
    good = picture.read_bytes()
    truncate(picture)
    make(source, tmp_path / "out", severities=(1,))
    picture.write_bytes(good)
    settings = CopySettings(
        source=str(source), output=tmp_path / "out", corruptions=NAMES, severities=(1,), batch_size=1
    )
    steps = iter_corrupted_copies(settings)
    next(steps)
    assert json.loads((tmp_path / "out" / "corruptions.json").read_text())["left_out"] == ["cat/1.png"]
    list(steps)
    assert json.loads((tmp_path / "out" / "corruptions.json").read_text())["left_out"] == []


@pytest.mark.parametrize(
    ("class_names", "message"),
    [
        (["", "b"], "a class named '', which is no folder"),
        ([".a", "b"], r"a class named '\.a', which is no folder"),
        (["..", "b"], r"a class named '\.\.', which is no folder"),
        (["a/b", "a_b"], "'a/b' and 'a_b' would both be a_b; rename one"),
    ],
)
def test_classes_that_cannot_be_folders_are_refused_before_any_work(
    tmp_path: Path, class_names: list[str], message: str
) -> None:
    np.savez(tmp_path / "own.npz", x=scenes(2), y=np.array([0, 1]), class_names=class_names)
    with pytest.raises(DataError, match=message):
        make(tmp_path / "own.npz", tmp_path / "out", layout="folders")
    assert not (tmp_path / "out").exists()


def test_a_class_with_a_slash_keeps_its_name_in_the_copies(tmp_path: Path) -> None:
    np.savez(tmp_path / "own.npz", x=scenes(2), y=np.array([1, 0]), class_names=["b", "a/c"])
    make(tmp_path / "own.npz", tmp_path / "out", layout="folders")
    benchmark = FolderBenchmark("own-c", tmp_path / "out")
    assert benchmark.class_names == ("b", "a/c")
    assert benchmark.labels.tolist() == [1, 0]  # in the order of the folders' names
    (tmp_path / "out" / "fog" / "1" / "b").rename(tmp_path / "out" / "fog" / "1" / "d")
    with pytest.raises(DataError, match=r"a class folder 'd' that its corruptions\.json does not name"):
        FolderBenchmark("own-c", tmp_path / "out")


def test_two_files_that_would_share_one_copy_are_named_before_any_work(tmp_path: Path) -> None:
    source = image_folder(tmp_path / "in")
    with Image.open(source / "cat" / "1.png") as picture:
        picture.convert("RGB").save(source / "cat" / "1.png.jpg")
    with pytest.raises(DataError, match=r"cat/1\.png' and '.*cat/1\.png\.jpg' would both be cat/1\.png\.jpg; rename"):
        make(source, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    make(source, tmp_path / "out", layout="arrays")


@pytest.mark.parametrize("place", ["", "copies", "cat/copies"])
def test_an_output_inside_of_the_input_is_refused(tmp_path: Path, place: str) -> None:
    source = image_folder(tmp_path / "in")
    before = contents(source)
    with pytest.raises(SettingError, match="lies inside of the input"):
        make(source, source / place)
    assert contents(source) == before
    (tmp_path / "link").symlink_to(source)
    with pytest.raises(SettingError, match="lies inside of the input"):
        make(source, tmp_path / "link" / "copies")


def test_an_output_that_cannot_be_made_is_refused_before_the_input_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "nowhere").symlink_to(tmp_path / "absent")
    for output in ("file", "file/below", "nowhere"):
        with pytest.raises(SettingError, match=r"the output .* cannot be made: .* is not a folder"):
            make("no such data set", tmp_path / output)
    monkeypatch.setattr("os.access", lambda *_: False)  # a test may run as one who may write everywhere
    with pytest.raises(SettingError, match="may not be written"):
        make("no such data set", tmp_path / "out")
    monkeypatch.setattr("os.path.lexists", lambda _: False)  # a drive that is not there
    with pytest.raises(SettingError, match="cannot be made: there is no"):
        make("no such data set", tmp_path / "out")


def test_what_a_killed_run_left_half_written_is_removed(tmp_path: Path) -> None:
    source = image_folder(tmp_path / "in")
    make(source, tmp_path / "whole")
    make(source, tmp_path / "out", corruptions=("fog",))
    (tmp_path / "out" / "fog" / "5" / "cat" / ".1.png.jpg.0123.part").write_bytes(b"half")
    make(source, tmp_path / "out")
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
