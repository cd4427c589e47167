"""Longitude and latitude on both sides are projected the same way, and a declared reference system is used."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.cli.conftest import Run

import mapgauge as mg

METRE = 1 / 111_320  # degrees of latitude
LINES = [[[8.4, 49.0], [8.4, 49.0 + 50 * METRE]], [[8.4001, 49.0], [8.4001, 49.0 + 50 * METRE]]]


def collection(lines: Any, path: Path, *, confidence: bool = False, crs: str | None = None) -> Path:
    features = [
        {
            "type": "Feature",
            "properties": {"frame": "a", "class": "divider"} | ({"confidence": 0.5} if confidence else {}),
            "geometry": {"type": "LineString", "coordinates": line},
        }
        for line in lines
    ]
    more = {} if crs is None else {"crs": {"type": "name", "properties": {"name": crs}}}
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features} | more), encoding="utf-8")
    return path


def test_a_projection_keeps_lengths_and_can_be_used_for_both_sides(tmp_path: Path) -> None:
    truth = mg.read(collection(LINES, tmp_path / "truth.geojson"), project="auto")
    assert truth.crs == "tmerc:49.0:8.4"
    first, second = (each.points for each in truth["a"])
    np.testing.assert_allclose(first, [[0, 0], [0, 50]], atol=0.2)
    assert second[0, 0] == pytest.approx(7.31, abs=0.01)
    moved = [[[x, y + 2 * METRE] for x, y in line] for line in LINES]
    predictions = mg.read(collection(moved, tmp_path / "p.geojson", confidence=True), project=truth.crs)
    assert predictions["a"][0].points[0, 1] == pytest.approx(2, abs=0.01)
    assert predictions.crs == truth.crs


@pytest.mark.parametrize("crs", ["EPSG:4326", "urn:ogc:def:crs:OGC:1.3:CRS84"])
def test_declared_degrees_are_refused_or_projected(tmp_path: Path, crs: str) -> None:
    path = collection(LINES, tmp_path / "truth.geojson", crs=crs)
    with pytest.raises(mg.UnreadableFile, match=r"longitude and latitude, expected metres.*project=\"auto\""):
        mg.read(path)
    assert mg.read(path, project="declared").crs == crs
    np.testing.assert_allclose(mg.read(path, project="auto")["a"][0].points, [[0, 0], [0, 50]], atol=0.2)


def test_a_declared_system_of_geoparquet_is_used(tmp_path: Path) -> None:
    path = tmp_path / "truth.parquet"
    mg.write(mg.read(collection(LINES, tmp_path / "truth.geojson")), path)
    table = pq.read_table(path)
    about = json.loads(table.schema.metadata[b"geo"])
    about["columns"]["geometry"]["crs"] = {"type": "GeographicCRS", "id": {"authority": "EPSG", "code": 4326}}
    pq.write_table(table.replace_schema_metadata(table.schema.metadata | {b"geo": json.dumps(about).encode()}), path)
    with pytest.raises(mg.UnreadableFile, match="longitude and latitude"):
        mg.read(path)
    about["columns"]["geometry"]["crs"] = "EPSG:32632"
    pq.write_table(table.replace_schema_metadata(table.schema.metadata | {b"geo": json.dumps(about).encode()}), path)
    assert mg.read(path).crs == "EPSG:32632"


def test_metres_without_a_reference_system_cannot_be_projected(tmp_path: Path) -> None:
    path = collection([[[700, 2000], [710, 2000]]], tmp_path / "truth.geojson")
    with pytest.raises(mg.InvalidInput, match="no reference system is declared"):
        mg.read(path, project="auto")


def test_exchanged_longitude_and_latitude_are_named(tmp_path: Path) -> None:
    truth = mg.read(collection(LINES, tmp_path / "t.geojson"), project="auto")
    turned = [[[y, x] for x, y in line] for line in LINES]
    with pytest.raises(mg.InvalidInput, match=r"latitude 8\.4.*are exchanged"):
        mg.read(collection(turned, tmp_path / "p.geojson"), project=truth.crs)
    miami = [[[25.77, -80.2], [25.771, -80.2]]]
    (finding,) = mg.read(collection(miami, tmp_path / "m.geojson"), project="auto").findings
    assert (finding.level, finding.code) == ("warning", "coordinates-exchanged")
    assert (
        mg.read(collection([[[-80.2, 25.77], [-80.2, 25.771]]], tmp_path / "m.geojson"), project="auto").findings == ()
    )


def test_an_unknown_reference_system_is_a_note(tmp_path: Path) -> None:
    metres = [[[40.0, 50.0], [90.0, 50.0]]]
    (finding,) = mg.read(collection(metres, tmp_path / "t.geojson", crs="the yard")).findings
    assert (finding.level, finding.code) == ("note", "crs-unknown")
    assert mg.read(collection(metres, tmp_path / "t.geojson", crs="EPSG:32632")).findings == ()


def test_different_reference_systems_are_refused(tmp_path: Path) -> None:
    metres = [[[400_000, 5_400_000], [400_050, 5_400_000]]]
    truth = mg.read(collection(metres, tmp_path / "t.geojson", crs="EPSG:32632"))
    same = mg.read(collection(metres, tmp_path / "p.geojson", confidence=True, crs="urn:ogc:def:crs:EPSG::32632"))
    other = mg.read(collection(metres, tmp_path / "o.geojson", confidence=True, crs="EPSG:32633"))
    assert mg.evaluate(same, truth).mean["pld"] == pytest.approx(0.5)
    with pytest.raises(mg.InvalidInput, match=r"EPSG:32633, and .* has EPSG:32632, expected the same"):
        mg.evaluate(other, truth)


def test_the_command_projects_both_sides(tmp_path: Path, call: Run) -> None:
    collection(LINES, tmp_path / "t.geojson")
    collection(LINES, tmp_path / "p.geojson", confidence=True)
    both = call("evaluate", f"{tmp_path}/p.geojson,project=auto", f"{tmp_path}/t.geojson,project=auto", "--json")
    assert both.returncode == 0
    one = call("evaluate", f"{tmp_path}/p.geojson,project=auto", f"{tmp_path}/t.geojson")
    assert one.returncode
    assert "Write TRUTH,project=auto" in one.stderr
    none = call("evaluate", f"{tmp_path}/p.geojson", f"{tmp_path}/t.geojson")
    assert "Write PREDICTIONS,project=auto TRUTH,project=auto" in none.stdout + none.stderr
