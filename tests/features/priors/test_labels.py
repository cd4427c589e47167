"""mAPC and mACC from labels of changes in the files, and a map as prior."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.features.priors.test_changes import DIVIDERS, at

import mapgauge as mg


def labelled(labels: dict[str, list[str]], confidence: float | None = None) -> mg.MapFrames:
    """Frames whose k-th line lies at 10 k m and has the k-th label."""
    lines = {token: {"divider": [at(10.0 * k) for k in range(len(texts))]} for token, texts in labels.items()}
    frames = mg.MapFrames.of(lines, classes=["divider"])
    change = np.array([text for texts in labels.values() for text in texts], np.str_)
    return replace(frames, change=change).with_confidence(confidence)


def scores(predictions: mg.MapFrames, truth: mg.MapFrames, floor: float = 0.4) -> dict[str, dict[str, float]]:
    found = mg.changes(mg.evaluate(predictions, truth, DIVIDERS, metrics=["pld"]), truth, floor=floor).labels
    assert found is not None
    return found


TRUTH = {"a": ["", "geometry"], "b": ["", "geometry,markings"], "c": [""], "d": [""]}


def test_right_labels_are_perfect() -> None:
    turned = TRUTH | {"b": ["", "markings, geometry"]}
    found = scores(labelled(turned, 1.0), labelled(TRUTH))
    assert found["mapc"] == {"divider": 1.0, "mean": 1.0}
    assert found["macc"] == pytest.approx({"geometry": 1.0, "markings": 1.0, "mean": 1.0}, abs=1e-6)


def test_a_match_needs_the_right_label() -> None:
    """One of six lines has a wrong label: five hits among six predictions of equal confidence."""
    wrong = labelled(TRUTH | {"b": ["", "geometry"]}, 0.9)
    found = scores(wrong, labelled(TRUTH))
    assert found["mapc"]["divider"] == pytest.approx(5 / 6 * 5 / 6)
    # All frames are called rightly for geometry. One of one frame with markings is not, and three of three others are.
    assert found["macc"] == pytest.approx({"geometry": 1.0, "markings": 0.5, "mean": 0.75}, abs=1e-6)
    silent = scores(wrong, labelled(TRUTH), floor=0.95)
    assert silent["macc"] == pytest.approx({"geometry": 0.5, "markings": 0.5, "mean": 0.5}, abs=1e-6)


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(("far", "hits"), [(0.4, 3), (0.9, 2), (1.4, 1), (1.6, 0)])
def test_the_nearest_line_with_the_right_label_is_matched(far: float, hits: int, swapped: bool) -> None:
    """The nearest line has another label. The hits are those of thresholds of 0.5, 1.0 and 1.5 m.

    One of two true lines is found by the only prediction: an average precision of 1/2 at each threshold with a hit.
    """
    lines, changes = [at(0.1), at(far)], ["markings", ""]
    if swapped:
        lines, changes = lines[::-1], changes[::-1]
    truth = replace(mg.MapFrames.of({"a": {"divider": lines}}, classes=["divider"]), change=np.array(changes))
    prediction = replace(mg.MapFrames.of({"a": {"divider": [at(0.0)]}}, classes=["divider"]), change=np.array([""]))
    found = scores(prediction.with_confidence(1), truth)
    assert found["mapc"]["divider"] == pytest.approx(hits / 3 / 2)


def test_labels_are_needed_on_both_sides() -> None:
    truth, plain = labelled(TRUTH), replace(labelled(TRUTH, 1.0), change=None)
    assert mg.changes(mg.evaluate(plain, truth, DIVIDERS, metrics=["pld"]), truth).labels is None


def test_a_map_is_cut_at_the_poses_of_the_truth(tmp_path: Path) -> None:
    pytest.importorskip("shapely")
    lines = [[[-50.0, y], [150.0, y]] for y in (0.0, 4.0)]
    features = [
        {"type": "Feature", "properties": {"class": "divider"}, "geometry": {"type": "LineString", "coordinates": line}}
        for line in lines
    ]
    tree = {"type": "Feature", "properties": {"class": "tree"}, "geometry": {"type": "Point", "coordinates": [0, 0]}}
    poses = np.tile(np.eye(4), (3, 1, 1))
    poses[:, 0, 3] = (0.0, 20.0, 40.0)
    of_frames = {f"{k}": {"divider": [[[-30, 0], [30, 0]], [[-30, 6], [30, 6]]]} for k in range(3)}
    truth = replace(mg.MapFrames.of(of_frames), poses=poses)
    results = mg.evaluate(truth.with_confidence(1), truth, metrics=["pld"])
    for more in ([], [tree]):  # frames with a point are not readable, a map with one is
        file = tmp_path / "map.geojson"
        file.write_text(json.dumps({"type": "FeatureCollection", "features": [*features, *more]}), encoding="utf-8")
        changes = mg.changes(results, file)
        assert changes.truth_states == ("kept", "inserted") * 3
        assert changes.prior_states == ("kept", "deleted") * 3
    with pytest.raises(mg.InvalidInput, match="no frame of the prior"):
        mg.changes(results, mg.MapFrames.of({"map": {"divider": lines}}))
    (tmp_path / "broken.geojson").write_text('{"type": "FeatureCollection", "features": [1]}', encoding="utf-8")
    with pytest.raises(mg.UnreadableFile, match="is not a Feature"):
        mg.changes(results, tmp_path / "broken.geojson")
