"""Centrelines and lane graphs of made-up maps in both schemas, every lane and link checked by hand; and of real logs.

::

    y 30                        |2|           two lanes to the east (1, 5), one of them beside a lane to the west (9).
                               /              After x = 20, lane 1 splits: 2 turns left, 3 goes on, 4 follows 3.
    0   --1-->------------3-->----4-->        Lane 8 leaves the region of 60 m x 30 m and comes back.
   -4   --5-->------------6-->----
       -30         20         30     60
"""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.arrays import Points
from tests.commands import run_script
from tests.shared_data import DATA, needs_data
from tests.truth.av2_city import LOG, ORIGIN, At, Line, Town
from tests.truth.nuscenes_city import MINI, City

import mapgauge as mg
from mapgauge.truth.from_argoverse2 import vector_map as argoverse2
from mapgauge.truth.from_nuscenes import lane_graph as nuscenes
from mapgauge.truth.lane_graphs import Lane, LaneGraph, cut_graph

LinkNames = set[tuple[str, str, str]]

# The links of the map above, and those that the region of 60 m x 30 m around (0, 0) shows.
SUCCESSORS = {("1", "2"), ("1", "3"), ("3", "4"), ("5", "6")}
ALL: LinkNames = {
    *((a, b, "successor") for a, b in SUCCESSORS),
    ("5", "1", "left"),
    ("1", "5", "right"),
    ("1", "9", "left"),
    ("9", "1", "left"),
}
SHOWN = ALL - {("3", "4", "successor")}  # lane 4 begins at the edge of the region and has no length in it


def names(graph: LaneGraph) -> LinkNames:
    return {(graph.ids[a], graph.ids[b], kind) for a, b, _, kind in graph.links}


def tracks(frames: mg.MapFrames, token: str) -> LinkNames:
    assert frames.links is not None
    assert frames.track is not None
    frame = frames.index[token]
    name = frames.track
    return {(name[a], name[b], kind) for a, b, _, kind in frames.links if frames.frame[a] == frame}


def centerlines(frames: mg.MapFrames, token: str) -> dict[str, Points]:
    return {one.track or "": one.points for one in frames[token] if one.class_name == "centerline"}


def quarter(radius: float) -> Line:
    """A left turn from (20, y) to the north, about (20, 10)."""
    angles = np.radians(np.linspace(-90, 0, 91))
    return [(20 + radius * math.cos(a), 10 + radius * math.sin(a)) for a in angles]


def streets() -> Town:
    """The map above in the schema of Argoverse 2: lanes are 4 m wide."""
    made = Town()
    made.area(11, [(-40, -6), (70, -6), (70, 6), (-40, 6)])

    def straight(number: int, start: float, stop: float, y: float, **more: Any) -> None:
        made.lane(number, [(start, y + 2), (stop, y + 2)], [(start, y - 2), (stop, y - 2)], **more)

    straight(1, -30, 20, 0, neighbours=(9, 5))
    made.lane(2, quarter(8), quarter(12), intersection=True)
    straight(3, 20, 30, 0, intersection=True)
    straight(4, 30, 60, 0)
    straight(5, -30, 20, -4, neighbours=(1, None))
    straight(6, 20, 45, -4)
    made.lane(9, [(20, 2), (-30, 2)], [(20, 6), (-30, 6)], neighbours=(1, None))
    around = [(-20, -8), (-20, -20), (-10, -20), (-10, -8)]
    made.lane(8, [(x + 1, y) for x, y in around], [(x - 1, y) for x, y in around])
    lanes = made.map["lane_segments"]
    lanes["1"]["successors"] = [2, 3, 777]  # 777 is outside the map
    lanes["3"]["predecessors"] = [1]
    lanes["4"]["predecessors"] = [3]  # stated on one side only
    lanes["5"]["successors"] = [6]
    lanes["9"]["lane_type"] = "BIKE"
    return made


@pytest.fixture(scope="module")
def av2_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("lanes-av2")
    streets().write(root / "val", [At(0, 0), At(0, 0, yaw=90)])
    return root


def test_argoverse_2_gives_every_lane_and_link(av2_root: Path) -> None:
    graph = argoverse2.read_lane_graph(av2_root / "val" / LOG)
    assert graph.ids == ("1", "2", "3", "4", "5", "6", "9", "8")
    assert names(graph) == ALL
    assert set(graph.links.weight.tolist()) == {1.0}
    assert [graph.ids[i] for i in np.flatnonzero(graph.intersection)] == ["2", "3"]
    assert dict(zip(graph.ids, graph.lane_type, strict=True))["9"] == "BIKE"
    lines = {name: line - ORIGIN for name, line in zip(graph.ids, graph.lines, strict=True)}
    assert lines["1"][[0, -1]] == pytest.approx(np.array([(-30, 0, 0), (20, 0, 0)]))
    assert lines["9"][[0, -1]] == pytest.approx(np.array([(20, 4, 0), (-30, 4, 0)]))
    assert np.hypot(lines["2"][:, 0] - 20, lines["2"][:, 1] - 10) == pytest.approx(10, abs=1e-3)
    assert len(lines["1"]) == 101  # every half metre


def test_a_centreline_of_the_map_is_kept(tmp_path: Path) -> None:
    town = streets()
    town.map["lane_segments"]["1"]["centerline"] = [{"x": x, "y": 0.5, "z": 1.0} for x in (1.0, 1.0, 5.0)]
    graph = argoverse2.read_lane_graph(town.write(tmp_path, [At(0, 0)]))
    assert graph.lines[0].tolist() == [[1, 0.5, 1], [5, 0.5, 1]]


def test_lanes_without_length_are_left_out_and_counted(tmp_path: Path) -> None:
    town = streets()
    town.lane(50, [(0, 0)], [(1, 1)])
    town.lane(51, [], [(1, 1), (2, 2)])
    graph = argoverse2.read_lane_graph(town.write(tmp_path, [At(0, 0)]))
    assert [(finding.code, finding.count) for finding in graph.findings] == [("lanes-left-out", 2)]
    assert len(graph) == 8


def lane(
    city: City, token: str, paths: list[tuple[Any, ...]], outgoing: list[str], incoming: list[str], of: str
) -> None:
    """Add a lane or a connector: paths are start, shape, radius, lengths and end."""
    for layer, kind in (("lane_connector", list), ("arcline_path_3", dict), ("connectivity", dict)):
        city.map.setdefault(layer, kind())
    keys = ("start_pose", "shape", "radius", "segment_length", "end_pose")
    city.map["arcline_path_3"][token] = [dict(zip(keys, path, strict=True)) for path in paths]
    city.map["connectivity"][token] = {"incoming": incoming, "outgoing": outgoing}
    if of == "lane":
        city.polygon("lane", [(-30, -2), (20, -2), (20, 2), (-30, 2)], token)
        city.map["lane"][-1]["lane_type"] = "CAR"
    else:
        city.map["lane_connector"].append({"token": token, "polygon_token": "no polygon is needed"})


def city() -> City:
    """The map above in the schema of nuScenes, which has no neighbours."""
    made = City()
    bend = 10 * math.pi / 2

    def straight(start: float, stop: float, y: float) -> tuple[Any, ...]:
        length = [1.0, stop - start - 1, 0.0]
        return (start, y, 0.0), "SSS", 999.999, length, (stop, y, 0.0)

    lane(made, "1", [straight(-30, 0, 0), straight(0, 20, 0)], ["2", "3", "outside"], [], "lane")
    turn = ((20.0, 0.0, 0.0), "LSR", 10.0, [bend, 0.0, 0.0], (30.0, 10.0, math.pi / 2))
    lane(made, "2", [turn], [], ["1"], "connector")
    lane(made, "3", [straight(20, 30, 0)], [], [], "connector")
    lane(made, "4", [straight(30, 60, 0)], [], ["3"], "lane")
    lane(made, "5", [straight(-30, 20, -4)], ["6"], [], "lane")
    lane(made, "6", [straight(20, 45, -4)], [], [], "lane")
    back = ((20.0, 4.0, math.pi), "SSS", 5.0, [50.0, 0.0, 0.0], (-30.0, 4.0, math.pi))
    lane(made, "9", [back], [], [], "lane")
    return made


def written(made: City, root: Path) -> Path:
    made.scene("scene-0103", [(0.0, 0.0, 0.0), (0.0, 0.0, 90.0)])
    return made.write(root)


@pytest.fixture(scope="module")
def nuscenes_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(city(), tmp_path_factory.mktemp("lanes-nuscenes"))


def test_nuscenes_gives_every_lane_and_link(nuscenes_root: Path) -> None:
    graph = nuscenes.read_lane_graph(nuscenes_root, "singapore-onenorth")
    assert graph.ids == ("1", "4", "5", "6", "9", "2", "3")
    assert names(graph) == {(a, b, "successor") for a, b in SUCCESSORS}
    assert [graph.ids[i] for i in np.flatnonzero(graph.intersection)] == ["2", "3"]
    assert graph.lane_type == ("CAR",) * 5 + ("",) * 2
    assert graph.findings == ()
    lines = dict(zip(graph.ids, graph.lines, strict=True))
    assert lines["1"] == pytest.approx(np.column_stack([np.linspace(-30, 20, 101), np.zeros(101)]))
    assert np.hypot(lines["2"][:, 0] - 20, lines["2"][:, 1] - 10) == pytest.approx(10)
    assert lines["2"][-1] == pytest.approx((30, 10))
    assert lines["9"][[0, -1]] == pytest.approx(np.array([(20, 4), (-30, 4)]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda made: made.map.pop("arcline_path_3"), "layer arcline_path_3 not found.* Download version 1.3"),
        (lambda made: made.map.pop("connectivity"), "layer connectivity not found"),
        (
            lambda made: made.map["arcline_path_3"]["2"][0].update(radius=0),
            "arcline_path_3 2, path 0: expected a positive",
        ),
        (lambda made: made.map["arcline_path_3"]["2"][0].update(shape="LXR"), "path 0: expected a shape"),
        (lambda made: made.map["arcline_path_3"]["2"][0].pop("radius"), "not a map expansion of nuScenes: .*radius"),
    ],
)
def test_damaged_maps_of_nuscenes_are_refused(tmp_path: Path, change: Callable[[City], object], message: str) -> None:
    made = city()
    change(made)
    root = written(made, tmp_path)
    with pytest.raises(mg.UnreadableFile, match=message) as error:
        mg.truth.nuscenes(root, version=MINI, scenes=["scene-0103"], centerlines=True)
    assert str(error.value).startswith(str(root / "maps" / "expansion"))
    assert len(mg.truth.nuscenes(root, version=MINI, scenes=["scene-0103"])) == 2  # which does not read lanes


def test_paths_that_end_elsewhere_and_lanes_without_path_are_counted(tmp_path: Path) -> None:
    made = city()
    made.map["arcline_path_3"]["2"][0]["end_pose"] = (31.0, 10.0, 0.0)
    del made.map["arcline_path_3"]["9"]
    root = written(made, tmp_path)
    frames = mg.truth.nuscenes(root, version=MINI, scenes=["scene-0103"], centerlines=True)
    found = {finding.code: (finding.count, finding.examples) for finding in frames.findings}
    assert found["lane-path-ends"] == (1, ("2",))
    assert found["lanes-left-out"] == (1, ("9",))


def test_a_lane_that_occurs_twice_in_a_map_of_nuscenes_counts_once(tmp_path: Path, nuscenes_root: Path) -> None:
    made = city()
    made.map["lane_connector"] += made.map["lane_connector"]
    frames = truth("nuscenes", written(made, tmp_path), centerlines=True)
    assert frames.counts == truth("nuscenes", nuscenes_root, centerlines=True).counts
    assert frames.findings[-1].code == "records-repeated"
    assert frames.findings[-1].examples[0].startswith("lane_connector ")


def truth(dataset: str, root: Path, **settings: Any) -> mg.MapFrames:
    if dataset == "argoverse2":
        return mg.truth.argoverse2(root, **settings)
    return mg.truth.nuscenes(root, version=MINI, scenes=["scene-0103"], **settings)


@pytest.fixture(params=["argoverse2", "nuscenes"])
def dataset(request: pytest.FixtureRequest, av2_root: Path, nuscenes_root: Path) -> tuple[str, Path]:
    return request.param, av2_root if request.param == "argoverse2" else nuscenes_root


def test_a_frame_shows_the_lanes_of_its_region(dataset: tuple[str, Path]) -> None:
    frames = truth(*dataset, centerlines=True)
    assert frames.classes == ("ped_crossing", "divider", "boundary", "centerline")
    ahead, left = frames.tokens
    lanes = centerlines(frames, ahead)
    around = {"8", "8#1"} if dataset[0] == "argoverse2" else set()
    assert set(lanes) == {"1", "2", "3", "5", "6", "9"} | around
    assert lanes["1"][[0, -1]] == pytest.approx(np.array([(-30, 0), (20, 0)]))
    assert lanes["6"][[0, -1]] == pytest.approx(np.array([(20, -4), (30, -4)]))  # cut
    assert lanes["9"][[0, -1]] == pytest.approx(np.array([(20, 4), (-30, 4)]))
    expected = SHOWN if dataset[0] == "argoverse2" else {link for link in SHOWN if link[2] == "successor"}
    assert tracks(frames, ahead) == expected
    # With the car turned to the left, the region has x from -15 to 15: no lane ends in it.
    lanes = centerlines(frames, left)
    assert set(lanes) == {"1", "5", "9"} | ({"8#1"} if around else set())
    assert lanes["1"][[0, -1]] == pytest.approx(np.array([(0, 15), (0, -15)]))
    assert not {kind for *_, kind in tracks(frames, left)} & {"successor"}


def test_a_lane_that_comes_back_gives_pieces_with_the_links_of_its_ends(av2_root: Path) -> None:
    frames = truth("argoverse2", av2_root, centerlines=True)
    lanes = centerlines(frames, frames.tokens[0])
    assert lanes["8"][[0, -1]] == pytest.approx(np.array([(-20, -8), (-20, -15)]))
    assert lanes["8#1"][[0, -1]] == pytest.approx(np.array([(-10, -15), (-10, -8)]))


def test_links_of_pieces_are_those_of_the_ends() -> None:
    around = np.array([(-20, 0), (-20, 20), (-10, 20), (-10, 0)], np.float64)
    graph = LaneGraph.of(
        [
            Lane("in", np.array([(-20.0, -9), (-20, 0)]), ["loop"]),
            Lane("loop", around, ["out"]),
            Lane("out", np.array([(-10.0, 0), (-10, -9)])),
        ]
    )
    cut = cut_graph(graph, np.eye(4)[None], (60, 30))
    assert [graph.ids[k] for k in cut.lane] == ["in", "loop", "loop", "out"]
    assert cut.along.tolist() == [[0, 9], [0, 15], [35, 50], [0, 9]]
    assert [link[:2] for link in cut.links] == [(0, 1), (2, 3)]


def test_nothing_else_changes(dataset: tuple[str, Path]) -> None:
    plain, more = truth(*dataset), truth(*dataset, centerlines=True)
    assert plain.links is None
    assert plain.classes == more.classes[:3]
    same = more.select(plain.classes)
    assert np.array_equal(same.polylines.coords, plain.polylines.coords)
    assert np.array_equal(same.track, plain.track)  # type: ignore[arg-type]
    assert same.findings == plain.findings
    assert more.name == plain.name


def test_lanes_turn_with_the_axes_of_the_rules(nuscenes_root: Path) -> None:
    forward = truth("nuscenes", nuscenes_root, rules="maptracker", centerlines=True).select(["centerline"])
    right = truth("nuscenes", nuscenes_root, rules="maptr", centerlines=True).select(["centerline"])
    assert right.polylines.coords == pytest.approx(forward.rotate(90).polylines.coords)
    assert list(right.links or ()) == list(forward.links or ())


def test_heights_are_kept_where_asked_for(av2_root: Path) -> None:
    graph = argoverse2.read_lane_graph(av2_root / "val" / LOG)
    pose = np.eye(4)
    pose[:3, 3] = ORIGIN - (0, 0, 3)
    cut = cut_graph(graph, pose[None], (60, 30), dimension=3)
    assert cut.lines.dimension == 3
    assert cut.lines.coords[:, 2] == pytest.approx(3)


def test_a_map_without_lanes_gives_frames_without_links(tmp_path: Path) -> None:
    town = streets()
    town.map["lane_segments"] = {}
    town.write(tmp_path / "val", [At(0, 0)])
    frames = mg.truth.argoverse2(tmp_path, centerlines=True)
    assert frames.counts["centerline"] == 0
    assert frames.links is not None
    assert len(frames.links) == 0


def test_finished_scenes_are_used_again(av2_root: Path, tmp_path: Path) -> None:
    once = truth("argoverse2", av2_root, parts=tmp_path / "parts", centerlines=True)
    again = truth("argoverse2", av2_root, parts=tmp_path / "parts", centerlines=True)
    assert list(once.links or ()) == list(again.links or ())
    assert np.array_equal(once.polylines.coords, again.polylines.coords)


@pytest.mark.parametrize("target", ["lanes.parquet", "lanes.geojson"])
def test_the_command_writes_links(av2_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    path = tmp_path / target
    monkeypatch.setattr("sys.argv", ["mapgauge", "truth", "av2", str(av2_root), "--centerlines", "-o", str(path)])
    with pytest.raises(SystemExit) as ended:
        run_script()
    assert not ended.value.code
    frames = mg.read(path)
    assert tracks(frames, frames.tokens[0]) == SHOWN


def test_a_format_without_centrelines_is_refused_before_cutting(
    av2_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["av2", str(av2_root), "--centerlines", "-o", str(tmp_path / "t.pkl"), "--to", "streammapnet-truth"]
    monkeypatch.setattr("sys.argv", ["mapgauge", "truth", *arguments])
    with pytest.raises(SystemExit) as ended:
        run_script()
    assert ended.value.code == 2
    assert "no id for the class centerline" in " ".join(capsys.readouterr().err.split())


REAL = {  # log: lanes, and links to successors, of its map
    "3b3570b4-7b0b-3268-a571-b0889dbf40b6": (150, 161),
    "7fab2350-7eaf-3b7e-a39d-6937a4c1bede": (183, 205),
}


@needs_data(*(f"av2/{log}" for log in REAL))
def test_the_lane_graphs_of_real_logs_are_connected() -> None:
    for log, (lanes, successors) in REAL.items():
        graph = argoverse2.read_lane_graph(DATA / "av2" / log)
        links = graph.links.of_kind("successor")
        assert (len(graph), len(links)) == (lanes, successors)
        ends = np.array([line[[0, -1]] for line in graph.lines])
        assert np.linalg.norm(ends[links.source, 1] - ends[links.target, 0], axis=1).max() < 0.5
        assert graph.findings == ()
        stated = json.loads(next((DATA / "av2" / log).glob("log_map_archive_*.json")).read_text(encoding="utf-8"))[
            "lane_segments"
        ]
        both = {(a, f"{b}") for a, one in stated.items() for b in one["successors"] if f"{b}" in stated}
        assert both <= {(a, b) for a, b, kind in names(graph) if kind == "successor"}


@needs_data(*(f"av2/{log}" for log in REAL))
@pytest.mark.parametrize("region", [(60.0, 30.0), (100.0, 50.0)])
def test_real_frames_have_connected_lanes(region: tuple[float, float]) -> None:
    frames = mg.truth.argoverse2(DATA / "av2", scenes=list(REAL), region=region, every=20, centerlines=True)
    lanes = frames.select(["centerline"])
    links = (lanes.links or mg.Links.of([], [])).of_kind("successor")
    first, last = (
        lanes.polylines.coords[lanes.polylines.offsets[:-1]],
        lanes.polylines.coords[lanes.polylines.offsets[1:] - 1],
    )
    assert np.hypot(*(last[links.source] - first[links.target]).T).max() < 0.5
    per_frame = np.bincount(lanes.frame, minlength=len(lanes))
    assert per_frame.min() >= 1
    assert 8 < per_frame.mean() < 60
    out = np.bincount(links.source, minlength=len(lanes.label))
    assert out.max() <= 4
    assert 0.4 < out.mean() < 1.3
    assert np.abs(lanes.polylines.coords).max(axis=0) == pytest.approx(np.array(region) / 2, abs=1e-9)
