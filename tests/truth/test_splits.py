"""Lists of scenes."""

import pytest

import mapgauge as mg
from mapgauge.truth.selection import MISLOCATED, split_named, splits


@pytest.mark.parametrize(
    ("dataset", "one", "other"),
    [
        ("nuscenes", "train", "val"),
        ("nuscenes", "new-train", "new-val"),
        ("nuscenes", "mini-train", "mini-val"),
        ("argoverse2", "new-train", "new-val"),
    ],
)
def test_no_scene_is_in_both_halves_of_a_split(dataset: str, one: str, other: str) -> None:
    assert not set(splits(dataset)[one]) & set(splits(dataset)[other])
    assert len(set(splits(dataset)[one])) == len(splits(dataset)[one])


def test_the_new_split_of_argoverse_has_as_many_logs_as_published() -> None:
    assert {name: len(logs) for name, logs in splits("argoverse2").items()} == {"new-train": 749, "new-val": 149}


def test_the_new_split_of_nuscenes_shares_as_many_scenes_with_the_official_as_published() -> None:
    official, new = splits("nuscenes")["val"], splits("nuscenes")["new-val"]
    assert len(set(official) & set(new)) == 32
    assert set(MISLOCATED) <= set(splits("nuscenes")["new-train"])
    everything = {name for split in ("new-train", "new-val") for name in splits("nuscenes")[split]}
    assert not everything & {"scene-0910"}


def test_an_unknown_split_is_refused_with_those_there_are() -> None:
    with pytest.raises(mg.InvalidInput, match=r"unknown split 'new_val' .*split=.new-val"):
        split_named("nuscenes", "new_val")
    with pytest.raises(mg.InvalidInput, match="of argoverse2, expected one of train, new-train, new-val$"):
        split_named("argoverse2", "bogus", ("train",))
