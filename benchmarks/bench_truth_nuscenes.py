"""Measures how fast truth is cut from maps of nuScenes by the rules of public repositories.

Run it with ``python -m benchmarks.bench_truth_nuscenes``. The maps are the made-up cities ``truth_reference`` in the
folder ``MAPGAUGE_TEST_DATA``. The baseline, ``plain_nuscenes.py``, tests every element of the map for every frame. Both
must give the same lines. Alternatives run in turn, and the best time of each counts.
"""

import json
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
from mapgauge.truth.rules import Rules, rules_named
from mapgauge.truth.selection import Selection

CITY = DATA / "truth_reference" / "nuscenes_city"
REGIONS = ((60.0, 30.0), (100.0, 50.0))
RULES = ("streammapnet", "maptr", "maptracker")
ROUNDS = 5
EVERY = 3  # frames for both; the baseline is slow
TARGET = 5  # times as fast as the baseline
TOLERANCE = 1e-6  # metres between a line of mapgauge and the same line of the baseline
SAME = 0.98  # share of such lines; rounding decides about the rest, and the baseline rounds in another order


def cutting(scenes: Sequence[Scene], cutters: Sequence[Cutter], rules: Rules, region: tuple[float, float]) -> None:
    """Cut all frames from maps that were read."""
    for scene, cutter in zip(scenes, cutters, strict=True):
        cut_scene(scene, cutter, rules, region)


def plainly(
    scenes: Sequence[Scene], maps: dict[str, plain_nuscenes.Elements], rules: Rules, region: tuple[float, float]
) -> None:
    """Cut all frames with the baseline."""
    for scene in scenes:
        for frame in scene.frames:
            plain_nuscenes.cut(maps[scene.map], frame, region, rules)


def against_plain(root: Path) -> None:
    """Compare with the baseline."""
    heading(
        "Against testing every element of the map for every frame, ms per frame",
        *("rules", "region", "frames", "baseline", "baseline, shapes kept", "mapgauge", "times as fast", "shapes kept"),
    )
    names = (root / "scenes.txt").read_text().strip().split(",")
    for name in RULES:
        rules = rules_named("nuscenes", name)
        source = NuScenes(root, "v1.0-trainval", Selection.of("val", names, None, EVERY), rules)
        scenes = source.scenes()
        cutters = [source.cutter(scene, rules) for scene in scenes]
        places = {scene.map for scene in scenes}
        made, kept = ({place: _elements(root, place, rules, keep) for place in places} for keep in (False, True))
        count = sum(len(scene.frames) for scene in scenes)
        for region in REGIONS:
            _compare(scenes, cutters, kept, rules, region)
            slow, less_slow, fast = race(
                partial(plainly, scenes, made, rules, region),
                partial(plainly, scenes, kept, rules, region),
                partial(cutting, scenes, cutters, rules, region),
                rounds=ROUNDS,
                clock=time.process_time,  # all use one thread, and other programs may run
            )
            times = (f"{1e3 * seconds / count:.2f}" for seconds in (slow, less_slow, fast))
            size = "x".join(f"{side:g}" for side in region)
            ratio = at_least(slow / fast, TARGET, f"{slow / fast:.1f}")
            row(name, size, f"{count}", *times, ratio, f"{less_slow / fast:.1f}")


def _elements(root: Path, place: str, rules: Rules, keep: bool) -> plain_nuscenes.Elements:
    return plain_nuscenes.elements_of(json.loads((root / FOLDER / f"{place}.json").read_text()), rules, keep)


def _compare(
    scenes: Sequence[Scene],
    cutters: Sequence[Cutter],
    maps: dict[str, plain_nuscenes.Elements],
    rules: Rules,
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


if __name__ == "__main__":
    machine()
    against_plain(CITY)
