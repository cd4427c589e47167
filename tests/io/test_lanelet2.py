"""Lanelet2 as a format: the same elements as those from which truth is cut, with safe XML."""

from pathlib import Path

import pytest

import mapgauge as mg

NODES = "".join(f'<node id="{k}" lat="{49 + k * 1e-5}" lon="8.4"/>' for k in range(1, 6))
LOCAL = "".join(
    f'<node id="{k}" lat="" lon=""><tag k="local_x" v="{10 * k}"/><tag k="local_y" v="1"/></node>' for k in range(1, 6)
)


def way(name: int, nodes: list[int], kind: str) -> str:
    refs = "".join(f'<nd ref="{node}"/>' for node in nodes)
    return f'<way id="{name}">{refs}<tag k="type" v="{kind}"/></way>'


def osm(path: Path, nodes: str, *elements: str) -> Path:
    text = f'<?xml version="1.0"?>\n<osm version="0.6">{nodes}{"".join(elements)}</osm>'
    path.write_text(text, encoding="utf-8")
    return path


def test_ways_are_lines_and_others_are_counted(tmp_path: Path) -> None:
    ways = (way(11, [1, 2], "line_thin"), way(12, [2, 3], "line_thick"), way(13, [4, 5], "curbstone"))
    path = osm(tmp_path / "map.osm", LOCAL, *ways, way(14, [1, 5], "stop_line"))
    frames = mg.read(path)
    assert (frames.format, frames.tokens, frames.counts) == ("lanelet2", ("map",), {"divider": 1, "boundary": 1})
    assert frames["map"][0].points.tolist() == [[10, 1], [20, 1], [30, 1]]  # two ways are one line
    assert [finding.message.partition(": ")[2] for finding in frames.findings] == ["1 element is left out: 1 stop_line"]


def test_longitude_and_latitude_need_a_projection(tmp_path: Path) -> None:
    pytest.importorskip("pyproj")
    path = osm(tmp_path / "map.osm", NODES, way(11, [1, 2], "line_thin"))
    with pytest.raises(mg.UnreadableFile, match=r"longitude and latitude, expected metres.*project=\"auto\""):
        mg.read(path)
    points = mg.read(path, project="local:49:8.4")["map"][0].points
    assert points[0] == pytest.approx([0, 1.112], abs=0.001)


@pytest.mark.needs_feature("network")
def test_maps_are_evaluated_and_converted(tmp_path: Path) -> None:
    path = osm(tmp_path / "map.osm", LOCAL, way(11, [1, 2], "line_thin"), way(13, [4, 5], "curbstone"))
    mg.write(mg.read(path), tmp_path / "map.geojson")
    assert mg.evaluate(path, tmp_path / "map.geojson", "map").mean["pld"] == 0


@pytest.mark.parametrize("tag", ["node", "way", "relation"])
def test_an_id_stands_for_one_element(tag: str, tmp_path: Path) -> None:
    again = {"node": LOCAL[: LOCAL.index("</node>") + 7], "way": way(11, [4, 5], "line_thin")}
    relation = '<relation id="21"><tag k="type" v="x"/></relation>'
    elements = [way(11, [1, 2], "line_thin"), relation, again.get(tag, relation)]
    with pytest.raises(mg.UnreadableFile, match=rf"two elements are the {tag} \d+, expected one of each id"):
        mg.read(osm(tmp_path / "map.osm", LOCAL, *elements))


def test_an_element_needs_an_id(tmp_path: Path) -> None:
    with pytest.raises(mg.UnreadableFile, match="a way has no id"):
        mg.read(osm(tmp_path / "map.osm", LOCAL, way(11, [1, 2], "line_thin").replace('id="11"', "")))


def test_a_map_without_a_known_type_is_refused(tmp_path: Path) -> None:
    with pytest.raises(mg.UnreadableFile, match=r"no element .*found: stop_line"):
        mg.read(osm(tmp_path / "map.osm", LOCAL, way(11, [1, 2], "stop_line")))


def test_entities_are_not_resolved(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("line_thin", encoding="utf-8")
    for entity in (f'<!ENTITY s SYSTEM "{secret.as_uri()}">', '<!ENTITY % p SYSTEM "http://127.0.0.1:9/x"> %p;'):
        text = f'<?xml version="1.0"?><!DOCTYPE osm [{entity}]><osm>{LOCAL}{way(11, [1, 2], "&s;")}</osm>'
        (tmp_path / "map.osm").write_text(text.replace('v="&s;"', 'v="x">&s;</tag><tag k="a" v="b"'), encoding="utf-8")
        with pytest.raises(mg.UnreadableFile, match="not a Lanelet2 map|found: x"):
            mg.read(tmp_path / "map.osm")


def test_bombs_of_entities_are_refused(tmp_path: Path) -> None:
    entities = '<!ENTITY a0 "aaaaaaaaaa">'
    entities += "".join(f'<!ENTITY a{k} "{f"&a{k - 1};" * 10}">' for k in range(1, 12))
    text = f'<?xml version="1.0"?><!DOCTYPE osm [{entities}]><osm>{LOCAL}<way id="1">&a11;</way></osm>'
    (tmp_path / "map.osm").write_text(text, encoding="utf-8")
    with pytest.raises(mg.UnreadableFile, match="not a Lanelet2 map"):
        mg.read(tmp_path / "map.osm")


def test_deeply_nested_xml_is_refused(tmp_path: Path) -> None:
    (tmp_path / "map.osm").write_text("<osm>" + "<a>" * 500_000, encoding="utf-8")
    with pytest.raises(mg.UnreadableFile, match="not a Lanelet2 map"):
        mg.read(tmp_path / "map.osm")
