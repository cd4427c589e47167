"""Where processes cannot share memory, engines of processes say so."""

import multiprocessing.synchronize
from pathlib import Path

import pytest

import mapgauge as mg
from mapgauge.demo import demo_world


@pytest.mark.parametrize("engine", ["processes", "dask"])
def test_a_machine_without_shared_memory_is_named(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    predictions, truth = demo_world(2)
    mg.write(predictions, tmp_path / "predictions.parquet")
    mg.write(truth, tmp_path / "truth.parquet")
    monkeypatch.setattr(multiprocessing.synchronize.Lock, "__init__", refuse)
    with pytest.raises(mg.MapgaugeError) as failed:
        mg.evaluate(tmp_path / "predictions.parquet", tmp_path / "truth.parquet", engine=engine, workers=1)
    assert failed.value.for_shell() == (
        f"engine '{engine}': processes cannot share memory: Read-only file system. "
        "Make /dev/shm writable, or use --engine threads"
    )
