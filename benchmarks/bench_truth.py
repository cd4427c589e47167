"""Measures how fast truth is cut from the maps of Argoverse 2.

Run it with ``make bench-truth``. The maps are those of two logs (``av2`` in the folder ``MAPGAUGE_TEST_DATA``), or a
generated town if these are absent. The baseline cuts every element of the map for every frame: ``plain_public.py`` by
the rules of public converters, ``plain_truth.py`` by the rules of mapgauge. Both must give the same lines. Alternatives
run in turn, and the best processor time of each counts: there is one worker, and other load does not matter.
"""

import argparse
import json
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any, TypeAlias

import shapely
from benchmarks import plain_public, plain_truth
from benchmarks.tables import at_least, heading, machine, race, row
from tests.shared_data import DATA
from tests.truth.av2_city import At, Line, Town, rectangle

import mapgauge as mg
import mapgauge.truth
from mapgauge.truth.build import cut_scene
from mapgauge.truth.datasets import Cutter, Frame, Scene
from mapgauge.truth.from_argoverse2.scenes import Argoverse2
from mapgauge.truth.from_argoverse2.vector_map import find_map
from mapgauge.truth.rules import TruthRules, rules_named
from mapgauge.truth.selection import FrameSelection
from mapgauge.typing import Points

LOGS = DATA / "av2"
Region: TypeAlias = tuple[float, float]
PlainMap: TypeAlias = plain_truth.Elements | dict[str, Any]  # of the rules of mapgauge, or of public converters

REGIONS = ((60.0, 30.0), (100.0, 50.0))
RULES = ("streammapnet", "maptrv2", "maptracker", "mapgauge", "mapgauge-lanes")
ROUNDS = 5
MORE = 5  # runs of the short job for each run of the baseline
PLAIN = 20  # frames for the baseline, which is slow

TARGET = 5  # times as fast as the baseline
TOLERANCE = 1e-6  # metres between a line of mapgauge and the same line of the baseline


def dataset(root: Path, rules: TruthRules, every: int = 1) -> Argoverse2:
    """The logs in a folder."""
    return Argoverse2(root, FrameSelection.of("val", None, None, every), rules)


def cutting(scenes: Sequence[Scene], layers: Sequence[Cutter], rules: TruthRules, region: Region) -> None:
    """Cut all frames from prepared maps."""
    for scene, layer in zip(scenes, layers, strict=True):
        cut_scene(scene, layer, rules, region)


def plainly(scenes: Sequence[Scene], maps: Sequence[PlainMap], rules: TruthRules, region: Region) -> None:
    """Cut all frames with the baseline."""
    for scene, elements in zip(scenes, maps, strict=True):
        for frame in scene.frames:
            _plain(elements, frame, region, rules)


def _plain(elements: PlainMap, frame: Frame, region: Region, rules: TruthRules) -> list[list[Points]]:
    if isinstance(elements, plain_truth.Elements):
        return plain_truth.cut(elements, frame.pose, region, rules)
    return plain_public.cut(elements, frame.pose, region, rules)


def throughput(root: Path) -> None:
    """Print frames per second of a whole call and of its parts."""
    columns = ("rules", "region", "frames", "from files, frames/s", "cutting alone, frames/s", "preparing a map, ms")
    heading("Cutting truth, one worker", *columns)
    for name in RULES:
        rules = rules_named("argoverse2", name)
        source = dataset(root, rules)
        scenes = source.scenes()
        layers = [source.cutter(scene, rules) for scene in scenes]
        frames = sum(len(scene.frames) for scene in scenes)
        for region in REGIONS:
            whole = partial(mg.truth.argoverse2, root, region=region, rules=name, workers=1)
            prepare = partial(_prepare, source, scenes, rules)
            seconds = race(
                whole, partial(cutting, scenes, layers, rules, region), prepare, rounds=ROUNDS, clock=process_time
            )
            speeds = (f"{frames / taken:,.0f}" for taken in seconds[:2])
            row(name, _size(region), f"{frames}", *speeds, f"{1e3 * seconds[2] / len(scenes):.0f}")


def _prepare(source: Argoverse2, scenes: Sequence[Scene], rules: TruthRules) -> None:
    for scene in scenes:
        source.cutter(scene, rules)


def against_plain(root: Path) -> None:
    """Compare with the baseline on some frames.

    Simplification is off by the rules of mapgauge, which simplify before cutting, and the baseline after it.
    """
    heading(
        "Against cutting every element of the map for every frame",
        *("rules", "region", "frames", "baseline, ms per frame", "mapgauge, ms per frame", "times as fast"),
    )
    for name in RULES:
        rules = rules_named("argoverse2", name)
        if not rules.per_frame:
            rules = replace(rules, simplify_dividers=0.0, simplify_boundaries=0.0)
        source = dataset(root, rules)
        scenes = [_few(scene) for scene in source.scenes()]
        maps = [_elements(source.logs[scene.map], rules) for scene in scenes]
        layers = [source.cutter(scene, rules) for scene in scenes]
        count = sum(len(scene.frames) for scene in scenes)
        for region in REGIONS:
            for scene, elements, layer in zip(scenes, maps, layers, strict=True):
                _compare(scene, elements, layer, rules, region)
            ours = [partial(cutting, scenes, layers, rules, region)] * MORE
            slow, *fast = race(partial(plainly, scenes, maps, rules, region), *ours, rounds=ROUNDS, clock=process_time)
            ratio = slow / min(fast)
            times = (f"{1e3 * seconds / count:.2f}" for seconds in (slow, min(fast)))
            row(name, _size(region), f"{count}", *times, at_least(ratio, TARGET, f"{ratio:.1f}"))


def _size(region: Region) -> str:
    return "x".join(f"{side:g}" for side in region)


def _few(scene: Scene) -> Scene:
    count = min(PLAIN, len(scene.frames))
    return scene._replace(frames=tuple(scene.frames[i * len(scene.frames) // count] for i in range(count)))


def _elements(log: Path, rules: TruthRules) -> PlainMap:
    path = find_map(log)
    assert path is not None
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content if rules.per_frame else plain_truth.elements_of(content, rules)


def _compare(scene: Scene, elements: PlainMap, layers: Cutter, rules: TruthRules, region: Region) -> None:
    """Stop if the two do not give the same lines to a millionth of a metre."""
    frames = cut_scene(scene, layers, rules, region)
    assert frames is not None
    for frame in scene.frames:
        expected = _plain(elements, frame, region, rules)
        for name, lines in zip(frames.classes, expected, strict=True):
            ours = [shapely.LineString(one.points) for one in frames[frame.token] if one.class_name == name]
            theirs = [shapely.LineString(line) for line in lines]
            unlike = [line for line in ours if not any(line.hausdorff_distance(one) < TOLERANCE for one in theirs)]
            if unlike or len(ours) != len(theirs):
                raise SystemExit(
                    f"{rules.name}, frame {frame.token}: mapgauge gives {len(ours)} {name}, the baseline gives "
                    f"{len(theirs)}; {len(unlike)} of mapgauge's are not among those of the baseline"
                )


def grid_town(blocks: int = 4, block: float = 90.0) -> Town:
    """A town with streets of four lanes at right angles, and crossings where they meet."""
    made = Town()
    length, half = blocks * block, 7.0
    number = 1

    def place(line: Line, turned: bool) -> Line:
        return [(y, x) for x, y in line] if turned else line

    for turned in (False, True):
        for street in range(blocks + 1):
            at = street * block
            made.area(number, place(rectangle(-half, at - half, length + half, at + half), turned))
            number += 1
            for k in range(blocks):
                start, stop = k * block + half, (k + 1) * block - half
                lines = [[(start, at + y), (stop, at + y)] for y in (-7.0, -3.5, 0.0, 3.5, 7.0)]
                ids = [number + i for i in range(4)]
                for i in range(4):
                    right, left = (place(line, turned) for line in (lines[i], lines[i + 1]))
                    if turned:
                        right, left = left, right
                    beside = (ids[i + 1] if i < 3 else None, ids[i - 1] if i else None)
                    marks = ("SOLID_YELLOW" if i == 1 else "DASHED_WHITE", "SOLID_YELLOW" if i == 2 else "DASHED_WHITE")
                    made.lane(ids[i], left, right, marks[::-1] if turned else marks, beside[::-1] if turned else beside)
                number += 4
                for x in (start, stop - 4):
                    edges = (place([(side, at - half), (side, at + half)], turned) for side in (x, x + 4))
                    made.crossing(number, *edges)
                    number += 1
    return made


def main(generated: bool) -> None:
    """Measure and print the tables."""
    machine("numpy", "shapely", "pyarrow", "mapgauge")
    with tempfile.TemporaryDirectory() as folder:
        root = LOGS
        if generated or not LOGS.exists():
            root = Path(folder)
            poses = [At(5 + 2 * i, -2 + 0.1 * i, yaw=i % 90) for i in range(160)]
            grid_town().write(root / "val", poses)
        frames = mg.truth.argoverse2(root, every=10)
        heading("Maps", "what", "value")
        row("from", "a generated town" if root is not LOGS else "two logs of Argoverse 2")
        row("logs", f"{len(set(frames.scenes or ()))}")
        for name, count in frames.counts.items():
            row(f"{name} per frame, StreamMapNet's rules", f"{count / len(frames):.1f}")
        throughput(root)
        against_plain(root)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--generated", action="store_true", help="use the generated town even if the logs are present")
    main(parser.parse_args().generated)
