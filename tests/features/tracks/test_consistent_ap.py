"""C-mAP: hand-computed cases, a plain twin of its rules, and what it refuses."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scenes_of_lines import Line, scene
from tests.streaming.worlds import same, write_folder

import mapgauge as mg
from mapgauge.features.tracks.consistent_ap import keeps_owner, track_codes
from mapgauge.frames.alignment import add_instances, join_frames
from mapgauge.metrics.groups import group

PROTOCOL = mg.protocol("maptracker-c-60x30", classes=["divider"])
TRUE = [[("g", 0.0, 1.0)]] * 30


def c_map(predictions: mg.MapFrames, truth: mg.MapFrames, protocol: mg.Protocol = PROTOCOL) -> float:
    found = mg.evaluate(predictions, truth, protocol).mean["c_map"]
    assert found is not None
    return found


@pytest.mark.parametrize(("frame", "expected"), [(1, 1 / 30), (15, 15 / 30), (29, 29 / 30)])
def test_a_switch_costs_all_frames_after_it(frame: int, expected: float) -> None:
    """The true positives with the owner's id are the most confident ones, so AP is their share of the truth."""
    lines = [[("a" if k < frame else "b", 0.1, 0.9 - 0.01 * k)] for k in range(30)]
    assert c_map(scene(lines), scene(TRUE, truth=True)) == pytest.approx(expected, abs=1e-12)


def test_one_id_for_everything_is_as_good_as_perfect_ids() -> None:
    truth = scene([[("g", 0.0, 1.0), ("h", 5.0, 1.0)]] * 6, truth=True)
    perfect, merged = ([[(a, 0.1, 0.9), (b, 5.1, 0.8)]] * 6 for a, b in (("a", "b"), ("a", "a")))
    assert c_map(scene(perfect), truth) == 1.0
    assert c_map(scene([[lines[k % 2]] for k, lines in enumerate(merged)]), truth) == 0.5  # recall is one half
    found = mg.evaluate(scene(merged), truth, PROTOCOL)
    assert {"tracks-shared", "tracks-repeated"} <= {finding.code for finding in found.findings}


def test_an_id_twice_in_a_frame_takes_the_match_of_its_last_occurrence() -> None:
    truth = scene([[("g", 0.0, 1.0)], [("g", 0.0, 1.0)]], truth=True)
    # The second occurrence of "a" is a false positive, so "a" has no match in frame 0, and "b" owns the track.
    twice = [("a", 0.0, 0.9), ("a", 9.0, 0.2)]
    assert c_map(scene([twice, [("b", 0.0, 0.8)]]), truth) == 1.0  # "a" owns "no match", and stays true
    # Here "c" owns "no match", so the true positive of "a" in frame 0 is lost.
    lost = c_map(scene([[("c", 12.0, 0.1), *twice], [("b", 0.0, 0.8)]]), truth)
    assert lost == pytest.approx(0.25)  # one hit at precision 1/2, recall 1/2


def test_frames_without_truth_have_no_owner_of_no_match() -> None:
    truth = scene([[], [("g", 0.0, 1.0)]], truth=True)
    # "y" has no match in frame 1, because its last occurrence has none. It is the first such id in frames with truth.
    lines = [[("x", 0.0, 0.9)], [("y", 0.0, 0.8), ("y", 9.0, 0.7)]]
    assert c_map(scene(lines), truth) == 1.0
    assert c_map(scene([[], [("x", 12.0, 0.1), *lines[1]]]), truth) == 0.0


def test_numbers_of_tracks_are_equal_for_equal_names_of_a_class(rng: np.random.Generator) -> None:
    for _ in range(20):
        frames = [[(str(rng.choice(["", "a", "b", "c"])), float(y), 0.9) for y in range(4)] for _ in range(3)]
        x = add_instances(scene(frames), scene(frames[::-1], classes=("boundary",)))
        y = add_instances(scene(frames, truth=True), scene(frames, truth=True, classes=("boundary",)))
        groups = group(*mg.align(x, y), PROTOCOL)
        codes = track_codes(groups)
        names = groups.columns["track"].tolist()
        own = [(i if not name else -1, name) for i, name in enumerate(names)]
        of = list(zip(groups.label[groups.side // 2].tolist(), own, strict=True))
        assert len(set(codes.tolist())) == len(set(of)) == len(set(zip(codes.tolist(), of, strict=True)))
        assert codes.min() >= 0


def of(*lines: tuple[list[list[Line]], str], truth: bool = False) -> mg.MapFrames:
    """Return a scene of several classes."""
    first, *others = (scene(frames, truth=truth, classes=(name,)) for frames, name in lines)
    for other in others:
        first = add_instances(first, other)
    return first


def test_each_class_has_its_own_owner_of_no_match() -> None:
    classes = ("divider", "ped_crossing", "boundary")
    none: list[list[Line]] = [[], []]
    far = [[("z", 12.0, 0.6)], []], [[("h", -12.0, 1.0)], []]
    near = [[], [("a", 0.0, 0.9)]], [[], [("g", 0.0, 1.0)]]
    twice = [[], [("a", 0.0, 0.9), ("a", 9.0, 0.2)]], near[1]
    for divider, crossing, boundary in ((near, (none, none), far), (twice, far, (none, none)), (far, twice, far)):
        sides = [of(*zip((divider[k], crossing[k], boundary[k]), classes, strict=True), truth=k == 1) for k in (0, 1)]
        found = mg.evaluate(sides[0], sides[1], PROTOCOL.replace(classes=classes))
        assert [one["c_map"] for one in found.classes.values() if one["truth"]] == [
            0.0 if side is far else 1.0 for side in (divider, crossing, boundary) if side[1] is not none
        ]


def test_no_match_of_a_class_is_neither_a_track_nor_no_match_of_another_class() -> None:
    classes = ("divider", "ped_crossing")
    true: list[list[Line]] = [[("h", -12.0, 1.0)], [("p", 0.0, 1.0)]]  # "p" is the first of all names
    divider: list[list[Line]] = [[("p", 12.0, 0.6)], [("a", 0.0, 0.9)]]
    crossing: list[list[Line]] = [[("q", 12.0, 0.6)], [("q", 0.0, 0.9), ("q", 9.0, 0.2)]]
    x = of(*zip((divider, crossing), classes, strict=True))
    y = of(*zip((true, true), classes, strict=True), truth=True)
    found = mg.evaluate(x, y, PROTOCOL.replace(classes=classes)).classes
    assert [found[name]["c_map"] for name in classes] == [0.5, 0.5]


def test_false_positives_in_frames_without_truth_are_free() -> None:
    truth = scene([[("g", 0.0, 1.0)], []], truth=True)
    predictions = scene([[("a", 0.0, 0.5)], [("b", 0.0, 0.9), ("c", 3.0, 0.8)]])
    assert c_map(predictions, truth) == 1.0
    counted = mg.evaluate(predictions, truth, PROTOCOL.replace(skip_without_truth=False))
    assert counted.mean["c_map"] == pytest.approx(1 / 3)
    draws = mg.compare([mg.evaluate(predictions, truth, PROTOCOL)]).estimates[0]["mean"]["c_map"]
    assert draws.value == 1.0


def test_time_stamps_decide_the_order_of_frames() -> None:
    truth = scene([[("g", 0.0, 1.0)]] * 3, truth=True, timestamps=np.array([20, 30, 10]))
    predictions = scene([[("b", 0.0, 0.5)], [("b", 0.0, 0.6)], [("a", 0.0, 0.9)]])
    assert c_map(predictions, truth) == pytest.approx(1 / 3)  # "a" is first in time and owns the track
    assert c_map(predictions, replace(truth, timestamps=None)) > 0.4


def test_scenes_share_no_owners_and_one_frame_is_enough() -> None:
    truth = join_frames([scene(TRUE[:1], truth=True, name=name) for name in ("s", "t")])
    predictions = join_frames([scene([[(track, 0.0, 0.9)]], name=name) for name, track in (("s", "a"), ("t", "b"))])
    assert c_map(predictions, truth) == 1.0
    codes = {finding.code for finding in mg.check(predictions, truth)}
    assert {"scenes-one-frame", "tracks-across-scenes"} <= codes


def test_instances_without_a_track_are_tracks_of_their_own() -> None:
    truth = scene(TRUE[:4], truth=True)
    none = scene([[("", 0.0, 0.9)]] * 4)
    assert c_map(none, truth) == pytest.approx(1 / 16)  # one hit among four of equal confidence
    hits = mg.evaluate(none, truth, PROTOCOL).frames(sort="token")
    assert [row["hits:c_map@0.5"] for row in hits] == [1, 0, 0, 0]


def test_data_without_tracks_or_scenes_is_refused() -> None:
    truth, predictions = scene(TRUE[:2], truth=True), scene([[("a", 0.0, 0.9)]] * 2)
    with pytest.raises(mg.InvalidInput, match=r"predictions: c_map needs tracks, .*pos_predictions"):
        mg.evaluate(replace(predictions, track=None), truth, PROTOCOL)
    with pytest.raises(mg.InvalidInput, match=r"truth: c_map needs tracks, .*tracks="):
        mg.evaluate(predictions, replace(truth, track=None, scenes=None), PROTOCOL)
    with pytest.raises(mg.InvalidInput, match="c_map is computed per scene"):
        mg.evaluate(predictions, replace(truth, scenes=None), PROTOCOL)


def test_a_data_set_without_times_is_refused_and_one_with_times_gives_the_same_bits(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    lines = [[("a" if k % 3 else "b", 0.1, 0.9 - 0.01 * k), ("c", 4.0, 0.3)] for k in range(12)]
    truth = scene(TRUE[:12], truth=True, timestamps=np.arange(12))
    folders = [write_folder(side, tmp_path / name) for side, name in ((scene(lines), "x"), (truth, "y"))]
    expected = mg.evaluate(scene(lines), truth, PROTOCOL)
    streamed = mg.evaluate(folders[0], folders[1], PROTOCOL, workers=2)
    assert streamed.classes == expected.classes  # tokens sort as s-0, s-1, s-10, ...
    assert same(streamed, mg.evaluate(folders[0], folders[1], PROTOCOL, engine="processes", workers=2))
    plain = write_folder(replace(truth, timestamps=None), tmp_path / "z")
    with pytest.raises(mg.InvalidInput, match="needs the order of frames"):
        mg.evaluate(folders[0], plain, PROTOCOL)


def twin(frame: list[int], track: list[int], match: list[int]) -> list[bool]:
    """The rules of the table from id to match, word by word."""
    owner: dict[int, int] = {}
    tables: dict[int, dict[int, int]] = {}
    for f, i, m in zip(frame, track, match, strict=True):
        tables.setdefault(f, {})[i] = m
    for f in sorted(tables):
        for i, m in tables[f].items():
            owner.setdefault(m, i)
    return [owner[tables[f][i]] == i for f, i in zip(frame, track, strict=True)]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(-1, 3)), max_size=25))
def test_owners_are_those_of_the_twin(rows: list[tuple[int, int, int]]) -> None:
    rows.sort(key=lambda row: row[0])
    frame, track, match = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
    found = keeps_owner(*(np.array(column, np.int64) for column in (frame, track, match)))
    assert found.tolist() == twin(frame, track, match)
