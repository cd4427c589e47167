"""Every frame of either side belongs to one chunk, and this chunk reads the row groups that hold the frame."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mapgauge as mg
from mapgauge.evaluation.streaming import plan
from mapgauge.evaluation.streaming.plan import Chunk, plan_of
from mapgauge.io.dataset import DataSet, Group, Key

keys = st.tuples(st.sampled_from("abcd"), st.sampled_from("0123456789"))
groups_of_keys = st.lists(st.lists(keys, min_size=1, max_size=4), max_size=8)


def dataset(groups: list[list[Key]], name: str, *, scenes: bool, size: int = 1) -> DataSet:
    """Return a data set as its footers describe it. Statistics are computed for each column separately."""
    found = []
    for number, inside in enumerate(groups):
        scene, token = sorted(key[0] for key in inside), sorted(key[1] for key in inside)
        found.append(Group(name, number, len(inside), size, (scene[0], token[0]), (scene[-1], token[-1])))
    return DataSet(
        path=name,
        files=(name,),
        groups=tuple(found),
        classes=(),
        confidence=True,
        scenes=scenes,
        digest="",
        stamps={},
        findings=(),
    )


def holds(chunk: Chunk, side: str, group: int) -> bool:
    return any(group in piece.groups for piece in getattr(chunk, side))


@given(predictions=groups_of_keys, truth=groups_of_keys.filter(bool), scenes=st.booleans(), rows=st.integers(1, 12))
def test_every_frame_is_in_one_chunk_that_reads_it(
    predictions: list[list[Key]], truth: list[list[Key]], scenes: bool, rows: int
) -> None:
    x = dataset(predictions, "x", scenes=scenes)
    y = dataset(truth, "y", scenes=True)
    made = plan_of(x, y, most_rows=rows)
    assert made.by_scene == scenes
    assert [chunk.index for chunk in made.chunks] == list(range(len(made.chunks)))
    for side, groups in (("predictions", predictions), ("truth", truth)):
        for number, inside in enumerate(groups):
            for scene, token in inside:
                key = (scene if scenes else "", token)
                owners = [chunk for chunk in made.chunks if chunk.owns(key)]
                assert len(owners) == 1
                assert holds(owners[0], side, number)


def test_a_row_group_of_the_truth_is_read_once() -> None:
    groups = [[("a", str(k))] for k in range(9)]
    made = plan_of(dataset(groups, "x", scenes=True), dataset(groups, "y", scenes=True))
    assert sum(len(piece.groups) for chunk in made.chunks for piece in chunk.truth) == 9


def test_overlapping_row_groups_that_fill_the_memory_are_refused() -> None:
    overlapping = [[("", "1"), ("", "9")], [("", "2"), ("", "8")]]
    large = dataset(overlapping, "large", scenes=False, size=plan.BYTES)
    small = dataset(overlapping, "small", scenes=False)
    with pytest.raises(
        mg.InvalidInput,
        match=r"large: .*2 row groups .*overlap",
    ):
        plan_of(small, large)
    with pytest.raises(mg.InvalidInput, match="large: the token ranges of 2 row groups"):
        plan_of(large, small)


def test_truth_sorted_by_scenes_that_the_predictions_lack_is_explained() -> None:
    truth = dataset([[("a", "1"), ("a", "9")], [("b", "2"), ("b", "8")]], "truth", scenes=True, size=plan.BYTES)
    with pytest.raises(mg.InvalidInput, match="predictions has no scenes"):
        plan_of(dataset([[("", "1")]], "predictions", scenes=False), truth)


def test_a_truth_without_frames_is_refused() -> None:
    with pytest.raises(mg.InvalidInput, match="y: no frames"):
        plan_of(dataset([], "x", scenes=False), dataset([], "y", scenes=False))
