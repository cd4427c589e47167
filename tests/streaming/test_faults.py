"""Errors in streamed runs: they name the cause, finished chunks are kept, and nothing is counted twice."""

import errno
import re
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.streaming.worlds import in_chunks, same, write_folder

import mapgauge as mg
from mapgauge.evaluation.streaming import work
from mapgauge.evaluation.streaming.plan import Chunk
from mapgauge.io.dataset import open_dataset
from mapgauge.results.folder import Folder, Partial
from mapgauge.results.loading import FolderRows

World = tuple[mg.MapFrames, mg.MapFrames]


def damage(folder: Path, group: int) -> Path:
    """Flip bytes in the middle of the points of a row group."""
    file = next(folder.glob("*.parquet"))
    row_group = pq.ParquetFile(file).metadata.row_group(group)
    column = row_group.column(row_group.num_columns - 1)
    data = bytearray(file.read_bytes())
    middle = column.data_page_offset + column.total_compressed_size // 2
    data[middle : middle + 16] = bytes(byte ^ 0xFF for byte in data[middle : middle + 16])
    file.write_bytes(data)
    return file


def ends_after(chunks: int) -> Callable[[int, int], None]:
    """Return a progress function that interrupts the run after a number of chunks."""
    seen: list[int] = []

    def progress(done: int, of: int) -> None:
        seen.append(done)
        if len(seen) == chunks:
            raise KeyboardInterrupt

    return progress


def test_a_corrupt_row_group_is_named_and_the_rest_is_kept(sides: tuple[Path, Path], tmp_path: Path) -> None:
    file = damage(sides[0], 2)
    with pytest.raises(mg.UnreadableFile) as caught:
        in_chunks(*sides, work=tmp_path / "work", workers=1)
    assert f"{file} (row group 2): broken Parquet" in str(caught.value)
    finished = len(Folder(tmp_path / "work").finished)
    assert f"{finished} of " in str(caught.value)
    assert str(caught.value).endswith(f'Continue with work="{tmp_path / "work"}", resume=True')
    assert caught.value.for_shell().endswith("Continue with the same command and --resume")


def test_a_run_that_stops_without_a_folder_says_where_its_work_is(sides: tuple[Path, Path]) -> None:
    damage(sides[0], 25)
    with pytest.raises(mg.UnreadableFile, match='Continue with work="') as caught:
        in_chunks(*sides, workers=1)
    kept = str(caught.value).split('work="')[1].split('"')[0]
    assert Folder(Path(kept)).finished


def test_a_corrupt_row_group_can_be_skipped_and_is_counted(
    world: World, sides: tuple[Path, Path], tmp_path: Path
) -> None:
    file = damage(sides[0], 2)
    results = in_chunks(*sides, work=tmp_path / "work", on_error="skip")
    finding = next(finding for finding in results.findings if finding.code == "chunks-skipped")
    assert finding.level == "error"
    assert f"{file} (row group 2)" in finding.examples[0]
    assert finding.examples[0] in finding.for_shell(), "an error must not be shortened as a token is"
    assert len(results.tokens) < len(world[1])
    expected = mg.evaluate(world[0], world[1].at([world[1].index[token] for token in results.tokens]), unknown="ignore")
    assert results.mean == expected.mean
    again = mg.load_results(tmp_path / "work")
    assert again.findings == results.findings


def test_skipped_chunks_are_scored_when_a_run_is_resumed(
    in_memory: mg.Results, sides: tuple[Path, Path], tmp_path: Path
) -> None:
    """Nothing was read from them, so their inputs may have been repaired; those of finished chunks may not change."""
    sound = next(sides[0].glob("*.parquet")).read_bytes()
    file = damage(sides[0], 2)
    skipped = in_chunks(*sides, work=tmp_path / "work", on_error="skip")
    with pytest.raises(mg.UnreadableFile, match=r"row group 2\): broken Parquet"):
        in_chunks(*sides, work=tmp_path / "work", resume=True)
    again = in_chunks(*sides, work=tmp_path / "work", resume=True, on_error="skip")
    assert same(again, skipped)
    file.write_bytes(sound)
    results = in_chunks(*sides, work=tmp_path / "work", resume=True)
    assert same(results, in_memory)
    assert not Folder(tmp_path / "work").failures
    assert "chunks-skipped" not in {finding.code for finding in mg.load_results(tmp_path / "work").findings}


def test_a_run_goes_on_from_what_is_finished(
    in_memory: mg.Results, written: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(KeyboardInterrupt, match="2 of .* chunks are finished"):
        in_chunks(*written, work=tmp_path / "work", workers=1, progress=ends_after(2))
    assert len(Folder(tmp_path / "work").finished) == 2
    done: list[int] = []
    score = work.score_chunk

    def counted(job: work.Job, chunk: Chunk) -> Partial:
        done.append(chunk.index)
        return score(job, chunk)

    monkeypatch.setattr("mapgauge.evaluation.streaming.run.score_chunk", counted)
    results = in_chunks(*written, work=tmp_path / "work", resume=True)
    assert same(results, in_memory)
    assert sorted(done) == list(range(2, Folder(tmp_path / "work").about.chunks))


def test_a_finished_evaluation_resumes_at_once_and_loads(
    in_memory: mg.Results, written: tuple[Path, Path], tmp_path: Path
) -> None:
    in_chunks(*written, work=tmp_path / "work")
    assert same(in_chunks(*written, work=tmp_path / "work", resume=True), in_memory)
    assert same(mg.load_results(tmp_path / "work"), in_memory)


def test_an_unfinished_evaluation_does_not_load(written: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        in_chunks(*written, work=tmp_path / "work", workers=1, progress=ends_after(1))
    with pytest.raises(mg.InvalidInput, match="1 of .* chunks are finished. Resume"):
        mg.load_results(tmp_path / "work")


def test_changed_input_is_refused(world: World, sides: tuple[Path, Path], tmp_path: Path) -> None:
    in_chunks(*sides, work=tmp_path / "work")
    moved = world[0].with_confidence(0.5)
    file = next(sides[0].glob("*.parquet"))
    file.unlink()
    write_folder(moved, sides[0])
    with pytest.raises(mg.InvalidInput, match="the predictions changed"):
        in_chunks(*sides, work=tmp_path / "work", resume=True)


def test_other_settings_are_refused(written: tuple[Path, Path], tmp_path: Path) -> None:
    in_chunks(*written, work=tmp_path / "work")
    with pytest.raises(mg.InvalidInput, match=r"begun with other settings\. cutoffs: 1\.5 and 1\.0"):
        in_chunks(*written, mg.protocol("paper-60x30", cutoffs=(1.0,)), work=tmp_path / "work", resume=True)


def test_a_refusal_lists_everything_that_differs(world: World, sides: tuple[Path, Path], tmp_path: Path) -> None:
    work = tmp_path / "work"
    in_chunks(*sides, work=work)
    other = mg.protocol("paper-60x30", cutoffs=(1.0,), spacing=1.0)
    next(sides[0].glob("*.parquet")).unlink()
    write_folder(world[0].with_confidence(0.5), sides[0])
    listed = r"spacing: 0\.5 and 1\.0; cutoffs: 1\.5 and 1\.0"
    with pytest.raises(mg.InvalidInput, match=rf"the predictions changed since the evaluation began\. Also {listed}"):
        in_chunks(*sides, other, work=work, resume=True)
    about = work / "evaluation.json"
    about.write_text(
        about.read_text(encoding="utf-8").replace(f'"mapgauge":"{mg.__version__}"', '"mapgauge":"0.0.1"'),
        encoding="utf-8",
    )
    versions = rf"mapgauge: 0\.0\.1 \(layout 1\) and {re.escape(mg.__version__)} \(layout 1\)"
    with pytest.raises(mg.InvalidInput, match=rf"begun by another version of mapgauge\. {versions}; {listed}"):
        in_chunks(*sides, other, work=work, resume=True)


def test_a_folder_with_an_evaluation_is_not_overwritten(written: tuple[Path, Path], tmp_path: Path) -> None:
    in_chunks(*written, work=tmp_path / "work")
    with pytest.raises(mg.InvalidInput, match="has an evaluation already"):
        in_chunks(*written, work=tmp_path / "work")


def test_a_folder_with_other_files_is_refused(sides: tuple[Path, Path]) -> None:
    with pytest.raises(mg.InvalidInput, match="holds other files"):
        in_chunks(*sides, work=sides[0])


def test_a_damaged_chunk_is_named(written: tuple[Path, Path], tmp_path: Path) -> None:
    in_chunks(*written, work=tmp_path / "work")
    file = sorted((tmp_path / "work").glob("chunks-*/*.npz"))[1]
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(mg.UnreadableFile, match=f"{file.name}: broken.*Delete it and resume"):
        mg.load_results(tmp_path / "work")


def test_a_full_disk_stops_the_run_and_keeps_what_is_there(
    in_memory: mg.Results, written: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = Path.replace

    def full(self: Path, target: Path) -> Path:
        if ".npz" in self.name and len(list((tmp_path / "work").glob("chunks-*/*.npz"))) >= 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        return replace(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        with pytest.raises(mg.MapgaugeError, match=r"No space left .*2 of .* chunks"):
            in_chunks(*written, work=tmp_path / "work", workers=1)
    assert same(in_chunks(*written, work=tmp_path / "work", resume=True), in_memory)


def test_a_worker_out_of_memory_is_explained(written: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def starve(*_: object) -> Partial:
        raise MemoryError

    monkeypatch.setattr("mapgauge.evaluation.streaming.run.score_chunk", starve)
    with pytest.raises(mg.MapgaugeError, match="chunk 0 .*row group 0.* out of memory"):
        in_chunks(*written, workers=1)


def test_a_fault_of_ours_is_not_taken_for_one_of_the_data(
    written: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(*_: object) -> Partial:
        raise ZeroDivisionError

    monkeypatch.setattr("mapgauge.evaluation.streaming.run.score_chunk", wrong)
    with pytest.raises(ZeroDivisionError):
        in_chunks(*written, on_error="skip")


def test_a_temporary_folder_goes_with_the_results(written: tuple[Path, Path]) -> None:
    results = in_chunks(*written)
    assert isinstance(results.rows, FolderRows)
    path = results.rows.folder.path
    assert path.is_dir()
    del results
    assert not path.exists()


def test_files_that_do_not_go_together_are_refused(world: World, tmp_path: Path) -> None:
    mg.write(world[0], tmp_path / "a.parquet")
    mg.write(world[1], tmp_path / "b.parquet")
    with pytest.raises(mg.InvalidInput, match="the files differ in confidence"):
        mg.evaluate(tmp_path, tmp_path)


def test_exchanged_sides_are_noticed(written: tuple[Path, Path]) -> None:
    with pytest.raises(mg.InvalidInput, match="are the two exchanged"):
        mg.evaluate(written[1], written[0])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"engine": "ray"}, "unknown engine 'ray'. Known: threads, processes, dask"),
        ({"engine": 3}, "engine must be .*, got 3"),
        ({"on_error": "ignore"}, "on_error must be 'stop' or 'skip', got 'ignore'"),
        ({"resume": True}, "resume needs the work folder"),
        ({"workers": 0}, "workers must be a whole number of at least 1, got 0"),
    ],
)
def test_settings_that_mean_nothing_are_refused(
    written: tuple[Path, Path], settings: dict[str, object], message: str
) -> None:
    with pytest.raises(mg.InvalidInput, match=message):
        mg.evaluate(*written, **settings)  # type: ignore[arg-type]


def test_frames_in_memory_have_no_use_for_an_engine(world: World) -> None:
    with pytest.raises(mg.InvalidInput, match="are for Parquet files on both sides"):
        mg.evaluate(*world, engine="processes")


def test_a_url_is_no_folder_for_work(written: tuple[Path, Path]) -> None:
    with pytest.raises(mg.InvalidInput, match="work must be a folder on this machine"):
        in_chunks(*written, work="s3://bucket/work")


def test_a_worker_with_another_version_is_refused(written: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "__version__", "0.0.1")
    with pytest.raises(mg.MapgaugeError, match="a worker has mapgauge 0.0.1, expected"):
        in_chunks(*written)


def test_paths_are_told_to_workers_in_full(
    in_memory: mg.Results, sides: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    results = in_chunks("x", "y")
    assert same(results, in_memory)
    assert all(Path(file).is_absolute() for file in open_dataset("x").files)
    assert open_dataset("x").digest == open_dataset(sides[0]).digest


def test_an_early_failure_leaves_nothing_behind(
    sides: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    damage(sides[0], 0)
    with pytest.raises(mg.UnreadableFile, match=r"completely$"):
        in_chunks(*sides, workers=1)
    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.parametrize(
    ("function", "error", "told"),
    [
        ("mapgauge.results.folder.save", mg.MapgaugeError("no space"), mg.MapgaugeError),
        ("mapgauge.evaluation.streaming.run.score_chunk", ZeroDivisionError(), ZeroDivisionError),
        ("mapgauge.evaluation.streaming.run.open_engine", OSError(11, "no threads"), OSError),
    ],
)
def test_a_temporary_folder_goes_with_any_error(
    *,
    written: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    function: str,
    error: Exception,
    told: type,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    monkeypatch.setattr(function, fail)
    with pytest.raises(told):
        in_chunks(*written, workers=1)
    assert list((tmp_path / "scratch").iterdir()) == []


def test_an_empty_folder_is_refused(sides: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(mg.UnreadableFile, match="this is a directory"):
        mg.evaluate(tmp_path / "empty", sides[1])
