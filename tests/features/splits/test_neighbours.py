"""Neighbours equal a comparison of all pairs, and a search can be interrupted."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.features.splits.diversity import tree_of_prepared
from mapgauge.features.splits.neighbours import FrameIndex, neighbours_of_prepared, prepared_truth
from mapgauge.features.splits.similar import similar

TRAIN = replace(demo_world(60, seed=1, predictions=0)[1], name="train")
VAL = demo_world(30, seed=2, predictions=0)[1]


def all_pairs(x: mg.MapFrames, y: mg.MapFrames, protocol: mg.Protocol) -> np.ndarray:
    """PLD of every frame of ``x`` with every frame of ``y``, by ``mg.pld`` of all lines with their classes."""
    rows = np.repeat(np.arange(len(x)), len(y)), np.tile(np.arange(len(y)), len(x))
    none: dict[str, Any] = dict.fromkeys(("scenes", "timestamps", "poses", "track"))
    tokens = tuple(f"{i}-{j}" for i, j in zip(*rows, strict=True))
    sides = [replace(side.at(of.tolist()), tokens=tokens, **none) for side, of in zip((x, y), rows, strict=True)]
    results = mg.evaluate(sides[0].with_confidence(1.0), sides[1], protocol, metrics=["pld"])
    sums = results.scores.sums["pld"][0].sum(axis=1)
    value = sums[:, :5].sum(axis=1)
    pairs: np.ndarray = (2 * value / (sums[:, 5] + value)).reshape(len(x), len(y))
    return pairs


@pytest.mark.parametrize("name", ["paper-60x30", "even-60x30"])
def test_neighbours_are_those_of_all_pairs(name: str) -> None:
    protocol = mg.protocol(name)
    pairs = all_pairs(VAL, TRAIN, protocol)
    near = mg.neighbours(VAL, TRAIN, count=3, protocol=protocol)
    np.testing.assert_allclose(near.distance, np.sort(pairs, axis=1)[:, :3], rtol=0, atol=1e-12)
    np.testing.assert_allclose(near.distance, np.take_along_axis(pairs, near.nearest, axis=1), rtol=0, atol=1e-12)
    assert near.compared < near.pairs == len(VAL) * len(TRAIN)


def lines(draw: Callable[[st.SearchStrategy[Any]], Any]) -> mg.MapFrames:
    point = st.tuples(st.floats(-8, 8), st.floats(-4, 4))
    line = st.lists(point, min_size=2, max_size=5).map(np.array)
    frame = st.fixed_dictionaries({name: st.lists(line, max_size=3) for name in ("divider", "boundary")})
    return mg.MapFrames.of({f"t{k}": draw(frame) for k in range(4)})


@given(st.data())
def test_bounds_never_exceed_distances(data: st.DataObject) -> None:
    protocol = mg.protocol("paper-60x30", classes=["divider", "boundary"])
    x, y = (prepared_truth(lines(data.draw), protocol) for _ in range(2))
    index = FrameIndex.of(x, y, protocol)
    for frame in range(len(x)):
        distances = index.distances(frame, np.arange(len(y)))
        assert (index.bounds(frame) <= distances + 1e-9).all()
        back = FrameIndex.of(y, x, protocol)
        np.testing.assert_allclose(
            [back.distances(k, np.array([frame]))[0] for k in range(len(y))], distances, atol=1e-12
        )


def test_a_frame_is_not_its_own_neighbour_and_scenes_can_be_left_out() -> None:
    alone = mg.neighbours(TRAIN, tokens=TRAIN.tokens[:5])
    assert all(partner != token for token, partner in zip(alone.tokens, alone.partners, strict=True))
    others = mg.neighbours(TRAIN, tokens=TRAIN.tokens[:5], other_scenes=True)
    scene = dict(zip(TRAIN.tokens, TRAIN.scenes or (), strict=True))
    assert all(scene[token] != scene[partner] for token, partner in zip(others.tokens, others.partners, strict=True))
    assert (others.distance >= alone.distance).all()


def test_the_order_of_frames_and_the_number_of_threads_do_not_matter() -> None:
    doubled = mg.MapFrames.of({name: {"divider": [[[0, 0], [9, 0]]]} for name in ("c", "a", "b")})
    protocol = mg.protocol("paper-60x30", classes=["divider"])
    assert mg.neighbours(doubled, protocol=protocol).partners == ["a", "b", "a"]  # ties go to the first token
    turned = VAL.at(range(len(VAL))[::-1])
    first = mg.neighbours(VAL, TRAIN, workers=1)
    second = mg.neighbours(turned, TRAIN.at(range(len(TRAIN))[::-1]), workers=3)
    assert first.partners == second.partners[::-1]
    assert np.array_equal(first.distance, second.distance[::-1])


def test_frames_without_lines_have_neighbours() -> None:
    frames = mg.MapFrames.of({"a": {}, "b": {"divider": [[[0, 0], [9, 0]]]}, "c": {}})
    near = mg.neighbours(frames, protocol=mg.protocol("paper-60x30", classes=["divider"]))
    assert near.partners == ["c", "a", "a"]
    assert near.distance[:, 0].tolist() == [0.0, 1.0, 0.0]
    alone = mg.neighbours(frames.at([0]), protocol=mg.protocol("paper-60x30", classes=["divider"]))
    assert alone.partners == [""]
    assert np.isnan(alone.distance).all()


def test_an_interrupted_search_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "search.npz"
    protocol = mg.protocol("paper-60x30")
    x = prepared_truth(VAL, protocol)
    y = prepared_truth(TRAIN, protocol)
    often: dict[str, Any] = {"protocol": protocol, "work": file, "workers": 1, "block": 10, "pause": -1.0}
    done = []

    def stop(finished: int, total: int) -> None:
        done.append((finished, total))
        if finished == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        neighbours_of_prepared(x, y, progress=stop, **often)
    asked: list[int] = []
    search = FrameIndex.nearest

    def counted(self: FrameIndex, frame: int, *rest: object) -> object:
        asked.append(frame)
        return search(self, frame, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(FrameIndex, "nearest", counted)
    near = neighbours_of_prepared(x, y, **often)
    assert asked == list(range(20, 30))
    whole = mg.neighbours(VAL, TRAIN)
    assert np.array_equal(near.nearest, whole.nearest)
    assert near.compared == whole.compared
    with pytest.raises(mg.InvalidInput, match="search of other frames"):
        mg.neighbours(VAL, TRAIN, work=file, count=2)
    with pytest.raises(mg.InvalidInput, match="search of other frames"):
        mg.neighbours(VAL, TRAIN.at(range(len(TRAIN))[::-1]), work=file)
    file.write_bytes(b"no archive")
    with pytest.raises(mg.UnreadableFile, match="expected a file of a search"):
        mg.neighbours(VAL, TRAIN, work=file)


def test_what_cannot_be_searched_is_refused() -> None:
    with pytest.raises(mg.InvalidInput, match="these are predictions"):
        mg.neighbours(VAL.with_confidence(0.5))
    with pytest.raises(mg.InvalidInput, match="PLD of order 1"):
        mg.neighbours(VAL, protocol="maptr")
    with pytest.raises(mg.InvalidInput, match="no lines of centerline, the classes of paper-60x30"):
        mg.neighbours(VAL, protocol=mg.protocol("paper-60x30", classes=["centerline"]))
    with pytest.raises(mg.InvalidInput, match="count"):
        mg.neighbours(VAL, count=0)
    with pytest.raises(mg.InvalidInput, match="needs frames with scenes"):
        mg.neighbours(replace(VAL, scenes=None, tokens=tuple(map(str, range(len(VAL))))), other_scenes=True)


@pytest.mark.fuzz
def test_neighbours_are_those_of_all_pairs_in_a_large_world() -> None:
    train, val = demo_world(2000, seed=5, predictions=0)[1], demo_world(500, seed=6, predictions=0)[1]
    protocol = mg.protocol("paper-60x30")
    index = FrameIndex.of(prepared_truth(val, protocol), prepared_truth(train, protocol), protocol)
    pairs = np.stack([index.distances(frame, np.arange(len(train))) for frame in range(len(val))])
    near = mg.neighbours(val, train)
    assert np.array_equal(near.distance[:, 0], pairs.min(axis=1))


def test_a_tree_is_the_shortest_one_and_a_thin_set_covers_all() -> None:
    some = TRAIN.at(range(30))
    protocol = mg.protocol("paper-60x30")
    pairs = all_pairs(some, some, protocol)
    tree = mg.diversity(some)
    inside, total = {0}, 0.0  # Prim's algorithm
    while len(inside) < len(some):
        others = [k for k in range(len(some)) if k not in inside]
        length, added = min((pairs[i, j], j) for i in inside for j in others)
        inside.add(added)
        total += length
    assert tree.total == pytest.approx(total, abs=1e-9)
    # 100 pairs of 435, so that the tree grows in steps.
    in_steps = tree_of_prepared(prepared_truth(some, protocol), protocol, most_pairs=100)
    assert np.array_equal(in_steps.edges, tree.edges)
    assert [length for *_, length in tree.duplicates(0.8)] == [length for length in tree.length if length <= 0.8]
    thinned = mg.thin(some, 0.75)
    place = {token: k for k, token in enumerate(some.tokens)}
    kept = [place[token] for token in thinned.tokens]
    assert all(pairs[place[token], place[like]] <= 0.75 for token, like in thinned.like.items())
    assert (pairs[np.ix_(kept, kept)] + np.eye(len(kept)) > 0.75).all()
    assert len(kept) + len(thinned.like) == len(some)
    assert len(thinned.like) > 0


def test_a_tree_of_many_equal_frames_is_found() -> None:
    """All pairs of two groups of equal frames have the same bound, and do not fit into memory at once."""
    protocol = mg.protocol("paper-60x30", classes=["divider"])
    for k in range(8):
        lines = [[[0, 0], [9 + k, 0]], [[0, 0.7 + 0.01 * k], [9, 0.2]]]
        frames = mg.MapFrames.of({f"{side}{copy}": {"divider": [lines[side]]} for side in (0, 1) for copy in range(6)})
        tree = tree_of_prepared(prepared_truth(frames, protocol), protocol, most_pairs=10)
        apart = mg.neighbours(frames.at([0]), frames.at([6]), protocol=protocol).distance[0, 0]
        assert tree.length.tolist() == [0.0] * 10 + [apart]


def test_a_truth_that_is_prepared_once_answers_like_single_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    _, truth = demo_world(30)
    prepared: list[mg.MapFrames] = []

    def counted(frames: mg.MapFrames, protocol: mg.Protocol) -> mg.MapFrames:
        prepared.append(frames)
        return prepared_truth(frames, protocol)

    monkeypatch.setattr("mapgauge.features.splits.similar.prepared_truth", counted)
    protocol = mg.protocol("paper-60x30")
    nearest = similar(truth, protocol)
    for token in truth.tokens[::7]:
        tokens, distances = nearest(token, 3)
        expected = mg.neighbours(truth, tokens=[token], count=3)
        assert tokens == [expected.among[k] for k in expected.nearest[0].tolist()]
        assert distances.tolist() == expected.distance[0].tolist()
    assert len(nearest(truth.tokens[0], 99)[0]) == 29
    assert len(prepared) == 1
    with pytest.raises(mg.InvalidInput):
        nearest("unknown", 3)
