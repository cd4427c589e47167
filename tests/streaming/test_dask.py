"""Streamed evaluation on a real Dask cluster of local processes."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.streaming.deaths import die_at_three
from tests.streaming.worlds import FEW_ROWS, GROUP, LINKED, OF_FRAMES, in_chunks, same

import mapgauge as mg
from mapgauge.evaluation.engines import open_engine, run
from mapgauge.evaluation.streaming.plan import Chunk, explained_error
from mapgauge.io.dataset import RowGroups

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
pytestmark = [
    pytest.mark.filterwarnings("ignore::Warning:distributed"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
World = tuple[mg.MapFrames, mg.MapFrames]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),  # workers that a task may kill, less one
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_a_cluster_gives_the_bits_of_one_process(client: Any, few: World, few_sides: tuple[Path, Path]) -> None:
    streamed = in_chunks(*few_sides, LINKED, metrics=OF_FRAMES, engine=client, most_rows=FEW_ROWS)
    assert same(streamed, mg.evaluate(*few, LINKED, metrics=OF_FRAMES))


def test_a_scheduler_is_found_by_its_address(client: Any, in_memory: mg.Results, written: tuple[Path, Path]) -> None:
    assert same(in_chunks(*written, engine=client.scheduler.address), in_memory)


def test_the_clients_own_executor_works_too(client: Any, in_memory: mg.Results, written: tuple[Path, Path]) -> None:
    assert same(in_chunks(*written, engine=client.get_executor(pure=False)), in_memory)


def test_a_worker_killed_in_the_middle_changes_nothing(
    client: Any, world: World, in_memory: mg.Results, written: tuple[Path, Path], tmp_path: Path
) -> None:
    killed: list[int] = []

    def kill_one(done: int, of: int) -> None:
        if not killed:
            pid = next(iter(client.run(os.getpid).values()))
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    results = in_chunks(*written, engine=client, work=tmp_path / "work", progress=kill_one)
    assert killed
    assert same(results, in_memory)
    assert len(results.tokens) == len(set(results.tokens)) == len(world[1])


def test_a_task_that_kills_its_workers_is_named_and_the_others_are_done(client: Any) -> None:
    """This is what happens to a chunk that needs more memory than a worker has. Dask gives up after some workers."""
    with open_engine(client, None) as pool:
        died = dict(run(pool, die_at_three, [3]))[3]
        assert dict(run(pool, die_at_three, [1, 2, 4])) == {1: 2, 2: 4, 4: 8}
    assert isinstance(died, Exception)
    chunk = Chunk(7, None, None, (), (RowGroups("truth.parquet", (4, 5)),), 1234)
    explained = str(explained_error(chunk, died))
    assert explained.startswith(
        "chunk 7 (truth.parquet row group 4, 5, 1234 rows with its predictions): the worker died"
    )


def test_workers_are_told_paths_and_not_geometry(written: tuple[Path, Path]) -> None:
    import pickle

    from mapgauge.evaluation.streaming.plan import plan_of
    from mapgauge.io.dataset import open_dataset

    chunks = plan_of(*(open_dataset(side) for side in written), most_rows=2 * GROUP).chunks
    assert all(len(pickle.dumps(chunk)) < 4000 for chunk in chunks)


def test_a_corrupt_row_group_is_named_by_a_worker_far_away(client: Any, sides: tuple[Path, Path]) -> None:
    from tests.streaming.test_faults import damage

    file = damage(sides[1], 1)
    with pytest.raises(mg.UnreadableFile, match="row group 1") as caught:
        in_chunks(*sides, engine=client)
    assert str(file) in str(caught.value)
