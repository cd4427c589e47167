"""Raster scores: the numbers of public evaluators, twins in plain Python, and what IoU measures."""

import json
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.shared_data import DATA, needs_data

import mapgauge as mg
from mapgauge.features.raster.drawing_kernels import draw
from mapgauge.features.raster.kernels import match_greedily, with_crossings

REFERENCE = "raster_reference/reference.json"
NEEDED = needs_data(REFERENCE, "sample_60x30", "sample_100x50")
FLOORS = (0.4, 0.3, 0.5)


@cache
def reference() -> Any:
    return json.loads((DATA / REFERENCE).read_text(encoding="utf-8"))


@cache
def sample(size: str) -> tuple[mg.MapFrames, mg.MapFrames]:
    folder = DATA / f"sample_{size}"
    return mg.read(folder / "submission_vector.json"), mg.read(folder / f"tmp_gts_av2_{size}.pkl")


@NEEDED
@pytest.mark.parametrize("size", ["60x30", "100x50"])
@pytest.mark.parametrize(
    ("protocol", "key", "pixels"),
    [
        ("maptracker-iou", "maptracker_iou", (200, 100)),
        ("streammapnet-iou", "streammapnet_200x100_iou", (200, 100)),
        ("streammapnet-iou", "streammapnet_400x200_iou", (400, 200)),
    ],
)
def test_iou_is_that_of_the_public_evaluator(size: str, protocol: str, key: str, pixels: tuple[int, int]) -> None:
    expected = reference().get(f"{key}_{size}")
    if expected is None:
        pytest.skip(f"{key}_{size} is not in the reference")
    settings = mg.protocol(f"{protocol}-{size}", settings={"raster_iou": {"floors": FLOORS, "pixels": pixels}})
    results = mg.evaluate(*sample(size), settings)
    for floor in FLOORS:
        of_floor = expected[f"score>={floor}"]["iou"]
        found = {name: row[f"raster_iou@{floor}"] for name, row in {**results.classes, "mIoU": results.mean}.items()}
        assert {name: found[name] for name in of_floor} == pytest.approx(of_floor, abs=1e-9)


@NEEDED
@pytest.mark.parametrize("floor", ["0.0", "0.3", "0.5"])
def test_iou_of_hdmapnet(floor: str) -> None:
    settings = mg.protocol("hdmapnet-60x30", settings={"raster_iou": {"floors": (float(floor),)}})
    results = mg.evaluate(*sample("60x30"), settings)
    expected = reference()["hdmapnet"][f"score>={floor}"]["iou"]
    assert {name: results.classes[name]["raster_iou"] for name in expected} == pytest.approx(expected, abs=1e-7)


def test_points_at_which_a_line_crosses_itself_are_rounded_as_after_shapelys_cut(rng: np.random.Generator) -> None:
    shapely = pytest.importorskip("shapely")
    lines = [rng.normal(0, 3, (rng.integers(2, 15), 2)).cumsum(axis=0) for _ in range(100)]
    given = mg.Polylines.of([*lines, [[1, 1], [1, 1]]])
    split = mg.Polylines(*with_crossings(given.coords, given.offsets))
    whole = shapely.box(-500, -500, 500, 500)
    for line, points in zip(lines, split, strict=False):
        parts = shapely.intersection(shapely.linestrings(line), whole)
        expected = np.unique(shapely.get_coordinates(parts).round(9), axis=0)
        assert np.unique(points.round(9), axis=0) == pytest.approx(expected, abs=1e-8)
    assert len(split) == len(given)


def test_lines_without_length_are_not_drawn_after_a_cut() -> None:
    point = mg.MapFrames.of({"a": {"divider": [[[1, 1], [1, 1]]]}}).with_confidence(1)
    settings = mg.protocol("hdmapnet-60x30", classes=["divider"])
    assert mg.evaluate(point, frames(0), settings).mean["raster_precision"] is None


@NEEDED
@pytest.mark.parametrize(("axes", "forward"), [("maptr", "rows"), ("streammapnet", "columns")])
def test_raster_ap_and_frame_iou_of_mapvr(axes: str, forward: str) -> None:
    own = {"forward": forward}
    settings = mg.protocol("mapvr-60x30", settings={"raster_ap": own, "raster_frame_iou": own})
    results, count = mg.evaluate(*sample("60x30"), settings), 0
    for kind, extra in (("line", 0.0), ("polygon", 0.25)):
        for words, expected in reference()[f"mapvr_{axes}_axes"][kind].items():
            score, *rest = words.split(",")
            if score == "AP" and rest[1] in results.classes:
                key = "raster_ap" if ":" in rest[0] else f"raster_ap@{float(rest[0]) - extra:g}"
                assert results.classes[rest[1]][key] == pytest.approx(expected, abs=1e-12)
                count += 1
            elif score == "Frame mIoU":
                assert results.classes[rest[0]]["raster_frame_iou"] == pytest.approx(expected, abs=1e-12)
                count += 1
    assert count == 12


def frames(y: float, confidence: float | None = None) -> mg.MapFrames:
    made = mg.MapFrames.of({"a": {"divider": [[[-40, y], [40, y]]]}})
    return made if confidence is None else made.with_confidence(confidence)


@pytest.mark.parametrize(("thickness", "width"), [(1, 1), (3, 5), (5, 7), (7, 9)])
def test_iou_of_two_lines_is_that_of_their_strips(thickness: int, width: int) -> None:
    settings = mg.protocol("hdmapnet-60x30", classes=["divider"], settings={"raster_iou": {"thickness": thickness}})
    for pixels in range(11):
        results = mg.evaluate(frames(0.075 + 0.15 * pixels, 1), frames(0.075), settings)
        expected = max(0, (width - pixels) / (width + pixels))
        assert results.mean["raster_iou"] == pytest.approx(expected, abs=1e-12)


def test_predictions_below_the_floor_are_not_drawn() -> None:
    settings = mg.protocol("hdmapnet-60x30", classes=["divider"], settings={"raster_iou": {"floors": (0.5, 0.6)}})
    results = mg.evaluate(frames(0, 0.5), frames(0), settings)
    assert (results.mean["raster_iou@0.5"], results.mean["raster_iou@0.6"]) == (1, 0)


def test_a_pixel_has_one_class_in_maptrackers_predictions() -> None:
    lines = {"ped_crossing": [[[0, 0], [10, 0], [10, 5], [0, 5], [0, 0]]], "divider": [[[-5, 2], [15, 2]]]}
    truth = mg.MapFrames.of({"a": lines})
    results = mg.evaluate(truth.with_confidence(1), truth, "maptracker-iou-60x30")
    assert results.classes["divider"]["raster_iou"] == 1
    hidden = results.classes["ped_crossing"]["raster_iou"]
    assert hidden is not None
    assert 0.5 < hidden < 1
    apart = mg.protocol("maptracker-iou-60x30", settings={"raster_iou": {"covers": False}})
    assert mg.evaluate(truth.with_confidence(1), truth, apart).classes["ped_crossing"]["raster_iou"] == 1


def test_classes_without_pixels_have_no_value() -> None:
    results = mg.evaluate(frames(0, 1), frames(0), "maptracker-iou-60x30")
    assert results.classes["boundary"]["raster_iou"] is None
    assert results.mean["raster_iou"] == 1


def random_frames(rng: np.random.Generator, count: int) -> dict[str, dict[str, list[Any]]]:
    def line() -> Any:
        steps = rng.normal(0, 3, (rng.integers(2, 9), 2)).cumsum(axis=0)
        return steps + rng.uniform([-25, -12], [25, 12])

    return {str(k): {name: [line() for _ in range(rng.integers(0, 5))] for name in NAMES} for k in range(count)}


NAMES = ("ped_crossing", "divider", "boundary")


@pytest.mark.parametrize(
    "name", ["maptracker-iou-60x30", "streammapnet-iou-60x30", "hdmapnet-60x30", "mapvr-60x30", "pmapnet-120x60"]
)
def test_axes_do_not_matter(name: str, rng: np.random.Generator) -> None:
    """MapTR's axes, x right and y forward, give the same image as x forward and y left."""
    given, moved = random_frames(rng, 4), random_frames(rng, 4)

    def turned(frames: dict[str, dict[str, list[Any]]]) -> dict[str, dict[str, list[Any]]]:
        return {
            token: {name: [line[:, ::-1] * [-1, 1] for line in lines] for name, lines in classes.items()}
            for token, classes in frames.items()
        }

    plain = mg.evaluate(mg.MapFrames.of(moved).with_confidence(0.9), mg.MapFrames.of(given), name)
    sides = [replace(mg.MapFrames.of(turned(side)), forward="y") for side in (moved, given)]
    assert mg.evaluate(sides[0].with_confidence(0.9), sides[1], name).mean == plain.mean


def test_pooled_iou_equals_its_twin(rng: np.random.Generator) -> None:
    """The twin draws every class of every frame by itself and counts sets of pixels."""
    given, moved = random_frames(rng, 6), random_frames(rng, 6)
    results = mg.evaluate(mg.MapFrames.of(moved).with_confidence(1), mg.MapFrames.of(given), "maptracker-iou-60x30")
    sums = {name: [0, 0] for name in NAMES}
    for token, of_classes in given.items():
        hidden: set[tuple[int, int]] = set()
        for name in reversed(NAMES):
            predicted = pixels(moved[token][name], name == "ped_crossing") - hidden
            hidden |= predicted
            true = pixels(of_classes[name], name == "ped_crossing")
            sums[name][0] += len(predicted & true)
            sums[name][1] += len(predicted | true)
    for name, (both, either) in sums.items():
        assert results.classes[name]["raster_iou"] == pytest.approx(both / either, abs=1e-12)


def pixels(lines: list[Any], filled: bool) -> set[tuple[int, int]]:
    """Draw on the grid of MapTracker at 60 x 30 m: 200 x 100 pixels of 0.3 m."""
    image = np.zeros((100, 200), np.uint8)
    for line in lines:
        corners = np.array([[int(x / 0.3 + 100), int(y / 0.3 + 50)] for x, y in line])
        draw(image, corners, np.array([0, len(corners)]), np.array([filled]), 3, 0)
    return {(int(y), int(x)) for y, x in np.argwhere(image)}


def greedy(ious: Any, threshold: float) -> list[bool]:
    """COCO's rule: predictions in order; each takes the best free truth, of several equal ones the last."""
    taken: set[int] = set()
    hits = []
    for row in ious:
        free = [(iou, t) for t, iou in enumerate(row) if t not in taken and iou >= min(threshold, 1 - 1e-10)]
        hits.append(bool(free))
        if free:
            taken.add(max(free)[1])
    return hits


def test_matches_equal_their_twin(rng: np.random.Generator) -> None:
    for _ in range(200):
        predicted, true = rng.integers(0, 7, 2)
        ious = rng.integers(0, 11, (predicted, true)) / 10  # ties are frequent
        thresholds, order = (0.3, 0.5, 1.0), rng.permutation(predicted)
        hits = np.zeros(predicted + true, np.uint16)
        by_confidence = np.append(order, np.arange(predicted, predicted + true))
        bounds, considered = np.array([[0, predicted, predicted + true]]), np.ones(predicted + true, np.bool_)
        match_greedily(ious.ravel(), bounds, by_confidence, considered, np.array([thresholds]), hits)
        for s, threshold in enumerate(thresholds):
            assert [bool(hits[i] >> s & 1) for i in order] == greedy(ious[order], threshold)


def test_raster_ap_leaves_out_what_is_beyond_the_most_and_below_the_floor() -> None:
    truth = mg.MapFrames.of({"a": {"divider": [[[-20, y], [20, y]] for y in (0, 5)]}})
    confidence = {"a": {"divider": [0.9, 0.04]}}
    predictions = mg.MapFrames.of({"a": {"divider": [[[-20, y], [20, y]] for y in (0, 5)]}}, confidence=confidence)
    base = mg.protocol("mapvr-60x30", classes=["divider"])
    assert mg.evaluate(predictions, truth, base).mean["raster_ap"] == pytest.approx(51 / 101)
    low = mg.protocol(base, settings={"raster_ap": {"floor": 0.0}})
    assert mg.evaluate(predictions, truth, low).mean["raster_ap"] == 1
    one = mg.protocol(low, settings={"raster_ap": {"most": 1}})
    assert mg.evaluate(predictions, truth, one).mean["raster_ap"] == pytest.approx(51 / 101)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"raster_iou": {"pixels": (200,)}}, "pixels must be two whole numbers"),
        ({"raster_iou": {"pixels": (200, 5000)}}, "pixels must be at most 4096, got 5000"),
        ({"raster_iou": {"thickness": 0}}, "thickness must be"),
        ({"raster_iou": {"spread": 4}}, "spread must be odd, got 4"),
        ({"raster_iou": {"floors": (1.5,)}}, "floors must be a number from 0 to 1, got 1.5"),
        ({"raster_ap": {"strict": True}}, "raster_ap has no setting 'strict'"),
        ({"raster_ap": {"cut": True}}, "raster AP draws whole instances, got cut=True"),
    ],
)
def test_settings_that_cannot_be_drawn_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(mg.InvalidInput, match=words):
        mg.protocol("paper-60x30", settings=settings)


def test_a_region_is_needed() -> None:
    with pytest.raises(mg.InvalidInput, match="raster scores need a region"):
        mg.protocol("maptr", settings={"raster_iou": {}})
