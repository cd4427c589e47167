"""Truth from a map of one's own: formats, classes, projections, and the lines of each frame."""

import gzip
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyogrio
import pytest
import shapely
from tests.commands import run_script
from tests.shared_data import DATA, needs_data

import mapgauge as mg

ORIGIN = (49.0, 8.4)  # latitude, longitude
UTM = f"utm:{ORIGIN[0]}:{ORIGIN[1]}"
POSES = {"poses": [{"token": f"t{k}", "translation": [10.0 * k, 0, 0], "rotation": [1, 0, 0, 0]} for k in range(3)]}
ELEMENTS: list[tuple[str, str, Any]] = [
    ("d0", "divider", shapely.LineString([(-50, 2), (50, 2)])),
    ("b0", "boundary", shapely.box(-80, -8, 80, 8)),
    ("p0", "ped_crossing", shapely.Polygon([(28, -4), (33, -4), (33, 4), (28, 4)])),
    ("s0", "stop_line", shapely.LineString([(27, -4), (27, 0)])),
    ("n0", "divider", None),
]


@pytest.fixture
def poses(tmp_path: Path) -> Path:
    path = tmp_path / "poses.json"
    path.write_text(json.dumps(POSES), encoding="utf-8")
    return path


def geojson(path: Path, elements: Any = ELEMENTS, **more: Any) -> Path:
    features = [
        {"type": "Feature", "properties": {"class": kind, "id": name}, "geometry": shape and shape.__geo_interface__}
        for name, kind, shape in elements
    ]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features} | more), encoding="utf-8")
    return path


def test_the_whole_map_is_in_world_metres(tmp_path: Path, poses: Path) -> None:
    whole = mg.truth.own_map(geojson(tmp_path / "map.geojson"), poses, whole=True)
    assert (len(whole), whole.poses, whole.counts) == (1, None, {"ped_crossing": 1, "divider": 1, "boundary": 2})
    (divider,) = [each for each in whole[whole.tokens[0]] if each.class_name == "divider"]
    assert divider.points == pytest.approx(np.array([[-50, 2], [50, 2]]))


def degrees(shape: Any) -> Any:
    """Return a geometry in longitude and latitude: the inverse of UTM less its origin, by pyproj."""
    import pyproj

    turn = pyproj.Transformer.from_crs("EPSG:4326", "EPSG:32632", always_xy=True)
    east, north = turn.transform(ORIGIN[1], ORIGIN[0])

    def back(coords: Any) -> Any:
        return np.column_stack(turn.transform(coords[:, 0] + east, coords[:, 1] + north, direction="INVERSE"))

    return shape and shapely.transform(shape, back)


def check(frames: mg.MapFrames) -> None:
    assert frames.tokens == ("t0", "t1", "t2")
    assert frames.counts == {"ped_crossing": 3, "divider": 3, "boundary": 6}
    crossing, divider, *_ = frames["t0"]
    np.testing.assert_allclose(divider.points, [[-30, 2], [30, 2]], atol=1e-6)
    ring = shapely.Polygon(crossing.points)
    assert ring.exterior.is_ccw
    assert shapely.hausdorff_distance(ring, shapely.box(28, -4, 30, 4)) < 1e-6
    assert [finding.code for finding in frames.findings] == ["elements-left-out"]
    assert "1 stop_line, 1 divider without a geometry" in frames.findings[0].message


def test_geojson_in_metres_is_cut_at_every_pose(tmp_path: Path, poses: Path) -> None:
    frames = mg.truth.own_map(geojson(tmp_path / "map.geojson"), poses)
    check(frames)
    boundaries = [each.points for each in frames["t0"] if each.class_name == "boundary"]
    assert sorted(line[:, 0].max() for line in boundaries) == pytest.approx([29.8, 29.8])  # 0.2 m inside the edge


def test_longitude_and_latitude_need_a_projection(tmp_path: Path, poses: Path) -> None:
    path = geojson(tmp_path / "map.geojson", [(*each, degrees(shape)) for *each, shape in ELEMENTS])
    check(mg.truth.own_map(path, poses, project=UTM))
    with pytest.raises(
        mg.UnreadableFile,
        match=r'longitude and latitude.*project="utm:LAT:LON"',
    ):
        mg.truth.own_map(path, poses)
    with pytest.raises(mg.InvalidInput, match="lie off the map"):
        mg.truth.own_map(path, poses, project="EPSG:32632")


@pytest.mark.parametrize("name", ["map.gpkg", "map.shp", "map.fgb", "map.parquet"])
def test_a_declared_reference_system_is_used(tmp_path: Path, poses: Path, name: str) -> None:
    path, system = tmp_path / name, "EPSG:32632"
    kept = ELEMENTS if path.suffix != ".fgb" else ELEMENTS[:-1]
    shapes = np.array([shape and shapely.to_wkb(shape) for *_, shape in kept], object)
    kinds = np.array([kind for _, kind, _ in kept], object)
    if path.suffix == ".parquet":
        import pyproj

        about = {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": {"encoding": "WKB"}}}
        about["columns"]["geometry"]["crs"] = pyproj.CRS(system).to_json_dict()  # type: ignore[index]
        table = pa.table({"class": list(kinds), "geometry": pa.array(list(shapes), pa.binary())})
        pq.write_table(table.replace_schema_metadata({"geo": json.dumps(about)}), path)
    elif path.suffix == ".shp":  # holds one kind of geometry
        lines = [shape and shapely.to_wkb(shape.boundary if shape.area else shape) for *_, shape in kept]
        pyogrio.raw.write(path, np.array(lines, object), [kinds], ["class"], geometry_type="LineString", crs=system)
    else:
        pyogrio.raw.write(path, shapes, [kinds], ["class"], geometry_type="Unknown", crs=system)
    frames = mg.truth.own_map(path, poses)
    if path.suffix == ".fgb":
        assert frames.counts == {"ped_crossing": 3, "divider": 3, "boundary": 6}
    else:
        check(frames)
    with pytest.raises(mg.InvalidInput, match="lie off the map"):  # EPSG:32633 is another zone
        mg.truth.own_map(path, poses, project="EPSG:32633")


def test_poses_of_frames_with_y_forward_are_turned(tmp_path: Path, poses: Path) -> None:
    truth = mg.truth.own_map(geojson(tmp_path / "map.geojson"), poses)
    again = mg.truth.own_map(tmp_path / "map.geojson", truth.rotate(90))
    assert (truth.rotate(90).forward, again.forward) == ("y", "x")
    np.testing.assert_allclose(again.polylines.coords, truth.polylines.coords, atol=1e-12)


def test_a_table_with_wkt_is_a_map(tmp_path: Path, poses: Path) -> None:
    rows = [f"{name};{kind};{'' if shape is None else shape.wkt}" for name, kind, shape in ELEMENTS]
    (tmp_path / "map.csv").write_text("\n".join(["id;class;geom", *rows]), encoding="utf-8")
    check(mg.truth.own_map(tmp_path / "map.csv", poses))


def test_a_class_can_be_a_whole_number(tmp_path: Path, poses: Path) -> None:
    path = tmp_path / "map.gpkg"
    data = np.array([shapely.to_wkb(ELEMENTS[0][2])], object)
    pyogrio.raw.write(path, data, [np.array([3])], ["type"], geometry_type="LineString", crs="EPSG:32632")
    assert mg.truth.own_map(path, poses, rename={"3": "divider"}).counts["divider"] == 3


def test_elements_with_the_same_name_and_parts_of_one_have_tracks_of_their_own(tmp_path: Path, poses: Path) -> None:
    two = shapely.MultiLineString([[(-50, 2), (50, 2)], [(-50, 4), (50, 4)]])
    path = geojson(tmp_path / "map.geojson", [("a", "divider", two), ("a", "divider", ELEMENTS[0][2])])
    frames = mg.truth.own_map(path, poses)
    assert [each.track for each in frames["t0"]] == [each.track for each in frames["t2"]] == ["a.0", "a.1", "a.2"]


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ({"type": "LineString", "coordinates": [[float("nan"), 0], [1, 1]]}, "element n: a coordinate is not a number"),
        ({"type": "LineString", "coordinates": [[1e300, 0], [-1e300, 1]]}, "element n: a coordinate is not a number"),
        ({"type": "LineString", "coordinates": [[0, 0]]}, r"coordinates has 1 points, expected at least 2"),
        (
            {"type": "LineString", "coordinates": [[0, 0, 1], [9, 0]]},
            r"\$\.features\[0\]\.geometry\.coordinates\[1\] has 2 coordinates, the points before it have 3",
        ),
        ({"type": "Lines", "coordinates": []}, r"\$.features\[0\].geometry is 'Lines', expected Point, .* LineString"),
        ({"type": "ring", "coordinates": []}, "geometry is 'ring', expected Point"),
        ("LINESTRING (0 0, 1 1)", "geometry is 'LINESTRING .*', expected a dictionary with 'type'"),
        ({"type": "Point", "coordinates": [1, 200]}, "found: ped_crossing without an area"),
        ({"type": "LineString", "coordinates": [[0, 0], [9, 9]]}, "found: ped_crossing without an area"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_a_bad_geometry_is_refused_by_name(tmp_path: Path, poses: Path, shape: Any, message: str) -> None:
    feature = {"type": "Feature", "properties": {"class": "ped_crossing", "id": "n"}, "geometry": shape}
    (tmp_path / "map.geojson").write_text(
        json.dumps({"type": "FeatureCollection", "features": [feature]}), encoding="utf-8"
    )
    with pytest.raises(mg.UnreadableFile, match=message):
        mg.truth.own_map(tmp_path / "map.geojson", poses)


@pytest.mark.parametrize("name", ["hello", "EPSG:99999999"])
def test_an_unknown_reference_system_is_taken_as_metres_but_not_projected(
    tmp_path: Path, poses: Path, name: str
) -> None:
    path = geojson(tmp_path / "map.geojson", crs={"type": "name", "properties": {"name": name}})
    *others, unknown = mg.truth.own_map(path, poses).findings
    assert [finding.code for finding in others] == ["elements-left-out"]
    assert (unknown.level, unknown.code) == ("note", "crs-unknown")
    assert f"the reference system '{name}' is not known" in unknown.message
    with pytest.raises(mg.InvalidInput, match="cannot be projected from"):
        mg.truth.own_map(path, poses, project=UTM)


def exchanged(shape: Any) -> Any:
    return shape and shapely.transform(degrees(shape), lambda coords: coords[:, ::-1])


@pytest.mark.parametrize("project", [UTM, "EPSG:32632"])
def test_exchanged_longitude_and_latitude_are_named(tmp_path: Path, poses: Path, project: str) -> None:
    path = geojson(tmp_path / "map.geojson", [(name, kind, exchanged(shape)) for name, kind, shape in ELEMENTS])
    with pytest.raises(mg.UnreadableFile, match=r"latitude 8\.4.*are exchanged"):
        mg.truth.own_map(path, poses, project=project)


def test_an_origin_with_longitude_first_is_named(tmp_path: Path, poses: Path) -> None:
    path = geojson(tmp_path / "map.geojson", [(name, kind, degrees(shape)) for name, kind, shape in ELEMENTS])
    with pytest.raises(mg.UnreadableFile, match=r"exchanged\. .*project=KIND:LAT:LON has latitude first"):
        mg.truth.own_map(path, poses, project=f"utm:{ORIGIN[1]}:{ORIGIN[0]}")


def test_latitudes_beyond_the_pole_are_named_as_exchanged(tmp_path: Path, poses: Path) -> None:
    line = shapely.LineString([(49.0, -100.0), (49.001, -100.0)])
    path = geojson(tmp_path / "map.geojson", [("d", "divider", line)])
    with pytest.raises(mg.UnreadableFile, match="not longitude and latitude.*A file has longitude first"):
        mg.truth.own_map(path, poses, project="utm:49:-100")


def test_a_projection_is_named_with_what_another_would_move(tmp_path: Path) -> None:
    path = geojson(tmp_path / "map.geojson", [(name, kind, degrees(shape)) for name, kind, shape in ELEMENTS])
    far = tmp_path / "far.json"
    far.write_text(json.dumps({"a": [0, 0, 0], "b": [60, 0, 0]}), encoding="utf-8")
    found = {finding.code: finding for finding in mg.truth.own_map(path, far, project=UTM).findings}
    # The meridian of the origin is 0.6 degrees from that of the zone, so that north turns by 0.6 sin(49) degrees.
    turned = 60 * np.radians(0.6 * np.sin(np.radians(49.0)))
    assert found["projection-used"].level == "note"
    assert f"projected by {UTM}" in found["projection-used"].message
    assert f"{turned:.1f} m (local)" in found["projection-used"].message
    metres = geojson(tmp_path / "metres.geojson")
    assert "projection-used" not in {finding.code for finding in mg.truth.own_map(metres, far).findings}


def test_a_geopackage_may_have_a_layer_for_each_class(tmp_path: Path, poses: Path) -> None:
    path = tmp_path / "map.gpkg"
    for k, (_, kind, shape) in enumerate(ELEMENTS[:3]):
        data = np.array([shapely.to_wkb(shape)], object)
        pyogrio.raw.write(path, data, [], [], layer=kind, geometry_type="Unknown", crs="EPSG:32632", append=k > 0)
    assert mg.truth.own_map(path, poses).counts == {"ped_crossing": 3, "divider": 3, "boundary": 6}


def test_a_unit_other_than_metres_is_refused(tmp_path: Path, poses: Path) -> None:
    crs = {"type": "name", "properties": {"name": "EPSG:2263"}}  # New York, in feet
    with pytest.raises(mg.UnreadableFile, match="has the unit US survey foot, expected metres"):
        mg.truth.own_map(geojson(tmp_path / "map.geojson", crs=crs), poses)


def test_classes_can_have_other_names(tmp_path: Path, poses: Path) -> None:
    text = (
        geojson(tmp_path / "map.geojson")
        .read_text(encoding="utf-8")
        .replace('"class"', '"art"')
        .replace('"divider"', '"Linie"')
    )
    path = tmp_path / "other.geojson"
    path.write_text(text, encoding="utf-8")
    named: Any = {"properties": {"class": "art"}, "rename": {"Linie": "divider", "stop_line": "boundary"}}
    assert mg.truth.own_map(path, poses, **named).counts["boundary"] == 9
    with pytest.raises(mg.UnreadableFile, match="no element has the property 'class'"):
        mg.truth.own_map(path, poses)
    with pytest.raises(mg.UnreadableFile, match="no element has the property 'kind'"):
        mg.truth.own_map(path, poses, properties={"class": "kind"})
    with pytest.raises(mg.InvalidInput, match="unknown class 'kerb'"):
        mg.truth.own_map(path, poses, rename={"Linie": "kerb"})


def test_usual_names_are_known(tmp_path: Path, poses: Path) -> None:
    text = (
        geojson(tmp_path / "map.geojson")
        .read_text(encoding="utf-8")
        .replace('"class": "ped_crossing"', '"class": "crosswalk"')
    )
    (tmp_path / "map.geojson").write_text(text, encoding="utf-8")
    assert mg.truth.own_map(tmp_path / "map.geojson", poses).counts["ped_crossing"] == 3


@pytest.mark.parametrize("called", ["Class", "CLASS", "class_name", "kind", "label"])
def test_capitals_blanks_and_signs_in_names_do_not_matter(tmp_path: Path, poses: Path, called: str) -> None:
    text = (
        geojson(tmp_path / "map.geojson")
        .read_text(encoding="utf-8")
        .replace('"class": "ped_crossing"', '"class": "Ped-Crossing"')
    )
    (tmp_path / "map.geojson").write_text(
        text.replace('"divider"', '"LANE MARKING"').replace('"class"', f'"{called}"'), encoding="utf-8"
    )
    frames = mg.truth.own_map(tmp_path / "map.geojson", poses)
    assert frames.counts == {"ped_crossing": 3, "divider": 3, "boundary": 6}


def test_a_class_can_be_a_number(tmp_path: Path, poses: Path) -> None:
    text = (
        geojson(tmp_path / "map.geojson")
        .read_text(encoding="utf-8")
        .replace('"divider"', "1")
        .replace('"boundary"', "2.0")
    )
    (tmp_path / "map.geojson").write_text(text, encoding="utf-8")
    frames = mg.truth.own_map(tmp_path / "map.geojson", poses, rename={"1": "divider", "2": "boundary"})
    assert frames.counts == {"ped_crossing": 3, "divider": 3, "boundary": 6}


def osm(path: Path, *, local: bool = False, ways: str = "") -> Path:
    nodes = {1: (-50, 2), 2: (0, 2), 3: (50, 2), 4: (28, -4), 5: (28, 4), 6: (33, 4), 7: (33, -4)}
    text = ["<?xml version='1.0'?><osm version='0.6'>"]
    for name, place in nodes.items():
        x, y = degrees(shapely.Point(place)).coords[0]
        tags = f"<tag k='local_x' v='{place[0]}'/><tag k='local_y' v='{place[1]}'/>" if local else ""
        text.append(f"<node id='{name}' lat='{y:.12f}' lon='{x:.12f}'>{tags}</node>")
    for name, refs, kind in (
        (11, (1, 2), "line_thin"),
        (12, (3, 2), "line_thick"),  # turned round; the two are one line
        (13, (4, 5), "pedestrian_marking"),
        (14, (6, 7), "pedestrian_marking"),  # runs against the left bound
        (15, (1, 4), "virtual"),
    ):
        given = "".join(f"<nd ref='{ref}'/>" for ref in refs)
        text.append(f"<way id='{name}'>{given}<tag k='type' v='{kind}'/></way>")
    lanelet = "<tag k='type' v='lanelet'/><tag k='subtype' v='crosswalk'/>"
    members = "<member type='way' ref='13' role='left'/><member type='way' ref='14' role='right'/>"
    text.append(f"{ways}<relation id='20'>{members}{lanelet}</relation></osm>")
    path.write_text("".join(text), encoding="utf-8")
    return path


@pytest.mark.parametrize("local", [False, True])
def test_lanelet2_has_lines_of_several_ways_and_crosswalks_of_two_bounds(
    tmp_path: Path, poses: Path, local: bool
) -> None:
    frames = mg.truth.own_map(osm(tmp_path / "map.osm", local=local), poses, project=None if local else UTM)
    assert frames.counts == {"ped_crossing": 3, "divider": 3, "boundary": 0}
    crossing, divider = frames["t0"]
    np.testing.assert_allclose(divider.points, [[-30, 2], [0, 2], [30, 2]], atol=1e-6)
    assert shapely.hausdorff_distance(shapely.Polygon(crossing.points), shapely.box(28, -4, 30, 4)) < 1e-6
    assert "2 pedestrian_marking, 1 virtual" in frames.findings[0].message


def test_lanelet2_may_have_empty_degrees_capitals_and_deleted_elements(tmp_path: Path, poses: Path) -> None:
    way = "<way id='30' visible='false'><nd ref='99'/><nd ref='1'/><tag k='type' v='line_thin'/></way>"
    text = osm(tmp_path / "map.osm", local=True, ways=way).read_text(encoding="utf-8")
    text = re.sub(r"lat='[^']*' lon='[^']*'", "lat='' lon=''", text)
    for name in ("lanelet", "crosswalk", "line_thin", "line_thick"):
        text = text.replace(f"v='{name}'", f"v='{name.upper()}'")
    (tmp_path / "map.osm").write_text(text, encoding="utf-8")
    assert mg.truth.own_map(tmp_path / "map.osm", poses).counts == {"ped_crossing": 3, "divider": 3, "boundary": 0}


def test_entities_of_xml_do_not_grow_and_read_no_files(tmp_path: Path, poses: Path) -> None:
    entities = "".join(f'<!ENTITY a{k} "{f"&a{k - 1};" * 10 if k else "lol"}">' for k in range(10))
    for inner, given in ((entities, "&a9;"), ('<!ENTITY a SYSTEM "file:///etc/hostname">', "&a;")):
        text = f"<!DOCTYPE x [{inner}]><osm><way id='1'><tag k='type' v='a'/></way>{given}</osm>"
        (tmp_path / "map.osm").write_text(text, encoding="utf-8")
        with pytest.raises(mg.UnreadableFile, match="not a Lanelet2 map"):
            mg.truth.own_map(tmp_path / "map.osm", poses, project=UTM)


def test_an_area_of_lanelet2_has_holes(tmp_path: Path, poses: Path) -> None:
    corners = [(-5, -5), (5, -5), (5, 5), (-5, 5), (-1, -1), (1, -1), (1, 1)]
    tags = "<tag k='local_x' v='{}'/><tag k='local_y' v='{}'/>"
    nodes = "".join(f"<node id='{k}' lat='0' lon='0'>{tags.format(*place)}</node>" for k, place in enumerate(corners))
    rings = ((10, (0, 1, 2)), (11, (0, 3, 2)), (12, (4, 5, 6, 4)))
    ways = "".join(
        f"<way id='{name}'>{''.join(f'<nd ref={ref!r}/>' for ref in map(str, r))}</way>" for name, r in rings
    )
    members = "".join(f"<member ref='{k}' role='{'inner' if k == 12 else 'outer'}'/>" for k in (10, 11, 12))
    kind = "<tag k='type' v='multipolygon'/><tag k='subtype' v='crosswalk'/>"
    (tmp_path / "map.osm").write_text(
        f"<osm>{nodes}{ways}<relation id='20'>{members}{kind}</relation></osm>", encoding="utf-8"
    )
    frames = mg.truth.own_map(tmp_path / "map.osm", poses, rename={"crosswalk": "boundary"})
    lengths = [shapely.LineString(each.points).length for each in frames["t0"]]
    assert sorted(lengths) == pytest.approx([4 + 8**0.5, 40])


def test_lanelet2_without_a_projection_is_refused(tmp_path: Path, poses: Path) -> None:
    with pytest.raises(mg.UnreadableFile, match="the reference system is longitude and latitude"):
        mg.truth.own_map(osm(tmp_path / "map.osm"), poses)
    broken = "<way id='16'><nd ref='1'/><nd ref='99'/><tag k='type' v='curbstone'/></way>"
    with pytest.raises(mg.UnreadableFile, match="the node 99"):
        mg.truth.own_map(osm(tmp_path / "map.osm", ways=broken), poses, project=UTM)
    (tmp_path / "map.osm").write_text("<osm><node id='1'", encoding="utf-8")
    with pytest.raises(mg.UnreadableFile, match="not a Lanelet2 map"):
        mg.truth.own_map(tmp_path / "map.osm", poses, project=UTM)


def test_projections_have_their_origin_at_zero_but_lanelet2s_mercator() -> None:
    street = mg.MapFrames.of({"map": {"divider": [[[8.4, 49.0], [8.41, 49.0]]]}})
    for kind in ("utm", "local", "tmerc"):
        origin, east = street.project(f"{kind}:49.0:8.4").polylines[0]
        np.testing.assert_allclose(origin, [0, 0], atol=1e-6)
        assert east[0] == pytest.approx(731.6, abs=0.5)
    assert street.project("mercator:49.0:8.4").polylines[0][0, 0] == pytest.approx(613_470, abs=1)
    for text in ("utm:49", "utm:99:8", "nonsense", "EPSG:4326", None):
        with pytest.raises(mg.InvalidInput, match="project="):
            street.project(text)  # type: ignore[arg-type]


def test_the_command_writes_truth(
    tmp_path: Path, poses: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: str) -> Any:
        monkeypatch.setattr(sys, "argv", ["mapgauge", "truth", "map", *arguments])
        with pytest.raises(SystemExit) as ended:
            run_script()
        return ended.value.code

    path, target = geojson(tmp_path / "map.geojson"), tmp_path / "truth.parquet"
    assert not run(f"{path},rename=stop_line:divider", "--poses", str(poses), "--region", "100x50", "-o", str(target))
    assert mg.read(target).counts == {"ped_crossing": 3, "divider": 6, "boundary": 6}
    assert run(str(path), "-o", str(target)) == 2
    assert run(f"{path},certain", "--poses", str(poses), "-o", str(target)) == 2
    assert "a map has no option 'certain'" in capsys.readouterr().err


@needs_data("own_map")
@pytest.mark.parametrize("size", ["60x30", "100x50"])
@pytest.mark.parametrize("rules", ["plain", "simplified"])
@pytest.mark.parametrize(
    "name", ["map_metres.geojson", "map_wgs84.geojson", "lanelet2_map.osm", "lanelet2_map_autoware.osm.gz"]
)
def test_all_forms_of_the_reference_map_give_the_expected_lines(name: str, rules: str, size: str) -> None:
    folder = DATA / "own_map"
    origin = json.loads((folder / "map_info.json").read_text(encoding="utf-8"))["origin"]
    project = f"utm:{origin['lat']}:{origin['lon']}" if name in ("map_wgs84.geojson", "lanelet2_map.osm") else None
    region: Any = tuple(map(float, size.split("x")))
    frames = mg.truth.own_map(folder / name, folder / "poses.json", region=region, rules=rules, project=project)
    suffix = "_simplified" if rules == "simplified" else ""
    expected = json.loads(gzip.decompress((folder / f"expected_{size}{suffix}.json.gz").read_bytes()))
    assert set(frames.tokens) == set(expected)
    for token, by_class in expected.items():
        for class_name, parts in by_class.items():
            lines = [each.points for each in frames[token] if each.class_name == class_name]
            wanted = [np.array(part["points"]) for part in parts]
            assert len(lines) == len(wanted)
            for line in wanted:
                assert min(np.abs(own - line).max() for own in lines if len(own) == len(line)) < 2e-4
