"""Columns of instances: one table says how they are hashed, joined, stored and grouped."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.shared_data import DATA, needs_data

import mapgauge as mg
from mapgauge.frames.alignment import join_frames
from mapgauge.frames.columns import COLUMNS
from mapgauge.frames.content import content_hash, hash_text
from mapgauge.frames.map_frames import FIELDS
from mapgauge.plugin import Column

# The hashes of files, without and with tracks. Results keep them, so they never change.
STORED = {
    "global_reference/av2_all_gt.json": ("17c985cc80374363227646a686d404aa", "17c985cc80374363227646a686d404aa"),
    "global_reference/frames/model_a_pos_predictions.pkl.gz": (
        "47de0c9e302f0b606a67122088d4004c",
        "bab1c4f3be7c509eb9129f45ef9b3087",
    ),
    "global_reference/frames/truth_60x30.parquet": (
        "8d20b5b06b38b122f58aee3072e68ae7",
        "87f81ef984f134fcf1fc8b8ee5973cef",
    ),
    "lanes_reference/centerline/data_dict_ref_val.pkl": (
        "f58270fa97d08ea1a72135f4eeaaf6fc",
        "57e8f766ab71ef98ca55b7fcb5a22141",
    ),
    "lanes_reference/centerline/model_a/result.pkl": (
        "ea026f94cde7a606eeea2c4a61334fbe",
        "ea026f94cde7a606eeea2c4a61334fbe",
    ),
    "lanes_reference/graphs/graphs_model_a.json": (
        "9c59b85ef697125876904ec7c9a0dec7",
        "9c59b85ef697125876904ec7c9a0dec7",
    ),
    "nuscenes_mini_predictions/nuscmap_results.json": (
        "73ba1bc0f0b94fa7707ffe8a624f0c16",
        "73ba1bc0f0b94fa7707ffe8a624f0c16",
    ),
    "nuscenes_mini_predictions/submission_vector.json": (
        "428cd1d23cfa4814e7f161bd3e728c51",
        "428cd1d23cfa4814e7f161bd3e728c51",
    ),
    "own_map/map_metres.geojson": ("0c3a1d7bff8824c2e4375c2945fcbcf5", "0c3a1d7bff8824c2e4375c2945fcbcf5"),
    "parity_demo/demo_map_anns.json": ("72fc3ec893c717584b68258b12451ca8", "72fc3ec893c717584b68258b12451ca8"),
    "parity_demo/tmp_gts_demo_60x30.json": ("5d3008cbd53b6107a030d753e52f03d0", "5d3008cbd53b6107a030d753e52f03d0"),
    "vad_reference/results_nusc.json.gz": ("e508cff49cbbd87645d8eeede080a5f5", "e508cff49cbbd87645d8eeede080a5f5"),
}


@pytest.mark.whole
@pytest.mark.parametrize(
    ("file", "hashes"), [pytest.param(file, both, marks=needs_data(file), id=file) for file, both in STORED.items()]
)
def test_the_hashes_of_sample_files_stay_as_they_are(file: str, hashes: tuple[str, str]) -> None:
    frames = mg.read(DATA / file)
    assert tuple(hash_text(content_hash(frames, tracks=tracks)) for tracks in (False, True)) == hashes


def full() -> mg.MapFrames:
    """Frames with every column that files have."""
    lines = [[[0, 0], [9, 0]], [[0, 1], [9, 1]], [[0, 2.5], [9, 2.5]]]
    frames = mg.MapFrames.of(
        {"a": {"divider": lines[:2]}, "b": {}, "c": {"boundary": lines[2:], "divider": lines[:1]}},
        columns={"track": {"a": {"divider": ["t1", ""]}, "c": {"boundary": ["t2"]}}},
    )
    return replace(
        frames,
        intersection=np.array([True, False, False, False]),
        ignore=np.array([False, True, False, False]),
        change=np.array(["", "moved", "", ""]),
    )


def test_hashes_and_files_with_every_column_stay_as_they_are(tmp_path: Path) -> None:
    frames = full()
    hashes = [hash_text(content_hash(frames, tracks=tracks)) for tracks in (False, True)]
    assert hashes == ["2b9d9119337cfbd166013d22e6744572", "0416f0a3fa89b908e7da48af48e45ec3"]
    mg.write(frames, tmp_path / "x.geojson")
    assert (
        hashlib.sha256((tmp_path / "x.geojson").read_bytes()).hexdigest()
        == "5a77166afeb7d60df680c33fbae0233dbd1bbe8f92074a80395c9497babc904d"
    )
    mg.write(frames, tmp_path / "x.parquet")
    for name in ("x.geojson", "x.parquet"):
        again = mg.read(tmp_path / name)
        assert {key: values.tolist() for key, values in again.columns.items()} == {
            key: values.tolist() for key, values in frames.columns.items()
        }


def test_the_fields_of_map_frames_are_rows_of_the_table() -> None:
    assert list(COLUMNS)[: len(FIELDS)] == list(FIELDS)
    assert all(hasattr(full(), name) for name in FIELDS)


def test_columns_follow_their_instances() -> None:
    frames = full()
    assert frames.at([2, 0]).columns["track"].tolist() == ["t2", "", "t1", ""]
    assert frames.between(slice(1, 3)).columns["track"].tolist() == ["t2", ""]
    assert frames.select(["divider"]).columns["change"].tolist() == ["", "moved", ""]
    assert frames.crop((4, 30)).columns["ignore"].tolist() == [False, True, False, False]


def test_parts_without_a_column_have_its_empty_value_or_make_it_unknown() -> None:
    other = replace(mg.MapFrames.of({"d": {"divider": [[[0, 0], [9, 0]]]}}), name="other")
    joined = join_frames([full(), other])
    assert joined.columns["ignore"].tolist() == [False, True, False, False, False]
    assert joined.columns["change"].tolist() == ["", "moved", "", "", ""]
    assert set(joined.columns) == {"ignore", "change"}  # tracks and intersections of the other part are not known


def test_columns_are_set_and_removed_by_name() -> None:
    frames = full()
    assert frames.with_columns(track=[1, 2, 3, 4]).columns["track"].tolist() == ["1", "2", "3", "4"]
    assert frames.with_columns(track=None, change=None).columns.keys() == {"intersection", "ignore"}


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"cots": [1.0] * 4}, "unknown column 'cots'"),
        ({"track": ["a"]}, "track has 1 rows, expected 4"),
        ({"intersection": [1, 0, 1, 0]}, "intersection must be true or false for each instance"),
    ],
)
def test_columns_of_another_size_or_type_are_refused(columns: dict[str, Any], words: str) -> None:
    with pytest.raises(mg.InvalidInput, match=words):
        full().with_columns(**columns)


def test_a_name_with_another_meaning_is_no_column() -> None:
    for name in ("confidence", "links", "two words"):
        with pytest.raises(mg.InvalidInput, match="cannot be called"):
            Column(name=name, about="", kind="number", empty=0.0)
    with pytest.raises(mg.InvalidInput, match="cannot be stored"):
        Column(name="things", about="", kind="object", empty=None)
