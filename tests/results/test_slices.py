"""Slices: subsets of frames from one evaluation, with intervals and differences; tables of tags."""

import json
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import mapgauge as mg
from mapgauge.demo import demo_world

METRICS = ["pld", "completeness", "ap_chamfer", "ap_frechet"]


@cache
def sides() -> tuple[mg.MapFrames, mg.MapFrames]:
    return demo_world(80, predictions=30, quality="poor")


@cache
def whole() -> mg.Results:
    return mg.evaluate(*sides(), ranges=(0, 10, 30), metrics=METRICS)


@cache
def ahead() -> mg.Results:
    return mg.evaluate(*sides(), mg.protocol("paper-60x30", window="ahead"), metrics=METRICS)


def alone(tokens: tuple[str, ...], like: mg.Results) -> mg.Results:
    """A separate evaluation of some frames."""
    predictions, truth = (side.of_tokens(tokens) for side in sides())
    return mg.evaluate(predictions, truth, like.protocol, ranges=like.ranges, metrics=METRICS)


@settings(max_examples=8, deadline=None)
@given(st.integers(1, 80), st.integers(0, 1 << 30), st.sampled_from([whole, ahead]))
@example(80, 0, whole)
def test_a_slice_is_a_separate_evaluation_to_the_last_bit(
    count: int, seed: int, evaluated: Callable[[], mg.Results]
) -> None:
    results = evaluated()
    tokens = tuple(np.random.default_rng(seed).permutation(results.tokens)[:count].tolist())
    sliced = results.by({"some": tokens}, samples=50)
    separate = alone(tokens, results)
    some = sliced["some"]
    assert repr(some.classes) == repr(separate.classes)
    assert repr(some.mean) == repr(separate.mean)
    assert some.frame_counts["evaluated"] == len(tokens)
    compared = mg.compare([separate], names=["some"], samples=50)
    if compared.units >= 5:
        assert repr(sliced.estimates["some"]) == repr(compared.estimates[0])
    else:
        assert all(math.isnan(value.low) for value in sliced.estimates["some"]["mean"].values())


def test_slices_that_share_no_scene_are_compared_unpaired(tmp_path: Path) -> None:
    halves = {
        name: [t for t, s in zip(whole().tokens, whole().scenes or (), strict=True) if (s < "scene-0004") == first]
        for name, first in (("a", True), ("b", False))
    }
    few = whole().by(halves)
    assert few.paired == frozenset()
    assert few.units == {"a": 4, "b": 4}
    assert few.differences == {}
    assert few.notes == ["fewer than 5 scenes are too few for intervals and differences: a has 4, b has 4"]
    large = mg.evaluate(*demo_world(200, predictions=30, quality="poor"))
    lists = {"a": large.tokens[:100], "b": large.tokens[100:]}
    both = large.by(lists)
    change, estimates = both.differences["a", "b"]["mean"]["pld"], both.estimates
    halfwidths = [(of["mean"]["pld"].high - of["mean"]["pld"].low) / 2 for of in (estimates["a"], estimates["b"])]
    assert change.value == both["b"].mean["pld"] - both["a"].mean["pld"]  # type: ignore[operator]
    assert max(halfwidths) < (change.high - change.low) / 2 < 1.01 * math.hypot(*halfwidths)
    uneven = large.by({"a": large.tokens[:60], "b": large.tokens[60:]})  # 6 and 14 scenes
    assert math.isfinite(uneven.differences["a", "b"]["mean"]["pld"].low)
    assert "b minus a              unpaired" in uneven.table()


def test_slices_that_share_scenes_are_compared_paired() -> None:
    tokens = whole().tokens
    sliced = whole().by({"all": tokens, "again": tokens, "odd": tokens[1::2]})
    assert sliced.paired == {("all", "again"), ("all", "odd"), ("again", "odd")}
    same = sliced.differences["all", "again"]["mean"]["pld"]
    assert (same.value, same.low, same.high, same.decided) == (0, 0, 0, False)
    odd = sliced.differences["all", "odd"]["mean"]["pld"]
    width = sliced.estimates["odd"]["mean"]["pld"]
    assert odd.high - odd.low < width.high - width.low  # the draws are the same, so the difference is more certain


def test_a_slice_without_frames_and_a_small_one_say_so() -> None:
    sliced = whole().by({"none": ["x"], "one": whole().tokens[:3], "most": whole().tokens[3:]})
    assert sliced.empty == ("none",)
    table = sliced.table()
    assert "none has no frames" in table
    assert "fewer than 5 scenes are too few for intervals and differences: one has 1" in table
    row = next(line for line in table.splitlines() if line.startswith("one "))
    assert "[" not in row
    with pytest.raises(mg.InvalidInput, match="the slices have no frames"):
        whole().by({"none": ["x"]})
    json.dumps(sliced.to_dict())


@pytest.mark.needs_feature("tracks")
def test_metrics_of_whole_scenes_refuse_slices_that_cut_scenes() -> None:
    truth = sides()[1].at(range(20))
    results = mg.evaluate(
        truth.with_confidence(1),
        truth,
        metrics=["pld", "track_pld"],
        protocol=mg.protocol("paper-60x30", settings={"track_pld": {"switch_cost": 0.5}}),
    )
    assert results.by("scene").units["scene-0000"] == 1
    with pytest.raises(mg.InvalidInput, match="slice some has only some frames"):
        results.by({"some": results.tokens[:3]})


def test_tags_are_read_from_every_kind_of_table(tmp_path: Path) -> None:
    rows = [
        {"scene": f"scene-{k:04}", "city": "boston" if k < 5 else "miami", "night": k % 2 == 1, "speed": k / 2}
        for k in range(8)
    ]
    (tmp_path / "a.csv").write_text(
        "scene,city,night,speed\n" + "".join(f"{r['scene']},{r['city']},{r['night']},{r['speed']}\n" for r in rows),
        encoding="utf-8",
    )
    (tmp_path / "b.json").write_text(json.dumps(rows), encoding="utf-8")
    plain = {row["scene"]: {k: v for k, v in row.items() if k != "scene"} for row in rows}
    (tmp_path / "c.json").write_text(json.dumps(plain), encoding="utf-8")
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "d.parquet")
    for name in ("a.csv", "b.json", "c.json", "d.parquet"):
        tags = mg.read_tags(tmp_path / name)
        assert dict(tags.kinds) == {"city": "text", "night": "flag", "speed": "number"}, name
        by = whole().by("city", tags=tags)
        assert {key: len(part.tokens) for key, part in by.items()} == {"boston": 50, "miami": 30}
        assert sorted(whole().by("night", tags=tags)) == ["night", "not night"]
        assert len(whole().where("night and speed > 2 and city = 'miami'", tags).tokens) == 20
    tokens = tmp_path / "t.csv"
    tokens.write_text(
        "token,near\n" + "".join(f"{token},{k < 30}\n" for k, token in enumerate(whole().tokens[:50])), encoding="utf-8"
    )
    assert {name: len(part.tokens) for name, part in whole().by("near", tags=mg.read_tags(tokens)).items()} == {
        "near": 30,
        "no near": 30,
        "not near": 20,
    }


def test_cells_of_csv_keep_their_text(tmp_path: Path) -> None:
    file = tmp_path / "tags.csv"
    file.write_text('token,route,answer,bin\n1e5,12,no,1\n007,"A, 3",maybe,\n', encoding="utf-8")
    tags = mg.read_tags(file)
    assert tags.rows == {
        "1e5": {"route": "12", "answer": "no", "bin": 1.0},
        "007": {"route": "A, 3", "answer": "maybe", "bin": None},
    }


def test_whole_numbers_are_groups_and_other_numbers_are_not(tmp_path: Path) -> None:
    file = tmp_path / "tags.csv"
    file.write_text(
        "scene,bin,speed\n" + "".join(f"scene-{k:04},{10 - k},{k / 4}\n" for k in range(7)), encoding="utf-8"
    )
    tags = mg.read_tags(file)
    assert list(whole().by("bin", tags=tags)) == ["4", "5", "6", "7", "8", "9", "10", "no bin"]
    with pytest.raises(mg.InvalidInput, match="speed has other numbers than whole ones"):
        whole().by("speed", tags=tags)
    file.write_text("scene,pld\nscene-0000,1\n", encoding="utf-8")
    with pytest.raises(mg.InvalidInput, match="column pld has the name"):
        whole().where("pld > 0", mg.read_tags(file))


def test_tags_come_from_the_folders_of_data_sets(tmp_path: Path) -> None:
    tables = tmp_path / "nuscenes" / "v1.0-mini"
    tables.mkdir(parents=True)
    (tables / "scene.json").write_text(
        json.dumps(
            [
                {"token": "s0", "name": "scene-0000", "log_token": "l0", "description": "Night, big street"},
                {"token": "s1", "name": "scene-0001", "log_token": "l1", "description": "After rain, parked cars"},
            ]
        ),
        encoding="utf-8",
    )
    (tables / "log.json").write_text(
        json.dumps(
            [
                {"token": "l0", "location": "boston-seaport"},
                {"token": "l1", "location": "singapore-onenorth"},
            ]
        ),
        encoding="utf-8",
    )
    tags = mg.read_tags(tmp_path / "nuscenes")
    assert tags.rows["scene-0001"] == tags.rows["s1"] == {"city": "singapore-onenorth", "night": False, "rain": True}
    assert sorted(whole().by("city", tags=tags)) == ["boston-seaport", "no city", "singapore-onenorth"]
    folder = tmp_path / "av2" / "val" / "abc" / "map"
    folder.mkdir(parents=True)
    (folder / "log_map_archive_abc____PIT_city_72406.json").touch()
    assert mg.read_tags(tmp_path / "av2").rows == {"abc": {"city": "PIT"}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "with a column token or scene, got a, b"),
        ("scene,b\nx,1\nx,2\n", "the scene 'x' has two different rows"),
        ("scene,b\nx\n", "line 2 has 1 values, expected 2"),
        ("scene,b\n", "got no rows"),
        ("scene,b,b\nx,1,2\n", "two columns have the same name"),
        ("PAR1, cut off", "expected a table.*magic bytes"),
        ("[{]", "expected a table"),
        ('{"x": {"b": [1]}}', "the column b must have text, numbers or true and false"),
    ],
)
def test_a_wrong_table_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "tags").write_text(text, encoding="utf-8")
    with pytest.raises(mg.UnreadableFile, match=message):
        mg.read_tags(tmp_path / "tags")


def test_a_table_of_another_data_set_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tags.csv").write_text("scene,city\nelsewhere,boston\n", encoding="utf-8")
    tags = mg.read_tags(tmp_path / "tags.csv")
    with pytest.raises(mg.InvalidInput, match=r"its 1 scenes \(first: elsewhere\)"):
        whole().by("city", tags=tags)
    with pytest.raises(mg.InvalidInput, match="cannot group by 'town'"):
        whole().by("town")


@pytest.mark.parametrize("forward", ["x", "y"])
def test_a_window_cuts_both_sides_as_a_crop_does(forward: str) -> None:
    predictions, truth = (side.at(range(20)) for side in sides())
    x, y = (side if forward == "x" else side.rotate(90).with_forward("y") for side in (predictions, truth))
    metrics = ["pld", "ap_chamfer"]
    far = 1e4
    boxes = {
        "ahead": (0, -far, far, far),
        "rear": (-far, -far, 0, far),
        "left": (-far, 0, far, far),
        "right": (-far, -far, far, 0),
        "-10,-5,20,5": (-10, -5, 20, 5),
    }
    for window, box in boxes.items():
        if forward == "y" and "," in window:
            continue
        results = mg.evaluate(x, y, mg.protocol("paper-60x30", window=window), metrics=metrics)
        cut = mg.evaluate(predictions.crop(box), truth.crop(box), metrics=metrics)
        assert results.mean["pld"] == pytest.approx(cut.mean["pld"], abs=1e-9 if forward == "y" else 0), window
        assert results.mean["ap_chamfer"] == pytest.approx(cut.mean["ap_chamfer"], abs=1e-9), window
    for wrong in ("front", "1,2", "1,2,0,3", "a,b,c,d"):
        with pytest.raises(mg.InvalidInput, match="window must be ahead"):
            mg.protocol("paper-60x30", window=wrong)
