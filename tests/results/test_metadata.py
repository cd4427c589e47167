"""Date, metadata and digest of results: kept in files, shown in documents, and without effect on numbers."""

import csv
import io
import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run

import mapgauge as mg


@pytest.fixture(scope="module")
def sides() -> tuple[mg.MapFrames, mg.MapFrames]:
    predictions, truth = mg.demo.demo_world(6)
    return predictions, truth


def test_metadata_and_date_are_loaded_as_they_were_saved(
    sides: tuple[mg.MapFrames, mg.MapFrames], tmp_path: Path
) -> None:
    results = mg.evaluate(*sides, metadata={"commit": "4f2a", "epoch": 12, "date": "2026-11-03T08:30+01:00"})
    results.save(tmp_path / "results.mg")
    loaded = mg.load_results(tmp_path / "results.mg")
    assert loaded.metadata == results.metadata == {"commit": "4f2a", "epoch": "12"}
    assert loaded.date == results.date == "2026-11-03T07:30:00Z"
    assert loaded.digest == results.digest
    assert loaded.truth_lengths == results.truth_lengths


def test_metadata_changes_no_number_and_no_digest(sides: tuple[mg.MapFrames, mg.MapFrames]) -> None:
    plain = mg.evaluate(*sides)
    noted = mg.evaluate(*sides, metadata={"seed": 3})
    assert (noted.classes, noted.mean, noted.digest) == (plain.classes, plain.mean, plain.digest)


def test_the_digest_follows_predictions_truth_and_settings(sides: tuple[mg.MapFrames, mg.MapFrames]) -> None:
    predictions, truth = sides
    digests = {
        mg.evaluate(predictions, truth).digest,
        mg.evaluate(predictions.with_confidence(0.5), truth).digest,
        mg.evaluate(predictions, truth.at(range(5)), unknown="ignore").digest,
        mg.evaluate(predictions, truth, mg.protocol("paper-60x30", cutoffs=(1.0,))).digest,
        mg.evaluate(predictions, truth, ranges=(0, 10)).digest,
    }
    assert len(digests) == 5


def test_the_date_is_that_of_source_date_epoch(
    sides: tuple[mg.MapFrames, mg.MapFrames], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert mg.evaluate(*sides).date == "1970-01-02T00:00:00Z"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    with pytest.raises(mg.InvalidInput, match="SOURCE_DATE_EPOCH must be a whole number"):
        mg.evaluate(*sides)
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    assert mg.evaluate(*sides).date > "2026"


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"a key": "x"}, "a key of metadata has"),
        ({"commit": None}, "must be text or a number, got NoneType"),
        ({"note": "two\nlines"}, "one line of at most 500 printable"),
        ({"note": "x" * 501}, "one line of at most 500 printable"),
        ({"note": 10**5000}, "one line of at most 500 printable"),
        ({"date": "3 Nov"}, "the date must be a day or a time of ISO 8601"),
        ({f"k{i}": i for i in range(51)}, "at most, got 51"),
        ("commit=4f2a", "must be a mapping"),
    ],
)
def test_metadata_that_tables_cannot_show_is_refused(
    sides: tuple[mg.MapFrames, mg.MapFrames], metadata: object, message: str
) -> None:
    with pytest.raises(mg.InvalidInput, match=message):
        mg.evaluate(*sides, metadata=metadata)  # type: ignore[arg-type]


def test_a_file_without_date_metadata_and_lengths_is_read(
    sides: tuple[mg.MapFrames, mg.MapFrames], tmp_path: Path
) -> None:
    import zipfile

    import numpy as np

    mg.evaluate(*sides, metadata={"seed": 3}).save(tmp_path / "new.mg")
    with np.load(tmp_path / "new.mg") as archive:
        arrays = {name: archive[name] for name in archive.files if name != "summary"}
    header = json.loads(arrays["header"].tobytes())
    for key in ("date", "metadata", "truth_lengths"):
        del header[key]
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    with zipfile.ZipFile(tmp_path / "old.mg", "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as member:
                np.save(member, array)
    old = mg.load_results(tmp_path / "old.mg")
    assert (old.date, old.metadata, old.truth_lengths) == ("", {}, None)
    assert old.mean == mg.load_results(tmp_path / "new.mg").mean


def test_a_streamed_evaluation_keeps_the_metadata_and_the_same_lengths(tmp_path: Path) -> None:
    predictions, truth = mg.demo.demo_world(6)
    mg.write(predictions, tmp_path / "p.parquet")
    mg.write(truth, tmp_path / "t.parquet")
    streamed = mg.evaluate(
        tmp_path / "p.parquet", tmp_path / "t.parquet", work=tmp_path / "work", metadata={"commit": "4f2a"}
    )
    whole = mg.evaluate(predictions, truth, streamed.protocol)
    assert mg.load_results(tmp_path / "work").metadata == streamed.metadata == {"commit": "4f2a"}
    assert streamed.truth_lengths == whole.truth_lengths
    assert streamed.digest == whole.digest
    again = mg.evaluate(
        tmp_path / "p.parquet",
        tmp_path / "t.parquet",
        work=tmp_path / "work",
        resume=True,
        metadata={"commit": "5a0c", "date": "2026-01-01"},
    )
    assert again.metadata == {"commit": "5a0c"}
    assert again.date == streamed.date  # of the beginning


def test_documents_show_metadata(call: Run, tmp_path: Path) -> None:
    files = ["good.json", "truth.geojson"]
    noted = ["--metadata", "commit=4f2a", "--metadata", "note=a = b", "--metadata", "date=2026-11-03"]
    document = json.loads(call("evaluate", *files, *noted, "--json").stdout)
    assert document["metadata"] == {"commit": "4f2a", "note": "a = b"}
    assert document["date"] == "2026-11-03T00:00:00Z"
    assert len(document["digest"]) == 64
    done = call("evaluate", *files, *noted, "--csv", "-o", tmp_path / "noted.mg")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert {row["metadata:commit"] for row in rows} == {"4f2a"}
    inspected = call("inspect", tmp_path / "noted.mg").stdout
    said = f"date: 2026-11-03T00:00:00Z; commit: 4f2a; note: a = b; digest: {document['digest']}"
    assert said in inspected


def test_metadata_without_a_value_or_given_twice_is_a_usage_error(call: Run) -> None:
    files = ["good.json", "truth.geojson"]
    done = call("evaluate", *files, "--metadata", "commit")
    assert done.returncode == 2
    assert "must be KEY=VALUE" in done.stderr
    done = call("evaluate", *files, "--metadata", "a=1", "--metadata", "a=2")
    assert done.returncode == 2
    assert "gives a twice" in done.stderr
