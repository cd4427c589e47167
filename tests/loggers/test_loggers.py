"""Loggers write what they promise, with the real packages and without a network."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.lane_worlds import both, world

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.loggers import log_mlflow, log_tensorboard, log_wandb
from mapgauge.results.flat import flat

CURVES = ["histogram", "parts", "precision_recall/ap_chamfer", "precision_recall/ap_frechet", "ranges"]
WORST = ["worst/1", "worst/2"]
OTHERS_WARN = pytest.mark.filterwarnings("default")  # what other packages warn about is not ours to refuse


@pytest.mark.parametrize("kind", ["torch.utils.tensorboard", "tensorboardX"])
@OTHERS_WARN
def test_tensorboard_has_everything(results: mg.Results, tmp_path: Path, kind: str) -> None:
    reading = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    writer = pytest.importorskip(kind, exc_type=ImportError).SummaryWriter(str(tmp_path))
    log_tensorboard(results, writer, 7, worst=2, prefix="val/")
    writer.close()
    read = reading.EventAccumulator(str(tmp_path), size_guidance={"scalars": 0, "images": 0, "tensors": 0})
    read.Reload()
    tags = read.Tags()
    expected = flat(results)
    assert set(tags["scalars"]) == {f"val/{key}" for key in expected}
    for key, value in expected.items():
        (event,) = read.Scalars(f"val/{key}")
        assert (event.step, event.value) == (7, pytest.approx(value, abs=1e-6))
    assert sorted(tags["images"]) == sorted(f"val/{name}" for name in [*CURVES, *WORST])
    assert read.Images("val/worst/1")[0].width > 300
    (text,) = read.Tensors("val/results/text_summary")
    assert b"mapgauge-report-7.html" in text.tensor_proto.string_val[0]
    assert "<html" in (tmp_path / "mapgauge-report-7.html").read_text(encoding="utf-8")


@OTHERS_WARN
def test_mlflow_has_everything(results: mg.Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # a database needs the complete MLflow
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    mlflow = pytest.importorskip("mlflow")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    with pytest.raises(mg.InvalidInput, match="no active run"):
        log_mlflow(results)
    with mlflow.start_run() as run:
        log_mlflow(results, step=7, worst=2, prefix="val/")
    client, name = mlflow.MlflowClient(), run.info.run_id
    metrics = client.get_run(name).data.metrics
    expected = flat(results)
    assert len(metrics) == len(expected)
    assert metrics["val/pld/mean"] == expected["pld/mean"]
    assert metrics["val/pld/divider.missed.0.5"] == expected["pld/divider/missed/0.5"]
    assert [point.step for point in client.get_metric_history(name, "val/pld/mean")] == [7]
    folder = Path(client.download_artifacts(name, "mapgauge/step-7"))
    pictures = sorted(path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.png"))
    assert pictures == sorted([*CURVES, *WORST])
    with Image.open(folder / "worst" / "1.png") as image:
        assert image.width > 300
    assert "<html" in (folder / "mapgauge-report.html").read_text(encoding="utf-8")


@OTHERS_WARN
def test_mlflow_accepts_every_class_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    mlflow = pytest.importorskip("mlflow")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    with mlflow.start_run() as run:
        log_mlflow(one_class("kerb@left"), worst=0, report=False)
    assert "pld/kerb_left" in mlflow.MlflowClient().get_run(run.info.run_id).data.metrics


def records_of(file: Path, kind: Any) -> Iterator[Any]:
    """Yield the records of an offline run. They are in blocks of 32 KiB, as in LevelDB's log, after 7 bytes."""
    data, place, parts = file.read_bytes(), 7, b""
    while place + 7 <= len(data):
        left = 32768 - place % 32768
        if left < 7:
            place += left
            continue
        _, size, part = struct.unpack_from("<IHB", data, place)
        parts += data[place + 7 : place + 7 + size]
        place += 7 + size
        if part in (1, 4):  # complete, or the last part
            yield kind.FromString(parts)
            parts = b""


@OTHERS_WARN
def test_wandb_has_everything(results: mg.Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WANDB_DIR", "WANDB_CACHE_DIR", "WANDB_DATA_DIR", "WANDB_CONFIG_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("WANDB_SILENT", "true")
    wandb = pytest.importorskip("wandb")
    internal = pytest.importorskip("wandb.proto.wandb_internal_pb2")
    with pytest.raises(mg.InvalidInput, match="no run"):
        log_wandb(results)
    with wandb.init(mode="offline", project="mapgauge", dir=str(tmp_path)) as run:
        log_wandb(results, step=7, worst=2, prefix="val/")
    wandb.teardown()  # waits until the file is complete
    (file,) = tmp_path.rglob("*.wandb")
    records = list(records_of(file, internal.Record))
    (history,) = [record.history for record in records if record.WhichOneof("record_type") == "history"]
    logged = {item.nested_key[0]: item.value_json for item in history.item}  # a picture has several items
    assert logged["_step"] == "7"
    for key, value in flat(results).items():
        assert float(logged[f"val/{key}"]) == pytest.approx(value)
    assert {f"val/{name}" for name in [*CURVES, *WORST]} <= set(logged)
    assert len(list(tmp_path.rglob("media/images/**/*.png"))) == len(CURVES) + len(WORST)
    artifacts = [record.artifact.name for record in records if record.WhichOneof("record_type") == "artifact"]
    assert artifacts == [f"mapgauge-report-{run.id}"]


def one_class(name: str) -> mg.Results:
    lines = mg.MapFrames.of({"a": {name: [[[0, 0], [9, 0]]]}})
    return mg.evaluate(lines.with_confidence(0.5), lines, mg.protocol("paper-60x30", classes=[name]))


class Writer:
    """A writer that keeps names only."""

    def __init__(self, folder: Path) -> None:
        self.log_dir, self.names = str(folder), list[str]()

    def add_scalar(self, name: str, *_: Any) -> None:
        self.names.append(name)

    def add_image(self, name: str, *_: Any, **__: Any) -> None:
        self.names.append(name)

    def add_text(self, name: str, *_: Any) -> None:
        self.names.append(name)

    def flush(self) -> None:
        pass


def test_results_without_geometry_have_no_pictures_of_frames(tmp_path: Path) -> None:
    results = mg.evaluate(*demo_world(2, predictions=5), metrics=["pld"])
    writer = Writer(tmp_path)
    log_tensorboard(results.without_data(), writer, report=False)
    assert {"parts", "histogram"} <= set(writer.names)
    assert not [name for name in writer.names if name.startswith("worst")]
    assert not list(tmp_path.iterdir())


def test_empty_results_have_only_a_table(tmp_path: Path) -> None:
    nothing = mg.MapFrames.of({"a": {"divider": []}})
    writer = Writer(tmp_path)
    log_tensorboard(mg.evaluate(nothing.with_confidence(0.5), nothing), writer, report=False)
    assert writer.names == ["results"]


def test_wrong_arguments_are_refused_before_something_is_logged(results: mg.Results, tmp_path: Path) -> None:
    with pytest.raises(mg.InvalidInput, match="SummaryWriter, got str without add_scalar"):
        log_tensorboard(results, "runs")
    with pytest.raises(mg.InvalidInput, match="expected Results"):
        log_tensorboard([results], Writer(tmp_path))  # type: ignore[arg-type]
    with pytest.raises(mg.InvalidInput, match="worst"):
        log_tensorboard(results, Writer(tmp_path), worst=-1)


class Failing(Writer):
    """A writer that cannot write one scalar and no text."""

    def add_scalar(self, name: str, *_: Any) -> None:
        if name == "pld/mean":
            raise OSError(28, "No space left on device")
        super().add_scalar(name)

    def add_text(self, name: str, *_: Any) -> None:
        raise ConnectionError("no server")


def test_what_cannot_be_logged_is_named_in_one_warning(
    results: mg.Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mapgauge.plot.parts", lambda *_, **__: 1 / 0)
    writer = Failing(tmp_path)
    with pytest.warns(RuntimeWarning) as said:
        log_tensorboard(results, writer, worst=1, report=False)
    (one,) = said
    assert str(one.message) == (
        "mapgauge did not log pld/mean (OSError: [Errno 28] No space left on device), parts (ZeroDivisionError: "
        "division by zero), table (ConnectionError: no server)"
    )
    assert one.filename == __file__
    assert {"pld/divider", "histogram", "worst/1"} <= set(writer.names)


def test_a_value_whose_name_is_taken_is_left_out(tmp_path: Path) -> None:
    lines = mg.MapFrames.of({"a": {"kerb": [[[0, 0], [9, 0]]], "kerb/missed": [[[0, 5], [9, 5]]]}})
    settings = mg.protocol("paper-60x30", classes=["kerb", "kerb/missed"])
    writer = Writer(tmp_path)
    with pytest.warns(RuntimeWarning, match="did not log pld/kerb/missed"):
        log_tensorboard(mg.evaluate(lines.with_confidence(0.5), lines, settings), writer, worst=0, report=False)
    assert {"pld/mean", "pld/kerb", "pld/kerb/missed", "ap_chamfer/kerb/missed"} <= set(writer.names)


@pytest.mark.needs_feature("openlane", "graph_scores")
@pytest.mark.parametrize("protocol", ["openlanev2-v1.1", "graph"])
def test_results_of_lanes_are_logged_without_a_warning(tmp_path: Path, protocol: str) -> None:
    writer = Writer(tmp_path)
    log_tensorboard(mg.evaluate(*both(world(7, "1.1")), protocol), writer, report=False)
    assert ("precision_recall/det_l" in writer.names) == (protocol != "graph")
