"""Parquet data sets: written sorted, completely or not at all; read as a whole or by row group."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.io.dataset import DatasetWriter, open_dataset


@pytest.fixture(scope="module")
def frames() -> mg.MapFrames:
    return demo_world(40, seed=2, predictions=10)[0]


def written(frames: mg.MapFrames, path: Path, **sizes: int) -> Path:
    writer = DatasetWriter(path, **sizes)
    writer.add(frames)
    writer.finish()
    return path


def test_a_data_set_holds_the_frames_sorted_by_scene_and_token(frames: mg.MapFrames, tmp_path: Path) -> None:
    found = mg.read(written(frames.at(list(reversed(range(40)))), tmp_path / "set"))
    assert frames.scenes is not None
    assert found.scenes is not None
    pairs = list(zip(found.scenes, found.tokens, strict=True))
    assert pairs == sorted(zip(frames.scenes, frames.tokens, strict=True))
    assert all(
        (mine.points == theirs.points).all()
        for mine, theirs in zip(found["scene-0001-3"], frames["scene-0001-3"], strict=True)
    )


def test_a_scene_lies_in_one_file(frames: mg.MapFrames, tmp_path: Path) -> None:
    files = sorted(written(frames, tmp_path / "set", file_rows=25).glob("*.parquet"))
    scenes = [set(mg.read(file).scenes or ()) for file in files]
    assert len(files) == len(set(frames.scenes or ()))
    assert sum(map(len, scenes)) == len(set().union(*scenes))


def test_row_groups_end_where_scenes_end(frames: mg.MapFrames, tmp_path: Path) -> None:
    groups = open_dataset(written(frames, tmp_path / "set", group_rows=1500)).groups
    assert len(groups) > 1
    assert all(one.last[0] < other.first[0] for one, other in pairwise(groups))


def test_row_groups_have_few_frames_even_if_those_have_few_instances(tmp_path: Path) -> None:
    empty = mg.MapFrames.of({f"{k:05}": {} for k in range(1100)})
    assert [group.rows for group in open_dataset(written(empty, tmp_path / "set")).groups] == [256, 256, 256, 256, 76]


def test_half_a_data_set_is_not_there(frames: mg.MapFrames, tmp_path: Path) -> None:
    writer = DatasetWriter(tmp_path / "set")
    writer.add(frames)
    with pytest.raises(mg.UnreadableFile, match="no Parquet files"):
        open_dataset(tmp_path / "set")
    again = DatasetWriter(tmp_path / "set")  # after a run that died
    again.add(frames.between(slice(0, 5)))
    again.finish()
    assert len(mg.read(tmp_path / "set")) == 5


def test_lines_that_read_refuses_are_not_written(tmp_path: Path) -> None:
    few = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]], [[1, 1]]]}})
    with pytest.raises(mg.InvalidInput, match="1 of 2 instances have fewer"):
        DatasetWriter(tmp_path / "set").add(few)


@pytest.fixture
def two_files(frames: mg.MapFrames, tmp_path: Path) -> DatasetWriter:
    """A data set of several files that are not visible yet."""
    writer = DatasetWriter(tmp_path / "set", file_rows=1)
    assert len(writer.add(frames)) > 1
    return writer


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), KeyboardInterrupt()])
def test_files_become_visible_together_or_not_at_all(
    two_files: DatasetWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    replace_file, calls = Path.replace, []

    def fail(self: Path, target: Path) -> Path:
        calls.append(target)
        if len(calls) == 2:
            raise error
        return replace_file(self, target)

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises((mg.MapgaugeError, KeyboardInterrupt)):
        two_files.finish()
    two_files.remove()
    assert not (tmp_path / "set").exists()


def test_a_data_set_whose_writer_was_killed_is_not_read(
    two_files: DatasetWriter, frames: mg.MapFrames, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(DatasetWriter, "_clear", lambda _: None)
        patch.setattr(Path, "unlink", lambda *_, **__: None)
        two_files.finish()
    for read in (mg.read, open_dataset):
        with pytest.raises(mg.UnreadableFile, match="this data set is not complete"):
            read(tmp_path / "set")


def test_two_writers_of_one_data_set_do_not_mix(two_files: DatasetWriter, frames: mg.MapFrames, tmp_path: Path) -> None:
    other = DatasetWriter(tmp_path / "set")
    other.add(frames, "other")
    two_files.finish()
    with pytest.raises(mg.InvalidInput, match="contains Parquet files already"):
        other.finish()
    other.remove()
    names = {file.name for file in (tmp_path / "set").iterdir()}
    assert names
    assert all(name.startswith("part-") for name in names)
    assert open_dataset(tmp_path / "set").read().counts == frames.counts


def test_what_was_written_can_be_removed(frames: mg.MapFrames, tmp_path: Path) -> None:
    writer = DatasetWriter(tmp_path / "set")
    writer.add(frames)
    writer.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_data_set_is_not_mixed_with_another(frames: mg.MapFrames, tmp_path: Path) -> None:
    written(frames, tmp_path / "set")
    with pytest.raises(mg.InvalidInput, match="contains Parquet files already"):
        DatasetWriter(tmp_path / "set")


def test_a_url_that_is_taken_is_refused(frames: mg.MapFrames) -> None:
    pytest.importorskip("fsspec")
    for name in ("taken", "other"):
        writer = DatasetWriter(f"memory://mapgauge-{name}")
        writer.add(frames)
        writer.finish()
    with pytest.raises(mg.InvalidInput, match="memory://mapgauge-taken: files exist already"):
        DatasetWriter("memory://mapgauge-taken")
    writer.remove()
    DatasetWriter("memory://mapgauge-other")


def test_other_data_have_another_digest(frames: mg.MapFrames, tmp_path: Path) -> None:
    one = open_dataset(written(frames, tmp_path / "one"))
    same = open_dataset(written(frames, tmp_path / "same"))
    changed = replace(frames, confidence=frames.with_confidence(0.25).confidence)
    other = open_dataset(written(changed, tmp_path / "other"))
    assert one.digest == same.digest != other.digest


def test_files_of_others_are_read_by_row_group(tmp_path: Path) -> None:
    """Numbers for tokens, no statistics, no metadata: what statistics do not say is read."""
    line = [[0.0, 0.0], [9.0, 0.0]]
    table = pa.table({"token": [9, 10, 11], "class": ["divider", "curb", "divider"], "geometry": [line, line, line]})
    pq.write_table(table, tmp_path / "theirs.parquet", row_group_size=2, write_statistics=False)
    found = open_dataset(tmp_path / "theirs.parquet")
    assert [(group.first, group.last) for group in found.groups] == [(("", "10"), ("", "9")), (("", "11"), ("", "11"))]
    assert found.classes == ("divider", "curb")
    assert found.read().tokens == ("9", "10", "11")


def test_a_broken_footer_is_named(frames: mg.MapFrames, tmp_path: Path) -> None:
    file = next(written(frames, tmp_path / "set").glob("*.parquet"))
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(mg.UnreadableFile, match=f"{file.name}: broken Parquet"):
        open_dataset(tmp_path / "set")


def test_a_place_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(mg.UnreadableFile, match="nowhere: no such file or folder"):
        open_dataset(tmp_path / "nowhere")


def test_an_unknown_kind_of_url_is_named() -> None:
    pytest.importorskip("fsspec")
    with pytest.raises(mg.UnreadableFile, match="odd://bucket/x: cannot be listed"):
        open_dataset("odd://bucket/x")
