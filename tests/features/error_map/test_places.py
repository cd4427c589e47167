"""The worst places: planted failures come out first, with the planted share."""

import math

import numpy as np
import pytest
from tests.features.error_map import planted

import mapgauge as mg
from mapgauge.features.error_map.places import interval_of, overall, sentence_of
from mapgauge.geometry.connected import connected
from mapgauge.views.tiles import areas_of, packed


def test_a_dropped_arm_is_the_worst_place_with_the_planted_share() -> None:
    made = mg.error_map(planted.evaluated())
    first, *others = made.worst()
    assert first.class_name == "divider"
    x, y = planted._placed([[0.0, 12.0]])[0]
    assert math.hypot(first.x - x, first.y - y) < 6
    assert first.share.value == pytest.approx(planted.SHARE, abs=0.05)
    assert first.share.low < planted.SHARE < first.share.high
    assert first.scenes == planted.SCENES
    assert all(place.lost < 0.5 * first.lost for place in others)
    assert "misses most at x" in sentence_of(first, "A")
    assert "% [" in interval_of(first)
    # The frames without the arm come first.
    number = [planted.truth().index[token] % 10 < 10 * planted.SHARE for token in first.tokens]
    assert number == sorted(number, reverse=True)


def test_a_crossing_that_is_one_metre_off_is_the_place_most_beside_the_truth() -> None:
    made = mg.error_map(planted.evaluated())
    first, *others = made.worst(kind="beside")
    assert first.class_name == "ped_crossing"
    assert first.offset == pytest.approx(1.0, abs=0.05)
    assert all(place.class_name == "ped_crossing" for place in others)
    assert "1.00 m beside" in sentence_of(first, "A")


def test_a_difference_is_found_where_only_one_method_fails() -> None:
    made = mg.error_map([planted.evaluated(planted.perfect()), planted.evaluated()], names=("good", "poor"))
    (first, *_) = made.worst("poor", kind="difference")
    assert first.class_name == "divider"
    assert first.share.value == pytest.approx(planted.SHARE, abs=0.05)
    assert made.worst("good") == []
    assert overall(made, "good")["not_found"] == 0
    assert made.worst("poor", kind="gained") == []
    turned = mg.error_map([planted.evaluated(), planted.evaluated(planted.perfect())], names=("poor", "good"))
    (gained, *_) = turned.worst(kind="gained")
    assert (gained.x, gained.y, gained.lost) == (first.x, first.y, first.lost)
    assert gained.share.value == pytest.approx(-first.share.value)
    assert "of divider, 59 % [" in sentence_of(gained, "good")
    with pytest.raises(mg.InvalidInput, match="a method after the first"):
        made.worst("good", kind="difference")
    with pytest.raises(mg.InvalidInput, match="kind must be"):
        made.worst(kind="bad")  # type: ignore[arg-type]


def test_a_place_that_few_scenes_saw_has_no_interval() -> None:
    results = planted.evaluated()
    some = results.of_frames([k for k, scene in enumerate(results.scenes or ()) if scene < "scene-3"])
    first = mg.error_map(some).worst()[0]
    assert first.scenes == 3
    assert math.isnan(first.share.low)
    assert "[" not in interval_of(first)
    assert first.to_dict()["low"] is None


def test_points_are_connected_as_in_plain_python(rng: np.random.Generator) -> None:
    for _ in range(20):
        x, y = rng.uniform(0, 8, (2, 40))
        group = rng.integers(0, 2, 40)
        number = list(range(40))
        for _ in range(40):
            for i in range(40):
                for j in range(40):
                    if group[i] == group[j] and math.hypot(x[i] - x[j], y[i] - y[j]) <= 1:
                        number[i] = number[j] = min(number[i], number[j])
        order = {name: k for k, name in enumerate(sorted(set(number)))}
        assert connected(x, y, group, 1.0).tolist() == [order[name] for name in number]


def test_areas_far_apart_become_tiles_that_do_not_overlap() -> None:
    x = np.concatenate([np.arange(0, 50, 0.5), np.arange(9000, 9030, 0.5), np.arange(-5000, -4990, 0.5)])
    zeros = np.zeros(len(x))
    found = areas_of(x, zeros, zeros + 0.5)
    assert found.bounds[:, 0].tolist() == [0.0, 9000.0, -5000.0]
    tiles = packed(found.bounds)
    assert tiles.width < 120
    boxes = [
        (bounds[0] + left, bounds[1] + bottom, bounds[2] + left, bounds[3] + bottom)
        for bounds, left, bottom in zip(found.bounds, tiles.left, tiles.bottom, strict=True)
    ]
    for k, one in enumerate(boxes):
        assert 0 <= one[0] <= one[2] <= tiles.width
        assert 0 <= one[1] <= one[3] <= tiles.height
        for other in boxes[:k]:
            assert one[2] < other[0] or other[2] < one[0] or one[3] < other[1] or other[3] < one[1]
