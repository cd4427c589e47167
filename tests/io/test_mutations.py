"""Damaged files: thousands per format, each of which is read or refused in our own words, never anything else."""

import io
import json
import os
import pickle
import re
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mapgauge as mg
from mapgauge.io import FORMATS

QUICK = 150  # mutants per format in `make test`; `make fuzz` asks for more
LINE = [[0.0, 1.5], [9.25, -2.0], [12.0, 3.0]]
WORDS = (b"null", b"NaN", b"-Infinity", b"true", b'"1.5"', b"[]", b"{}", b"[1]", b"-1", b"7", b"1e400", b"0.5", b"")
TOKENS = re.compile(rb'-?\d+(\.\d+)?|"[^"]*"|\[[^\[\]]*\]|[\[\]{}:,]')


def world() -> mg.MapFrames:
    lines = {"t0": {"divider": [LINE, LINE[:2]], "boundary": [LINE]}, "t1": {}, "t2": {"ped_crossing": [LINE]}}
    return mg.MapFrames.of(lines, classes=["ped_crossing", "divider", "boundary"])


ELEMENT = {"category": "lane", "coords": LINE, "details": {"score": 0.5}}
VECTOR = {"pts": np.array(LINE), "pts_num": len(LINE), "cls_name": "divider", "type": 0, "confidence_level": 0.5}


def _pickled(name: str) -> bytes:
    """Files of the formats that are only read, or that hold other classes."""
    line = np.array(LINE)
    instance = {"pts": line, "pts_num": 3, "type": 1, "confidence_level": 0.5}
    high = np.column_stack([line, line[:, 0]]).astype(np.float32)
    documents: dict[str, Any] = {
        "vectormapnet": {
            "meta": {},
            "results": {"t0": {"vectors": [instance]}},
            "groundTruth": {"t0": {"vectors": [instance | {"confidence_level": 1.0}]}},
        },
        "openlanev2": {
            "method": "m",
            "results": {
                ("val", "00001", "315"): {
                    "predictions": {
                        "lane_centerline": [{"id": 1, "points": high, "confidence": np.float32(0.5)}],
                        "traffic_element": [
                            {"id": 2, "category": 1, "attribute": 3, "points": high[:2, :2], "confidence": 0.5}
                        ],
                        "topology_lclc": np.zeros((1, 1), np.float32),
                        "topology_lcte": np.ones((1, 1), np.float32),
                    }
                }
            },
        },
        "openlanev2-truth": {
            ("val", "00001", "315"): {
                "version": "v",
                "segment_id": "00001",
                "timestamp": "315",
                "meta_data": {},
                "sensor": {},
                "pose": {"rotation": np.eye(3), "translation": np.zeros(3)},
                "annotation": {
                    "lane_segment": [
                        {"id": 7, "centerline": high, "left_laneline": high, "right_laneline": high}
                        | {"left_laneline_type": 1, "right_laneline_type": 2, "is_intersection_or_connector": False}
                    ],
                    "area": [{"id": 8, "category": 1, "points": high}],
                    "traffic_element": [],
                    "topology_lsls": np.ones((1, 1), np.int8),
                    "topology_lste": np.zeros((1, 0), np.int8),
                },
            }
        },
        "graph-json": {"t0": {"nodes": LINE, "edges": [[0, 1]]}, "t1": {"nodes": [], "edges": []}},
        "globalmapnet": {"meta_info": {"scene_name": "s"}, "poses": [], "map_elements": [ELEMENT]},
        "vad": {"meta": {}, "map_results": {"t0": {"sample_token": "t0", "vectors": [VECTOR]}}},
        "maptracker-tracks": [
            {
                "vectors": np.array([np.ravel(LINE)]),
                "labels": np.array([1]),
                "scores": np.array([0.75]),
                "scene_name": "scene-0001",
                "local_idx": 0,
                "global_ids": [3],
                "meta": {"token": "t0"},
            }
        ],
    }
    if name == "csv":
        rows = ("frame,class,confidence,wkt", 't0,divider,0.5,"LINESTRING (0 1.5, 9 -2)"')
        return "\n".join(rows).encode()
    if name == "gis":
        return gis_file(".gpkg")
    if name == "globalmapnet":
        return json.dumps(documents[name]).encode()
    return pickle.dumps(documents[name], protocol=4)


OSM = """<?xml version="1.0"?><osm version="0.6">
<node id="1" lat="" lon=""><tag k="local_x" v="0"/><tag k="local_y" v="1.5"/></node>
<node id="2" lat="" lon=""><tag k="local_x" v="9.25"/><tag k="local_y" v="-2"/></node>
<node id="3" lat="" lon=""><tag k="local_x" v="12"/><tag k="local_y" v="3"/></node>
<way id="4"><nd ref="1"/><nd ref="2"/><tag k="type" v="line_thin"/></way>
<way id="5"><nd ref="3"/><nd ref="2"/><tag k="type" v="curbstone"/></way>
<way id="6"><nd ref="1"/><nd ref="3"/><tag k="type" v="virtual"/></way>
<relation id="7"><member type="way" ref="5" role="left"/><member type="way" ref="6" role="right"/>
<tag k="type" v="lanelet"/><tag k="subtype" v="crosswalk"/></relation></osm>"""
# Further files of the format gis, by the suffix. GeoPackage is the first.
GIS = (".gpkg", ".fgb", ".zip", ".parquet")
SLOW = (".gpkg", ".fgb", ".zip")  # GDAL reads them in a process of its own, which takes a sixth of a second


def gis_file(suffix: str) -> bytes:
    """A map as a GIS writes it."""
    shapely = pytest.importorskip("shapely")
    pyogrio = pytest.importorskip("pyogrio")
    lines = np.array([shapely.LineString([(0, 1.5), (9, -2)]), shapely.LineString([(3, 1.5), (9, -2), (12, 3)])])
    names = ["divider", "boundary"]
    if suffix == ".parquet":
        return _geoparquet(shapely.to_wkb(lines).tolist(), names)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"map{'.shp' if suffix == '.zip' else suffix}"
        columns = [np.array(["t0", "t0"], object), np.array(names, object)]
        how = {"geometry_type": "LineString", "crs": "EPSG:32632"}
        pyogrio.raw.write(file, shapely.to_wkb(lines), columns, ["frame", "class"], **how)
        if suffix != ".zip":
            return file.read_bytes()
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as parts:
            for part in sorted(Path(folder).iterdir()):
                parts.write(part, part.name)
        return archive.getvalue()


def _geoparquet(wkb: list[bytes], names: list[str]) -> bytes:
    geo = {"version": "1.1.0", "primary_column": "geom", "columns": {"geom": {"encoding": "WKB", "crs": None}}}
    table = pa.table({"frame": ["t0", "t0"], "class": names, "geom": pa.array(wkb, pa.binary())})
    file = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({"geo": json.dumps(geo)}), file)
    return file.getvalue()


@cache
def sound(name: str) -> bytes:
    """A small file of each format, and of each form of ``gis``."""
    if name in GIS:
        return gis_file(name)
    if name == "lanelet2":
        return OSM.encode()
    write = FORMATS[name].write
    if write is None or name.startswith("openlanev2"):
        return _pickled(name)
    return write(world() if "truth" in name else world().with_confidence(0.5), None)


CASES = [name for name in FORMATS if name not in ("maptracker-truth-tracks", "poses")]  # which hold no geometry
FORMS = [*(name for name in CASES if name != "gis"), *GIS]


def mutant(data: bytes, rng: np.random.Generator) -> bytes:
    """A file with one to three faults: bytes flipped, cut out, doubled, or values replaced."""
    for _ in range(rng.integers(1, 4)):
        place = int(rng.integers(0, max(1, len(data))))
        kind = rng.integers(0, 6)
        if kind == 0:
            data = data[:place] + bytes([rng.integers(0, 256)]) + data[place + 1 :]
        elif kind == 1 and place < len(data):
            data = data[:place] + bytes([data[place] ^ (1 << int(rng.integers(0, 8)))]) + data[place + 1 :]
        elif kind == 2:
            data = data[:place]
        elif kind == 3:
            data = data[:place] + data[place + int(rng.integers(1, 30)) :]
        elif kind == 4:
            data = data[:place] + data[place : place + int(rng.integers(1, 30))] + data[place:]
        else:
            found = list(TOKENS.finditer(data))
            if found:
                chosen = found[int(rng.integers(0, len(found)))]
                data = data[: chosen.start()] + WORDS[int(rng.integers(0, len(WORDS)))] + data[chosen.end() :]
    return data


def attack(name: str, path: Path, cases: int, seed: int) -> tuple[int, int]:
    """Read mutants of a format, by name and by content; how many were read and how many refused."""
    rng = np.random.default_rng(seed)
    read = refused = 0
    message = str(path)
    for case in range(cases):
        data = mutant(sound(name), rng)
        path.write_bytes(data)
        try:
            named = "gis" if name in GIS else name
            frames = mg.read(path, named if case % 2 else None, degenerate="drop" if case % 3 else "strict")
        except mg.UnreadableFile as refusal:
            message = str(refusal)
            refused += 1
        else:
            assert np.isfinite(frames.polylines.coords).all()
            assert (np.diff(frames.polylines.offsets) >= 2).all()
            read += 1
        assert str(path) in message
        assert len(message) < 1000
    return read, refused


@pytest.mark.parametrize("name", FORMS)
def test_the_sound_file_is_read(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(sound(name))
    frames = mg.read(tmp_path / "file")
    assert frames.format == ("gis" if name in GIS else name)
    assert len(frames.polylines) > 0


@pytest.mark.parametrize("name", FORMS)
def test_damaged_files_are_read_or_refused(name: str, tmp_path: Path) -> None:
    cases = QUICK // 15 if name in SLOW else QUICK
    _, refused = attack(name, tmp_path / "file", cases, 1)
    assert refused > cases // 4


@pytest.mark.fuzz
@pytest.mark.parametrize("name", FORMS)
def test_thousands_of_damaged_files_are_read_or_refused(name: str, tmp_path: Path) -> None:
    cases = int(os.environ.get("MAPGAUGE_FUZZ_FILES", "5000"))
    read, refused = attack(name, tmp_path / "file", cases, 2)
    assert read + refused == cases
