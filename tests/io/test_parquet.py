"""Parquet: everything is kept, files of others are read, what is wrong is refused with the row."""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.io.rich_frames import assert_same, rich_frames

import mapgauge as mg
from mapgauge.dependencies import pyarrow_modules
from mapgauge.io import parquet

LINE = [[0.0, 1.5], [9.25, -2.0], [12.0, 3.0]]
POSE = np.arange(16.0).tolist()
OLD = Path(__file__).parents[1] / "data" / "parquet" / "doubles-zstd.parquet"


def world() -> mg.MapFrames:
    """Three frames with everything, the second of them empty."""
    lines = {"t0": {"divider": [LINE, LINE[:2]]}, "t1": {}, "t2": {"boundary": [LINE]}}
    frames = mg.MapFrames.of(lines, classes=["ped_crossing", "divider", "boundary"]).with_confidence([0.5, 0.25, 1])
    return replace(
        frames,
        track=np.array(["a", "", "b"]),
        scenes=("s", "s", "u"),
        timestamps=np.array([3, 1, 2**62]),
        poses=np.arange(48.0).reshape(3, 4, 4),
    )


def save(path: Path, **columns: Any) -> Path:
    """A file as others write it: three rows unless told otherwise, in two row groups."""
    given = {
        "token": ["t0", "t0", "t1"],
        "class": ["divider", "boundary", "divider"],
        "geometry": [LINE, LINE[:2], LINE[1:]],
    }
    chosen = {name: values for name, values in (given | columns).items() if values is not None}
    pq.write_table(pa.table(chosen), path, row_group_size=2)
    return path


def refused(path: Path, message: str, **options: Any) -> None:
    with pytest.raises(mg.UnreadableFile, match=message) as error:
        mg.read(path, **options)
    assert str(error.value).startswith(f"{path}: ")


@given(frames=rich_frames(repeated_tokens=True), suffix=st.sampled_from(["", ".gz", ".zst"]), rows=st.integers(1, 5))
def test_a_round_trip_keeps_everything(
    tmp_path_factory: pytest.TempPathFactory, frames: mg.MapFrames, suffix: str, rows: int
) -> None:
    folder = tmp_path_factory.mktemp("trip")
    mg.write(frames, folder / f"file.parquet{suffix}")
    assert_same(mg.read(folder / f"file.parquet{suffix}"), frames)
    (folder / "groups.parquet").write_bytes(parquet.write(frames, group_rows=rows))
    assert_same(mg.read(folder / "groups.parquet"), frames)


@pytest.mark.parametrize("tokens", [(), ("", "t1")])
def test_a_file_without_instances_keeps_its_columns(tmp_path: Path, tokens: tuple[str, ...]) -> None:
    none = np.empty(0, np.int64)
    frames = mg.MapFrames(
        tokens=tokens,
        classes=("divider",),
        frame=none,
        label=none,
        polylines=mg.Polylines(np.empty((0, 3)), np.zeros(1, np.int64)),
        confidence=np.empty(0),
        track=np.empty(0, np.str_),
        scenes=tokens,
        timestamps=np.arange(len(tokens)),
        poses=np.zeros((len(tokens), 4, 4)),
    )
    mg.write(frames, tmp_path / "file.parquet")
    assert_same(mg.read(tmp_path / "file.parquet"), frames)


def test_tracks_without_a_name_are_still_tracks(tmp_path: Path) -> None:
    frames = replace(world(), track=np.array(["", "", ""]))
    mg.write(frames, tmp_path / "file.parquet")
    assert_same(mg.read(tmp_path / "file.parquet"), frames)


def test_what_an_earlier_reader_noticed_is_kept(tmp_path: Path) -> None:
    finding = mg.Finding("warning", "dropped-few-points", "a.json: 2 of 9 instances dropped", 2, ("x", "y"))
    frames = replace(world(), name="a.json", format="maptr", findings=(finding,))
    mg.write(frames, tmp_path / "file.parquet")
    again = mg.read(tmp_path / "file.parquet")
    assert again.findings == (finding,)
    assert again.format == "maptr"
    assert again.name == str(tmp_path / "file.parquet")


class Linestring(pa.ExtensionType):  # type: ignore[misc]
    """As geoarrow's package registers it."""

    def __init__(self, storage: pa.DataType) -> None:
        super().__init__(storage, "geoarrow.linestring")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> "Linestring":
        return cls(storage)


def test_a_program_that_knows_geoarrow_reads_the_same(tmp_path: Path) -> None:
    frames = replace(world(), confidence=None)
    mg.write(frames, tmp_path / "file.parquet")
    pa.register_extension_type(Linestring(pa.null()))
    try:
        assert isinstance(pq.read_schema(tmp_path / "file.parquet").field("geometry").type, Linestring)
        again = mg.read(tmp_path / "file.parquet")
    finally:
        pa.unregister_extension_type("geoarrow.linestring")
    assert_same(again, frames)


@pytest.mark.parametrize(("lines", "kind"), [(LINE, "LineString"), ([[0, 1, 2], [3, 4, 5]], "LineString Z")])
def test_the_metadata_are_those_of_geoparquet(tmp_path: Path, lines: list[list[float]], kind: str) -> None:
    mg.write(mg.MapFrames.of({"t0": {"divider": [lines]}}), tmp_path / "file.parquet")
    schema = pq.read_schema(tmp_path / "file.parquet")
    geo = json.loads(schema.metadata[b"geo"])
    assert geo["version"] == "1.1.0"
    assert geo["primary_column"] == "geometry"
    assert geo["columns"] == {"geometry": {"encoding": "linestring", "geometry_types": [kind], "crs": None}}
    field = schema.field("geometry")
    assert field.metadata[b"ARROW:extension:name"] == b"geoarrow.linestring"
    axes = [pa.field(axis, pa.float64(), nullable=False) for axis in "xyz"[: len(lines[0])]]
    assert field.type == pa.list_(pa.field("element", pa.struct(axes), nullable=False))


def test_a_file_with_doubles_in_zstd_is_still_read() -> None:
    """An earlier version of mapgauge wrote the file, with doubles for every geometry."""
    assert_same(mg.read(OLD), world())


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        *((number, pa.float32()) for number in (0.1, -0.0, 1e-45, 3e38)),
        *((number, pa.float64()) for number in (0.1 + 1e-12, 1e-46, 4e38, 1e300)),
    ],
)
@pytest.mark.parametrize("place", [0, -1])
def test_predictions_are_stored_as_float32_where_this_keeps_every_bit(
    tmp_path: Path, number: float, kind: pa.DataType, place: int
) -> None:
    frames = world()
    coords = np.tile(frames.polylines.coords, (500, 1))
    coords[place, 1] = np.float32(number) if kind == pa.float32() else number
    lines = mg.Polylines(coords, np.array([0, 500, 900, len(coords)]))
    frames = replace(frames, polylines=lines)
    for stored, expected in ((frames, kind), (replace(frames, confidence=None), pa.float64())):
        (tmp_path / "file.parquet").write_bytes(parquet.write(stored))
        schema = pq.read_schema(tmp_path / "file.parquet")
        assert {field.type for field in schema.field("geometry").type.value_type} == {expected}
        assert (b"geo" in schema.metadata) == (expected == pa.float64())
        assert_same(mg.read(tmp_path / "file.parquet"), stored)


def test_the_columns_are_as_documented(tmp_path: Path) -> None:
    mg.write(world(), tmp_path / "file.parquet")
    schema = pq.read_schema(tmp_path / "file.parquet")
    names = pa.dictionary(pa.int32(), pa.string())
    assert dict(zip(schema.names[:-1], schema.types[:-1], strict=True)) == {
        "frame": pa.int32(),
        "token": names,
        "scene": names,
        "timestamp": pa.int64(),
        "class": names,
        "confidence": pa.float64(),
        "track": names,
        "pose": pa.list_(pa.float64()),
    }
    about = json.loads(schema.metadata[b"mapgauge"])
    assert about["version"] == 1
    assert about["classes"] == ["ped_crossing", "divider", "boundary"]
    rows = pq.read_table(tmp_path / "file.parquet").to_pylist()
    assert [row["frame"] for row in rows] == [0, 0, 1, 2]
    assert [row["pose"] is None for row in rows] == [False, True, False, False]
    assert rows[2] == {
        "frame": 1, "token": "t1", "scene": "s", "timestamp": 1, "class": None, "confidence": None, "track": None,
        "pose": np.arange(16.0, 32).tolist(), "geometry": None,
    }  # fmt: skip


def test_row_groups_end_where_frames_end(tmp_path: Path) -> None:
    counts = [2, 3, 0, 9, 1, 0, 1]
    frames = mg.MapFrames.of({f"t{i}": {"divider": [LINE] * n} for i, n in enumerate(counts)})
    (tmp_path / "file.parquet").write_bytes(parquet.write(frames, group_rows=5, frame_rows=1))
    footer = pq.read_metadata(tmp_path / "file.parquet")
    groups = [footer.row_group(i).column(0).statistics for i in range(footer.num_row_groups)]
    assert [(group.min, group.max) for group in groups] == [(0, 1), (2, 2), (3, 3), (4, 6)]
    assert_same(mg.read(tmp_path / "file.parquet"), frames)


def test_three_columns_are_enough(tmp_path: Path) -> None:
    frames = mg.read(save(tmp_path / "file"))
    assert (frames.tokens, frames.classes, frames.confidence) == (("t0", "t1"), ("divider", "boundary"), None)
    assert [instance.class_name for instance in frames["t0"]] == ["divider", "boundary"]
    assert [instance.points.tolist() for instance in frames["t0"]] == [LINE, LINE[:2]]
    assert frames["t1"][0].points.tolist() == LINE[1:]


HEIGHT: list[list[list[float]]] = [[[0.5, 1, 2], [3, 4, 5]], [[6, 7, 8], [9, 0, 1]], [[2, 3, 4], [5, 6, 7]]]


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.list_(pa.float64())),
        pa.list_(pa.list_(pa.float64(), 3)),
        pa.list_(pa.list_(pa.float32(), 3), 2),
        pa.large_list(pa.large_list(pa.float32())),
        pa.list_(pa.struct([("x", pa.float64()), ("y", pa.float32()), ("z", pa.float64())])),
        pa.list_(pa.struct([("z", pa.float64()), ("x", pa.float64()), ("y", pa.float64())])),
    ],
    ids=str,
)
def test_points_may_be_lists_or_structs(tmp_path: Path, kind: pa.DataType) -> None:
    named = pa.types.is_struct(kind.value_type)
    lines: Any = [[dict(zip("xyz", p, strict=True)) for p in line] for line in HEIGHT] if named else HEIGHT
    frames = mg.read(save(tmp_path / "file", geometry=pa.array(lines, kind)))
    assert frames.polylines.coords.reshape(3, 2, 3).tolist() == HEIGHT


def test_names_may_be_numbers_and_numbers_of_any_width(tmp_path: Path) -> None:
    path = save(
        tmp_path / "file",
        token=[315966, 315966, 7],
        scene=pa.array([1, 1, 2], pa.int8()),
        track=[5, None, 5],
        timestamp=pa.array([1, 1, 2], pa.uint16()),
        confidence=pa.array([1, 0.5, 0], pa.float32()),
    )
    frames = mg.read(path)
    assert (frames.tokens, frames.scenes) == (("315966", "7"), ("1", "2"))
    assert frames.track is not None
    assert frames.timestamps is not None
    assert frames.confidence is not None
    assert frames.track.tolist() == ["5", "", "5"]
    assert frames.timestamps.tolist() == [1, 2]
    assert frames.confidence.tolist() == [1, 0.5, 0]


def test_each_row_group_may_have_its_own_dictionary(tmp_path: Path) -> None:
    codes = [pa.array(part).dictionary_encode() for part in (["b", "a"], ["c", "b"], ["d"])]
    table = pa.table(
        {"token": pa.array(["t"] * 5), "class": pa.chunked_array(codes), "geometry": [LINE] * 5}  # two rows, two, one
    )
    pq.write_table(table, tmp_path / "file", row_group_size=2)
    assert [instance.class_name for instance in mg.read(tmp_path / "file")["t"]] == ["b", "a", "c", "b", "d"]


def test_a_row_without_class_and_geometry_is_an_empty_frame(tmp_path: Path) -> None:
    path = save(tmp_path / "file", **{"class": ["divider", "divider", None], "geometry": [LINE, LINE, None]})
    assert mg.read(path)["t1"] == []


def test_a_pose_may_stand_in_all_rows_of_a_frame(tmp_path: Path) -> None:
    frames = mg.read(save(tmp_path / "file", pose=[POSE, POSE, POSE[::-1]]))
    assert frames.poses is not None
    assert frames.poses.reshape(2, 16).tolist() == [POSE, POSE[::-1]]


@pytest.mark.parametrize("name", ["token", "class", "geometry"])
def test_a_missing_column_is_named(tmp_path: Path, name: str) -> None:
    refused(save(tmp_path / "file", **{name: None}), f"no column {name}; expected at least .*mg.write")


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("frame", [0.0, 0.0, 1.0], "column frame is double, expected whole numbers"),
        ("token", [0.5, 1.5, 2.5], "column token is double, expected text"),
        ("class", [0, 1, 0], "column class is int64, expected text, the name of the class"),
        ("confidence", ["1", "1", "1"], "column confidence is string, expected numbers"),
        ("timestamp", ["1", "1", "1"], "column timestamp is string, expected whole numbers"),
        ("pose", [1, 2, 3], "column pose is int64, expected lists of 16 numbers"),
        ("geometry", [b"", b"", b""], "column geometry is binary, expected lists of points.*WKB.*geoarrow"),
        ("geometry", [[0.0, 1.0]] * 3, "column geometry is list.*expected lists of points"),
        ("geometry", [[["a", "b"]]] * 3, "column geometry is list.*expected lists of points"),
        ("geometry", [[{"lon": 1.0, "lat": 2.0}]] * 3, "column geometry is list.*a struct of x, y"),
        ("geometry", [[[1.0, 2.0], [3.0]], LINE, LINE], "row 0: a point has 1 coordinates"),
        (
            "geometry",
            [LINE, LINE, HEIGHT[0]],
            "row 2: a point has 3 coordinates, expected 2 or 3, the same number in all",
        ),
        ("geometry", [[[1.0] * 4] * 2] * 3, "row 0: a point has 4 coordinates"),
        ("geometry", [LINE, [LINE[0], None], LINE], "row 1: a point has 0 coordinates"),
        ("token", ["t0", None, "t1"], "row 1: token is null"),
        ("token", ["t0", "t1", "t0"], "row 2: its token also occurs earlier.*Sort the rows"),
        ("class", ["divider", None, "divider"], "row 1: it has a geometry but no class"),
        ("frame", [0, 0, 2], "row 2: frame must start at 0 and increase by at most 1"),
        ("frame", [1, 1, 2], "row 0: frame must start at 0"),
        ("frame", [-1, 0, 1], "row 0: frame must start at 0"),
        ("frame", [0, 1, 0], "row 2: frame must start at 0"),
        ("frame", [0, None, 1], "row 1: frame is null"),
        ("frame", [0, 0, 0], "row 2: it has the same frame as the row before, but another token"),
        ("frame", pa.array([0, 0, 2**63], pa.uint64()), "column frame has a number beyond 64 bits"),
        ("scene", ["s", "u", "s"], "row 1: scene differs from the scene of the other rows of the frame"),
        ("scene", ["s", None, "s"], "row 1: scene is null"),
        ("timestamp", [1, 2, 3], "row 1: timestamp differs from the timestamp of the other rows of the frame"),
        ("pose", [POSE, None, None], "frame t1 has no pose, but other frames do"),
        ("pose", [POSE, POSE[::-1], POSE], "row 1: pose differs from the pose of the other rows of the frame"),
        ("pose", [POSE, None, POSE[1:]], "row 2: pose must be 16 numbers"),
    ],
)
def test_a_wrong_column_is_refused_with_the_row(tmp_path: Path, name: str, values: Any, message: str) -> None:
    refused(save(tmp_path / "file", **{name: values}), message)


def test_an_empty_row_beside_others_is_refused(tmp_path: Path) -> None:
    path = save(tmp_path / "file", **{"class": ["divider", None, "divider"], "geometry": [LINE, None, LINE]})
    refused(path, "row 1: it has neither class nor geometry, but its frame has other rows")


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    table = pa.table([["t"], ["t"], ["divider"], [[LINE]]], names=["token", "token", "class", "geometry"])
    pq.write_table(table, tmp_path / "file")
    refused(tmp_path / "file", "2 columns are called token, expected one")


POINT = pa.list_(pa.struct([("x", pa.float64()), ("y", pa.float64())]))


@pytest.mark.parametrize(
    ("name", "values", "what"),
    [
        ("geometry", [LINE, LINE[:1], LINE], "fewer than 2 points"),
        ("geometry", [LINE, [], LINE], "fewer than 2 points"),
        ("geometry", [LINE, None, LINE], "fewer than 2 points"),
        ("geometry", [LINE, [[0.0, float("nan")], [1.0, 1.0]], LINE], "a coordinate that is not a finite number"),
        ("geometry", [LINE, [[0.0, None], [1.0, 1.0]], LINE], "a coordinate that is not a finite number"),
        (
            "geometry",
            pa.array([[{"x": 1, "y": 1}] * 2, [{"x": 1, "y": 1}, None], [{"x": 1, "y": 1}] * 2], POINT),
            "a coordinate that is not a finite number",
        ),
        ("confidence", [1.0, None, 0.5], "a confidence that is not a finite number"),
        ("confidence", [1.0, float("inf"), 0.5], "a confidence that is not a finite number"),
    ],
)
def test_degenerate_instances_are_refused_or_dropped(tmp_path: Path, name: str, values: Any, what: str) -> None:
    path = save(tmp_path / "file", track=["a", "b", "c"], **{name: values})
    refused(path, rf"row 1 \(frame t0\) has {what}")
    frames = mg.read(path, degenerate="drop")
    assert frames.track is not None
    assert frames.track.tolist() == ["a", "c"]
    assert [finding.count for finding in frames.findings] == [1]
    assert what in frames.findings[0].message
    assert len(frames["t0"]) == len(frames["t1"]) == 1


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ('{"version": 2}', r"written by a newer mapgauge \(schema 2, this version reads up to 1\)"),
        ("{}", "the metadata 'mapgauge' are invalid: .*version"),
        ('{"version": 1, "dimension": 2, "classes": [3]}', "the metadata 'mapgauge' are invalid: .*classes"),
        ('{"version": 1, "dimension": 2, "classes": [], "classes": ["boundary", "divider"]}', r'\$: the key "classes"'),
        ('{"version": 1, "ve\\u0072sion": 1, "dimension": 2, "classes": []}', r'\$: the key "version" occurs twice'),
        ("nonsense", "the metadata 'mapgauge' are invalid"),
        (b"\xff\xfe", "the metadata 'mapgauge' are invalid"),
        ('{"version": 1, "dimension": 2, "classes": ["boundary"]}', "row 0: unknown class; the metadata list bound"),
    ],
)
def test_metadata_that_cannot_be_are_refused(tmp_path: Path, about: str | bytes, message: str) -> None:
    table = pq.read_table(save(tmp_path / "file")).replace_schema_metadata({"mapgauge": about})
    pq.write_table(table, tmp_path / "file")
    refused(tmp_path / "file", message)


def test_names_of_classes_need_no_table(tmp_path: Path) -> None:
    with pytest.raises(mg.InvalidInput, match=r"file: classes= is for formats with numeric ids.*\.rename"):
        mg.read(save(tmp_path / "file"), classes=["divider"])
    with pytest.raises(mg.InvalidInput, match=r"classes= is for formats with numeric ids"):
        mg.write(world(), tmp_path / "other.parquet", classes=["divider"])


def test_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(mg.InvalidInput, match=r"'\\ud800' cannot be written as UTF-8"):
        mg.write(mg.MapFrames.of({"\ud800": {}}), tmp_path / "file.parquet")


@pytest.mark.parametrize("call", [lambda path: mg.read(path), lambda path: mg.write(world(), path)])
def test_without_pyarrow_the_message_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Callable[[Path], object]
) -> None:
    path = save(tmp_path / "file.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    pyarrow_modules.cache_clear()
    with pytest.raises(mg.MissingDependency, match=r"pip install 'mapgauge\[parquet\]'"):
        call(path)


def test_a_file_that_ends_too_early_is_refused(tmp_path: Path) -> None:
    data = parquet.write(world())
    for end in range(4, len(data), 23):
        (tmp_path / "file").write_bytes(data[:end])
        refused(tmp_path / "file", "broken Parquet: ")


def test_a_flipped_bit_in_the_points_is_noticed(tmp_path: Path) -> None:
    data = parquet.write(world())
    (tmp_path / "file").write_bytes(data)
    footer = pq.read_metadata(tmp_path / "file").row_group(0)
    x = next(footer.column(i) for i in range(footer.num_columns) if footer.column(i).path_in_schema.endswith("x"))
    end = x.data_page_offset + x.total_compressed_size
    for place in range(end - 20, end):
        (tmp_path / "file").write_bytes(data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :])
        refused(tmp_path / "file", "could not verify page integrity")


def test_flipped_bytes_end_in_an_error_or_in_frames(tmp_path: Path, rng: np.random.Generator) -> None:
    sound = {"ours": parquet.write(world()), "theirs": save(tmp_path / "file", pose=[POSE] * 3).read_bytes()}
    outcomes: set[type] = set()
    for case in range(400):
        data = bytearray(sound["ours" if case % 2 else "theirs"])
        for place in rng.integers(0, len(data), rng.integers(1, 4)).tolist():
            data[place] = int(rng.integers(0, 256))
        (tmp_path / "file").write_bytes(data)
        try:
            outcomes.add(type(mg.read(tmp_path / "file", "parquet", degenerate="drop")))
        except mg.UnreadableFile as error:
            outcomes.add(type(error))
    assert outcomes == {mg.MapFrames, mg.UnreadableFile}


def declared(path: Path, crs: object, *, extension: bool = False) -> Path:
    """Save a file whose column geometry declares a reference system."""
    table = pq.read_table(save(path))
    if extension:
        about = {"ARROW:extension:name": "geoarrow.linestring", "ARROW:extension:metadata": json.dumps({"crs": crs})}
        table = table.set_column(2, table.schema.field("geometry").with_metadata(about), table["geometry"])
    else:
        geo = {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": {"crs": crs}}}
        table = table.replace_schema_metadata({"geo": json.dumps(geo)})
    pq.write_table(table, path)
    return path


def system(kind: str, unit: object, **members: object) -> dict[str, object]:
    """Return a reference system as PROJJSON."""
    axes = [{"name": name, "unit": unit} for name in ("first", "second")]
    return {"type": kind, "coordinate_system": {"axis": axes}} | members


GEOGRAPHIC = system("GeographicCRS", "degree", id={"authority": "OGC", "code": "CRS84"})
FOOT = {"type": "LinearUnit", "name": "US survey foot", "conversion_factor": 0.304800609601219}


@pytest.mark.parametrize("extension", [False, True])
@pytest.mark.parametrize(
    ("crs", "message"),
    [
        (GEOGRAPHIC, "is longitude and latitude, expected metres. Project"),
        (system("CompoundCRS", None, components=[GEOGRAPHIC, {}]), "is longitude and latitude"),
        ('GEOGCRS["WGS 84",ID["EPSG",4326]]', "is longitude and latitude"),
        ("OGC:CRS84", "is longitude and latitude"),
        (system("ProjectedCRS", FOOT, base_crs=GEOGRAPHIC), "has the unit US survey foot, expected metres. Project"),
    ],
)
def test_a_reference_system_without_metres_is_refused(
    tmp_path: Path, crs: object, message: str, extension: bool
) -> None:
    path = declared(tmp_path / "file.parquet", crs, extension=extension)
    refused(path, f"the reference system of the column geometry {message}")


@pytest.mark.parametrize(
    "crs", [None, system("ProjectedCRS", "metre", base_crs=GEOGRAPHIC), system("EngineeringCRS", "metre"), "EPSG:32632"]
)
@pytest.mark.parametrize("extension", [False, True])
def test_a_reference_system_in_metres_is_read(tmp_path: Path, crs: object, extension: bool) -> None:
    assert len(mg.read(declared(tmp_path / "file.parquet", crs, extension=extension))) == 2


def test_broken_geographic_metadata_are_refused(tmp_path: Path) -> None:
    path = declared(tmp_path / "file.parquet", None)
    pq.write_table(pq.read_table(path).replace_schema_metadata({"geo": "[1]"}), path)
    refused(path, "broken Parquet: the metadata 'geo' are invalid")
