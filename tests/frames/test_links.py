"""Tests links: whatever happens to instances, links stay at the same lines or are removed with them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from tests.strategies import coordinates

import mapgauge as mg
from mapgauge.frames.alignment import add_instances, join_frames
from mapgauge.scoring.prepare import prepare

Link = tuple[str, int, int, float, str]  # token, numbers of two lines, weight, kind

CLASSES = ("ped_crossing", "divider", "boundary")


def chain() -> mg.MapFrames:
    """Two frames with three lines each. Lines 0, 1, 2 follow one another; 0 has the last line on its left."""
    lines = [[[0, 0], [4, 0]], [[4, 0], [8, 0]], [[8, 0], [12, 0]]]
    frames = mg.MapFrames.of({"a": {"centerline": lines}, "b": {"centerline": lines}})
    links = mg.Links.of(
        [0, 1, 3, 4, 0], [1, 2, 4, 5, 2], weight=[1, 0.5, 1, 0.25, 1], kind=["successor"] * 4 + ["left"]
    )
    return replace(frames, links=links)


def listed(frames: mg.MapFrames) -> list[tuple[int, int, float, str]]:
    assert frames.links is not None
    return list(frames.links)


@st.composite
def linked_frames(draw: st.DrawFn) -> mg.MapFrames:
    """Frames whose lines have their number as height, so that a line can be told apart after any operation."""
    frame, label = [], []
    lines: list[list[tuple[float, float, float]]] = []
    tokens = tuple("abc"[: draw(st.integers(1, 3))])
    source, target, kind = [], [], []
    for i in range(len(tokens)):
        start = len(lines)
        for _ in range(draw(st.integers(0, 4))):
            xy = draw(st.lists(st.tuples(coordinates(), coordinates()), min_size=1, max_size=5))
            while len(xy) > 1 and xy[0] == xy[-1]:  # polygons have a test of their own
                xy.pop()
            lines.append([(x, y, float(len(lines))) for x, y in xy])
            frame.append(i)
            label.append(draw(st.integers(0, 2)))
        for a in range(start, len(lines)):
            for b in range(start, len(lines)):
                for name in ("successor", "left"):
                    if draw(st.booleans()):
                        source.append(a)
                        target.append(b)
                        kind.append(name)
    weight = [draw(st.sampled_from([0.25, 0.5, 1.0])) for _ in source]
    frames = mg.MapFrames(
        tokens=tokens,
        classes=CLASSES,
        frame=np.array(frame, np.int64),
        label=np.array(label, np.int64),
        polylines=mg.Polylines.of(lines, dimension=3),
    )
    confidence = np.linspace(0.1, 1, len(lines)) if draw(st.booleans()) else None
    return replace(frames.with_confidence(confidence), links=mg.Links.of(source, target, weight=weight, kind=kind))


def number(frames: mg.MapFrames, i: int) -> int:
    return round(float(frames.polylines[i][0, 2]))


def named(frames: mg.MapFrames) -> list[Link]:
    """The links by the numbers of their lines."""
    return sorted(
        (frames.tokens[frames.frame[a]], number(frames, a), number(frames, b), weight, kind)
        for a, b, weight, kind in listed(frames)
    )


def still_there(before: mg.MapFrames, after: mg.MapFrames) -> list[Link]:
    """The links that must be left: those of lines that are left, once for each copy of their frame."""
    there = [
        (token, {number(after, i) for i in range(after.offsets[k], after.offsets[k + 1])})
        for k, token in enumerate(after.tokens)
    ]
    return sorted(
        link for token, lines in there for link in named(before) if link[0] == token and {*link[1:3]} <= lines
    )


def crop_expected(before: mg.MapFrames, after: mg.MapFrames) -> list[Link]:
    """The links that cutting must leave, by comparing every piece with the ends of every line."""
    pieces = [(token, piece) for token in after.tokens for piece in after[token]]

    def count(token: str, i: int, end: int | None) -> int:
        line = before.polylines[i]
        mine = [piece.points for of, piece in pieces if of == token and piece.points[0, 2] == line[0, 2]]
        return len(mine) if end is None else int(any(np.array_equal(points[end], line[end]) for points in mine))

    expected = []
    for a, b, weight, kind in listed(before):
        token = before.tokens[before.frame[a]]
        ends = (-1, 0) if kind == "successor" else (None, None)
        times = count(token, a, ends[0]) * count(token, b, ends[1])
        expected += [(token, number(before, a), number(before, b), weight, kind)] * times
    return sorted(expected)


@given(frames=linked_frames(), data=st.data())
def test_any_sequence_of_operations_keeps_links_at_their_lines(frames: mg.MapFrames, data: st.DataObject) -> None:
    for turn in range(data.draw(st.integers(1, 5))):
        before = frames
        step = data.draw(
            st.sampled_from(["keep", "at", "between", "classes", "rename", "turn", "join", "prepare", "crop"])
        )
        if step == "keep":
            frames = frames.keep(np.array([data.draw(st.booleans()) for _ in frames.label], np.bool_))
        elif step == "at" and len(set(frames.tokens)) == len(frames):
            order = data.draw(st.lists(st.integers(0, len(frames) - 1), max_size=4)) if len(frames) else []
            frames = frames.at(order)
        elif step == "between":
            start = data.draw(st.integers(0, 2))
            frames = frames.between(slice(start, start + data.draw(st.integers(0, 2))))
        elif step == "classes":
            frames = frames.select(data.draw(st.lists(st.sampled_from(frames.classes), min_size=1, unique=True)))
        elif step == "rename" and len(frames.classes) > 1:
            frames = frames.rename({frames.classes[1]: frames.classes[0]})
        elif step == "turn":
            frames = frames.rotate(90).resample(count=3) if all(len(line) > 1 for line in frames.polylines) else frames
        elif step == "join" and len(frames):
            frames = join_frames([frames.between(slice(0, 1)), frames.between(slice(1, None))])
        elif step == "prepare" and len(frames) and len(set(frames.tokens)) == len(frames):
            x, y = prepare(
                frames.with_confidence(1), frames, mg.protocol("paper-60x30", classes=frames.classes), "error"
            )
            assert named(x) == named(y)
            frames = y
        cut = step == "crop" and len(set(frames.tokens)) == len(frames)
        if cut:
            off = 0.0137 + 0.001 * turn  # no point of a line is on the edge, and no edge occurs twice
            left, top = (data.draw(st.integers(*bounds)) / 10 for bounds in ((-60, 20), (-20, 60)))
            frames = frames.crop((left + off, -3 - off, 3 + off, top + off))
        assert set(named(frames)) <= set(named(before))
        if len({number(before, i) for i in range(len(before.label))}) == len(before.label):  # no pieces yet
            assert named(frames) == (crop_expected if cut else still_there)(before, frames)


def test_links_of_left_out_lines_are_left_out() -> None:
    kept = chain().keep(np.array([True, False, True, True, True, True]))
    assert listed(kept) == [(0, 1, 1, "left"), (2, 3, 1, "successor"), (3, 4, 0.25, "successor")]


def test_frames_that_occur_twice_have_their_links_twice() -> None:
    twice = chain().at([1, 0, 1])
    assert [link[:2] for link in listed(twice)] == [(0, 1), (1, 2), (3, 4), (3, 5), (4, 5), (6, 7), (7, 8)]


def test_a_link_belongs_to_the_pieces_with_the_end_and_the_start() -> None:
    out_and_back = [[0, 0], [0, 9], [1, 9], [1, 0]]
    frames = mg.MapFrames.of({"a": {"centerline": [out_and_back, [[1, 0], [1, -5], [2, -5], [2, 0]]]}})
    frames = replace(frames, links=mg.Links.of([0, 1, 0], [1, 0, 1], kind=["successor", "successor", "left"]))
    cropped = frames.crop((-4, -4, 4, 4))
    assert [line[:, 0].tolist() for line in cropped.polylines] == [[0, 0], [1, 1], [1, 1], [2, 2]]
    assert [link[:2] for link in listed(cropped) if link[3] == "successor"] == [(1, 2), (3, 0)]
    assert [link[:2] for link in listed(cropped) if link[3] == "left"] == [(0, 2), (0, 3), (1, 2), (1, 3)]


def test_a_link_whose_end_was_cut_off_is_removed() -> None:
    assert [link[:2] for link in listed(chain().crop((-1, -1, 7, 1)))] == [(0, 1), (2, 3)]
    assert listed(chain().crop((1, -1, 3, 1))) == []


def test_the_first_point_of_a_polygon_is_in_its_joined_piece() -> None:
    ring = [[0, 0], [9, 0], [9, 1], [0, 1], [-9, 1], [-9, 0], [0, 0]]
    frames = mg.MapFrames.of({"a": {"centerline": [ring, [[0, 0], [0, 1]]]}})
    frames = replace(frames, links=mg.Links.of([0, 1], [1, 0]))
    cropped = frames.crop((-4, -4, 4, 4))
    assert cropped.polylines[0].tolist() == [[-4, 0], [0, 0], [4, 0]]
    assert [link[:2] for link in listed(cropped)] == [(0, 2), (2, 0)]


def test_lines_without_points_keep_their_links() -> None:
    frames = mg.MapFrames.of({"a": {"centerline": [[[0, 0], [50, 0]], np.empty((0, 2))]}})
    frames = replace(frames, links=mg.Links.of([1, 1], [0, 1]))
    assert [link[:2] for link in listed(frames.crop((60, 30)))] == [(1, 0), (1, 1)]


def test_links_are_joined_if_all_parts_have_them() -> None:
    other = chain().at([0])
    assert [link[:2] for link in listed(join_frames([other, chain()]))] == [
        (0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5), (6, 7), (7, 8),
    ]  # fmt: skip
    assert join_frames([other, replace(other, links=None)]).links is None


def test_instances_are_added_with_their_links() -> None:
    dividers = mg.MapFrames.of({"a": {"divider": [[[0, 1], [9, 1]]]}, "b": {"divider": [[[0, 1], [9, 1]]] * 2}})
    both = add_instances(dividers, chain())
    assert both.counts == {"divider": 3, "centerline": 6}
    assert [link[:2] for link in listed(both)] == [(1, 2), (1, 3), (2, 3), (6, 7), (7, 8)]
    assert all(
        both.polylines[a].tolist()[-1] == both.polylines[b].tolist()[0] for a, b, *_ in listed(both) if b == a + 1
    )
    with pytest.raises(mg.InvalidInput, match="same frames"):
        add_instances(dividers.at([0]), chain())


def test_links_are_sorted_and_can_be_chosen_by_kind() -> None:
    links = chain().links
    assert links is not None
    assert len(links) == 5
    assert list(links.of_kind("left")) == [(0, 2, 1.0, "left")]
    assert links.source.dtype == links.target.dtype == np.int64


@pytest.mark.parametrize(
    ("source", "target", "weight", "kind", "message"),
    [
        ([0], [1, 2], 1.0, "left", "target must have one value per link"),
        ([0, 1], [1, 2], [1.0], "left", "weight must have one value per link"),
        (
            [0, 1],
            [1, 2],
            [1.0, np.nan],
            "left",
            "from instance 1 to instance 2 has weight nan, expected a finite number",
        ),
        ([0], [1], [-0.5], "left", "has weight -0.5"),
        ([0, 1], [1, 2], 1.0, ["left", ""], "from instance 1 to instance 2 has no kind"),
        ([0, 0], [1, 1], 1.0, "left", "from instance 0 to instance 1 of kind left occurs twice"),
    ],
)
def test_damaged_links_are_refused(
    source: list[int], target: list[int], weight: ArrayLike, kind: str | list[str], message: str
) -> None:
    with pytest.raises(mg.InvalidInput, match=message):
        mg.Links.of(source, target, weight=weight, kind=kind)


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ([0], [6], "target 0 is 6, expected the index of one of 6 instances"),
        ([-1], [0], "source 0 is -1"),
        ([2], [3], "from instance 2 to instance 3 joins two frames"),
    ],
)
def test_links_that_do_not_fit_the_frames_are_refused(source: list[int], target: list[int], message: str) -> None:
    with pytest.raises(mg.InvalidInput, match=message):
        replace(chain(), links=mg.Links.of(source, target))
