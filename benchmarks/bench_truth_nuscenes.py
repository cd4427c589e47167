"""Measures how fast truth is cut from maps of nuScenes by the rules of public repositories.

Run it with ``python -m benchmarks.bench_truth_nuscenes``. The maps are the made-up cities ``truth_reference`` in the
folder ``MAPGAUGE_TEST_DATA``. The baseline, ``plain_nuscenes.py``, tests every element of the map for every frame. Both
must give the same lines. Alternatives run in turn, and the best time of each counts.
"""

import json
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import shapely
from benchmarks import plain_nuscenes
from benchmarks.tables import at_least, heading, machine, race, row
from tests.shared_data import DATA

from mapgauge.truth.build import cut_scene
from mapgauge.truth.datasets import Cutter, Scene
from mapgauge.truth.from_nuscenes.maps import FOLDER
from mapgauge.truth.from_nuscenes.scenes import NuScenes
from mapgauge.truth.rules import TruthRules, rules_named
from mapgauge.truth.selection import FrameSelection

CITY = DATA / "truth_reference" / "nuscenes_city"
REGIONS = ((60.0, 30.0), (100.0, 50.0))
RULES = ("streammapnet", "maptr", "maptracker")
ROUNDS = 5
EVERY = 3  # frames for both; the baseline is slow
COPIES = 10  # of a made-up city in the large maps: about 3,800 elements
TARGET = 5  # times as fast as the baseline
TOLERANCE = 1e-6  # metres between a line of mapgauge and the same line of the baseline
SAME = 0.98  # share of such lines; rounding decides about the rest, and the baseline rounds in another order


def cutting(scenes: Sequence[Scene], cutters: Sequence[Cutter], rules: TruthRules, region: tuple[float, float]) -> None:
    """Cut all frames from maps that were read."""
    for scene, cutter in zip(scenes, cutters, strict=True):
        cut_scene(scene, cutter, rules, region)


def plainly(
    scenes: Sequence[Scene], maps: dict[str, plain_nuscenes.Elements], rules: TruthRules, region: tuple[float, float]
) -> None:
    """Cut all frames with the baseline."""
    for scene in scenes:
        for frame in scene.frames:
            plain_nuscenes.cut(maps[scene.map], frame, region, rules)


def against_plain(root: Path, scenes_of: slice, baselines: Sequence[bool]) -> None:
    """Compare with the baseline, whose shapes are made in every frame (False) or kept (True)."""
    names = (root / "scenes.txt").read_text(encoding="utf-8").strip().split(",")[scenes_of]
    for name in RULES:
        rules = rules_named("nuscenes", name)
        source = NuScenes(root, "v1.0-trainval", FrameSelection.of("val", names, None, EVERY), rules)
        scenes = source.scenes()
        cutters = [source.cutter(scene, rules) for scene in scenes]
        places = {scene.map for scene in scenes}
        maps = [{place: _elements(root, place, rules, keep) for place in places} for keep in baselines]
        count = sum(len(scene.frames) for scene in scenes)
        for region in REGIONS:
            _compare(scenes, cutters, maps[0], rules, region)
            fast, *slow = race(
                partial(cutting, scenes, cutters, rules, region),
                *(partial(plainly, scenes, elements, rules, region) for elements in maps),
                rounds=ROUNDS,
                clock=time.process_time,  # all use one thread, and other programs may run
            )
            size = "x".join(f"{side:g}" for side in region)
            times = (f"{1e3 * seconds / count:.2f}" for seconds in (fast, *slow))
            row(name, size, f"{count}", *times, *(at_least(one / fast, TARGET, f"{one / fast:.1f}") for one in slow))


def copied(root: Path, folder: Path) -> Path:
    """The data set with every map ``COPIES`` times, far apart: the scenes see only the first."""
    for path in root.rglob("*"):
        (folder / path.relative_to(root)).parent.mkdir(parents=True, exist_ok=True)
        if path.is_file() and path.parent != root / FOLDER:
            (folder / path.relative_to(root)).write_bytes(path.read_bytes())
    for path in (root / FOLDER).glob("*.json"):
        content = json.loads(path.read_text(encoding="utf-8"))
        text = json.dumps({kind: records for kind, records in content.items() if isinstance(records, list)})
        tokens = {node["token"] for node in content["node"]}
        for k in range(1, COPIES):
            again = json.loads(text)
            for node in again["node"]:
                node["token"], node["x"] = f"{node['token']}/{k}", node["x"] + 10_000.0 * k
            for one in (*again["line"], *again["polygon"]):
                one["token"] = f"{one['token']}/{k}"
                for ring in (one, *one.get("holes", ())):
                    for key in ("node_tokens", "exterior_node_tokens"):
                        ring.update({key: [f"{token}/{k}" for token in ring[key]]} if key in ring else {})
            for kind, records in again.items():
                if kind not in ("node", "line", "polygon", "canvas_edge"):
                    for one in records:
                        one |= {
                            key: f"{one[key]}/{k}" for key in ("token", "line_token", "polygon_token") if one.get(key)
                        }
                if kind != "canvas_edge":
                    content[kind] += records
        assert len(content["node"]) == COPIES * len(tokens)
        (folder / FOLDER / path.name).write_text(json.dumps(content), encoding="utf-8")
    return folder


def _elements(root: Path, place: str, rules: TruthRules, keep: bool) -> plain_nuscenes.Elements:
    return plain_nuscenes.elements_of(
        json.loads((root / FOLDER / f"{place}.json").read_text(encoding="utf-8")), rules, keep
    )


def _compare(
    scenes: Sequence[Scene],
    cutters: Sequence[Cutter],
    maps: dict[str, plain_nuscenes.Elements],
    rules: TruthRules,
    region: tuple[float, float],
) -> None:
    """Stop if the two do not give the same lines, up to a few that rounding changes."""
    same = total = 0
    for scene, cutter in zip(scenes, cutters, strict=True):
        frames = cut_scene(scene, cutter, rules, region)
        for frame in scene.frames:
            expected = plain_nuscenes.cut(maps[scene.map], frame, region, rules)
            for name, lines in zip(frames.classes, expected, strict=True):
                ours = [shapely.LineString(one.points) for one in frames[frame.token] if one.class_name == name]
                theirs = [shapely.LineString(line) for line in lines]
                same += sum(any(line.hausdorff_distance(one) < TOLERANCE for one in theirs) for line in ours)
                total += max(len(ours), len(theirs))
    if same < SAME * total:
        raise SystemExit(f"{rules.name}: {same} of {total} lines are the same as those of the baseline")


COLUMNS = ("rules", "region", "frames", "mapgauge, ms per frame")


if __name__ == "__main__":
    machine()
    heading(
        "Against testing every element of the map for every frame",
        *(*COLUMNS, "baseline", "baseline, shapes kept", "times as fast", "times as fast, shapes kept"),
    )
    against_plain(CITY, slice(None), (False, True))
    heading(f"Maps of {COPIES} times the size", *COLUMNS, "baseline, shapes kept", "times as fast")
    with tempfile.TemporaryDirectory() as made:
        against_plain(copied(CITY, Path(made)), slice(0, None, 4), (True,))
