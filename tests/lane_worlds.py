"""Made-up frames of lanes, areas and traffic elements, and their scores by the plain definitions."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import plain_lanes as plain
from tests.lane_frames import AREAS, TRAFFIC_ELEMENTS, lane_frames

import mapgauge as mg

Document = dict[str, dict[str, Any]]
NAMES = {"1": ("topology_lclc", "topology_lcte"), "2": ("topology_lsls", "topology_lste")}


def world(seed: int, version: str, frames: int = 4) -> tuple[Document, Document]:
    """Return predictions and truth. The first frame has no truth, the second no predictions, the third no boxes."""
    rng = np.random.default_rng(seed)
    segments = version.startswith("2")
    key = "lane_segment" if segments else "lane_centerline"
    sides: tuple[Document, Document] = ({}, {})
    for f in range(frames):
        true = [_lane(rng, segments) for _ in range(int(rng.integers(2, 7)))]
        areas = [_area(rng) for _ in range(int(rng.integers(1, 4)))]
        boxes = [_box(rng) for _ in range(int(rng.integers(1, 4)))]
        predicted = [
            [_moved(one, rng, scale) for one in [*some, *some[:2]] if rng.random() < 0.9]
            for some, scale in ((true, 1.0), (areas, 0.4), (boxes, 12.0))
        ]
        for k, (lanes, ground, elements) in enumerate((predicted, (true, areas, boxes))):
            if (f, k) in ((0, 1), (1, 0)):
                lanes, ground, elements = [], [], []
            if f == 2:
                elements = []
            count = len(lanes), len(elements)
            scores = [rng.integers(0, 9, (count[0], n)) / 8 for n in count]
            links = [score > 0.7 if k else score for score in scores]
            sides[k][str(f)] = {key: lanes, "area": ground, "traffic_element": elements} | dict(
                zip(NAMES[version[0]], links, strict=True)
            )
    return sides


def _lane(rng: np.random.Generator, segments: bool) -> dict[str, Any]:
    start, turn = rng.uniform(-45, 45, 3) * (1, 0.4, 0.02), rng.uniform(-0.6, 0.6)
    along = np.linspace(0, rng.uniform(5, 40), 6)
    centre = start + np.stack([along * np.cos(turn), along * np.sin(turn), 0.02 * along], axis=1)
    inside = {"is_intersection_or_connector": bool(rng.random() < 0.4)}
    if not segments:
        return {"points": centre} | inside
    aside = np.array([0, 1.7, 0])
    lines = {"left_laneline": centre + aside, "right_laneline": centre - aside}
    return {"centerline": centre} | lines | inside


def _area(rng: np.random.Generator) -> dict[str, Any]:
    """Return a closed crossing, or a boundary."""
    corners = rng.uniform(-15, 15, (4, 3)) * (1, 1, 0.02)
    category = int(rng.integers(1, 3))
    return {"points": np.concatenate([corners, corners[:1]]) if category == 1 else corners, "category": category}


def _box(rng: np.random.Generator) -> dict[str, Any]:
    low = rng.uniform(0, 900, 2)
    return {"points": np.stack([low, low + rng.uniform(20, 60, 2)]), "attribute": int(rng.integers(0, 4))}


def _moved(one: dict[str, Any], rng: np.random.Generator, scale: float) -> dict[str, Any]:
    """Return a prediction near a true instance. Confidences are all different."""
    shift = rng.normal(0, scale, 3)
    found = dict(one) | {"confidence": float(rng.random())}
    for key in ("points", "centerline", "left_laneline", "right_laneline"):
        if key in one:
            found[key] = one[key] + shift[: one[key].shape[1]] + rng.normal(0, 0.1 * scale, one[key].shape)
    if "attribute" in one:
        found["points"] = np.sort(found["points"], axis=0)
    return found


def plain_scores(predictions: Document, truth: Document, version: str) -> dict[str, float]:
    """Return the scores by the plain definitions."""
    drop, old = version.endswith(".1"), version.endswith(".0")
    key, lane = ("lane_segment", "det_ls") if version.startswith("2") else ("lane_centerline", "det_l")
    frames = [(predictions[token], truth[token]) for token in truth]

    def sure(frame: dict[str, Any], of: str) -> list[float]:
        return [one["confidence"] for one in frame[of]]

    lanes = [plain.lane_distances(y[key], x[key], drop) for x, y in frames]
    boxes = [plain.distances(y["traffic_element"], x["traffic_element"], plain.overlap) for x, y in frames]
    found = {
        lane: float(
            np.mean(
                [
                    plain.detection([(d, sure(x, key)) for d, (x, _) in zip(lanes, frames, strict=True)], threshold)
                    for threshold in plain.LANES
                ]
            )
        )
    }

    def classes(of: str, field: str, values: range, distance: Any, thresholds: tuple[float, ...]) -> float:
        """Return the mean over classes and thresholds."""
        aps = []
        for value in values:
            some = [[[one for one in side[of] if one[field] == value] for side in pair] for pair in frames]
            for threshold in thresholds:
                rows = [(plain.distances(y, x, distance), [one["confidence"] for one in x]) for x, y in some]
                aps.append(plain.detection(rows, threshold))
        return float(np.mean(aps))

    found["det_t"] = classes("traffic_element", "attribute", range(len(TRAFFIC_ELEMENTS)), plain.overlap, (0.75,))
    top = plain.topology_scores(frames, lanes, boxes, NAMES[version[0]], old)
    found |= dict(zip(("top_ll", "top_lt"), top, strict=True))
    if version.startswith("2"):
        found["det_a"] = classes(
            "area", "category", range(1, len(AREAS) + 1), lambda y, x: plain.chamfer(y, x, drop), plain.AREAS
        )
    else:
        found["f_lane"] = plain.f_score([([one["points"] for one in side[key]] for side in pair) for pair in frames])  # type: ignore[misc]
    return found


def both(sides: tuple[Document, Document]) -> tuple[mg.MapFrames, mg.MapFrames]:
    """Return predictions and truth as frames."""
    return lane_frames(sides[0], predicted=True), lane_frames(sides[1], predicted=False)


def write_pickles(folder: Path, good: str, poor: str, truth: str) -> Path:
    """Write two submissions and the truth of 12 frames as OpenLane-V2's pickles, and return the folder."""
    predictions, annotations = world(8, "1.1", frames=12)
    others, _ = world(8, "1.1", frames=12)
    rng = np.random.default_rng(0)
    for frame in others.values():
        for lane in frame["lane_centerline"]:
            lane["points"] = lane["points"] + rng.normal(0, 0.8, lane["points"].shape)

    def keyed(document: Document, member: str) -> dict[Any, Any]:
        for frame in document.values():
            frame.pop("area")
            np.fill_diagonal(frame["topology_lclc"], 0)  # no lane leads into itself
            lists = (frame["lane_centerline"], frame["traffic_element"])
            for number, one in enumerate(one for some in lists for one in some):
                one |= {"id": number} | ({"category": 1} if "attribute" in one else {})
        return {("val", f"segment{int(token) // 4}", token): {member: frame} for token, frame in document.items()}

    (folder / truth).write_bytes(pickle.dumps(keyed(annotations, "annotation")))
    for name, document in ((good, predictions), (poor, others)):
        submission = {"method": name, "results": keyed(document, "predictions")}
        (folder / name).write_bytes(pickle.dumps(submission))
    return folder
