"""T-PLD in evaluations: the same bits on every way, and a clear answer to bad tracks, scenes and times."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.conftest import Run, caller
from tests.features.tracks.track_cases import tracked_world
from tests.scenes_of_lines import scene as lines_of
from tests.streaming.worlds import in_chunks, same, write_folder

import mapgauge as mg
from mapgauge.features.tracks.track_scene import PARTS
from mapgauge.frames.alignment import add_instances
from mapgauge.report import write_report

World = tuple[mg.MapFrames, mg.MapFrames]
PROTOCOL = mg.protocol("paper-60x30", settings={"track_pld": {"switch_cost": 0.5}})
TURNED = range(39, -1, -1)  # the frames of ``tracked_world``, the last one first


@pytest.fixture(scope="module")
def tracked() -> World:
    return tracked_world()


def codes(predictions: mg.MapFrames, truth: mg.MapFrames) -> dict[str, mg.Finding]:
    found = mg.evaluate(predictions, truth, PROTOCOL, metrics=["track_pld"]).findings
    return {finding.code: finding for finding in found}


def some(value: float | None) -> float:
    assert value is not None
    return value


def test_its_values_are_those_of_the_scenes(tracked: World) -> None:
    results = mg.evaluate(*tracked, PROTOCOL)
    assert results.metrics == ("pld", "track_pld", "ap_chamfer", "ap_frechet")
    x, y = (side.resample(spacing=0.5) for side in tracked)
    for name in results.class_names:
        scenes = []
        for scene in dict.fromkeys(y.scenes or ()):
            frames = [i for i, one in enumerate(y.scenes or ()) if one == scene]
            sides = [side.at(frames).select([name]) for side in (x, y)]
            scenes.append(mg.track_pld(*sides, switch_cost=0.5, closed="auto", directed=False))
        pooled = sum(scenes)
        assert isinstance(pooled, mg.TrackPldResult)
        values = results.classes[name]
        assert values["track_pld"] == pytest.approx(pooled.normalised, rel=1e-12)
        assert values["switch_count"] == pooled.switch_count
        assert values["fragmentations"] == pooled.fragmentations
        assert values["inconsistency"] == some(values["track_pld"]) - some(values["pld"]) or not pooled.switch_count
        assert sum(some(values[f"track_{part}"]) for part in PARTS) == pytest.approx(some(values["track_pld"]))
        assert values["track_switches"] == pytest.approx(pooled.normalised_parts.switches)
    assert some(results.mean["switch_count"]) > 3
    assert some(results.mean["inconsistency"]) > 0.005


def test_switch_cost_0_has_the_bits_of_pld(tracked: World) -> None:
    results = mg.evaluate(
        *tracked, PROTOCOL.replace(settings={"track_pld": {"switch_cost": 0}}), metrics=["pld", "track_pld"]
    )
    for values in results.classes.values():
        assert values["track_pld"] == values["pld"]
        assert values["inconsistency"] == values["track_switches"] == 0


def test_it_is_computed_only_if_asked_for(tracked: World) -> None:
    assert mg.evaluate(*tracked).metrics == ("pld", "ap_chamfer", "ap_frechet")
    with pytest.raises(mg.InvalidInput, match=r"has no switch_cost for track_pld. Set it: mg.protocol\("):
        mg.evaluate(*tracked, metrics=["track_pld"])
    for wrong in (-1, float("nan"), "a", 1e9, True):
        with pytest.raises(mg.InvalidInput, match="switch_cost must be a number from 0"):
            mg.protocol("paper-60x30", settings={"track_pld": {"switch_cost": wrong}})
        with pytest.raises(mg.InvalidInput, match="switch_cost must be a number from 0"):
            mg.track_pld([], [], switch_cost=wrong)  # type: ignore[arg-type]
    with pytest.raises(mg.InvalidInput, match="switch_cost needs order 1"):
        mg.protocol("paper-60x30", settings={"track_pld": {"switch_cost": 0.5}}, order=2)
    with pytest.raises(mg.InvalidInput, match="switch_cost needs order 1 and a cutoff"):
        mg.protocol("maptr", settings={"track_pld": {"switch_cost": 0.5}})


def test_every_way_gives_the_same_bits(tracked: World, tmp_path: Path) -> None:
    expected = mg.evaluate(*tracked, PROTOCOL, workers=1)
    assert same(mg.evaluate(*tracked, PROTOCOL, workers=2), expected)
    predictions, truth = tracked
    # Frames in any order, instances in any order.
    rng = np.random.default_rng(0)
    frames = rng.permutation(len(truth)).tolist()
    turned = [i for k in range(len(truth)) for i in reversed(range(*predictions.offsets[k : k + 2].tolist()))]
    mixed = mg.evaluate(predictions.keep(np.array(turned)), truth.at(frames), PROTOCOL)
    assert {key: mixed.mean[key] for key in mixed.mean if "ap_" not in key} == {
        key: expected.mean[key] for key in mixed.mean if "ap_" not in key
    }
    x, y = (write_folder(side, tmp_path / name) for side, name in zip(tracked, "xy", strict=True))
    streamed = in_chunks(x, y, PROTOCOL, work=tmp_path / "work")
    assert same(streamed, expected)
    assert same(in_chunks(x, y, PROTOCOL, engine="threads", workers=2), expected)
    assert same(mg.load_results(tmp_path / "work"), expected)
    expected.save(tmp_path / "results.mg")
    assert mg.load_results(tmp_path / "results.mg").mean == expected.mean
    found = mg.compare([expected])
    estimate = found.estimates[0]["mean"]
    assert estimate["track_pld"].low < estimate["track_pld"].value < estimate["track_pld"].high <= 1
    assert estimate["switch_count"].high > 1


def test_a_resumed_run_sees_changed_ids(tracked: World, tmp_path: Path) -> None:
    predictions, truth = tracked
    x, y, work = tmp_path / "x.parquet", tmp_path / "y.parquet", tmp_path / "work"
    mg.write(predictions, x)
    mg.write(truth, y)
    before = mg.evaluate(x, y, PROTOCOL, work=work)
    assert predictions.track is not None
    names = [f"{track}-{frame // 3}" for track, frame in zip(predictions.track, predictions.frame, strict=True)]
    other = replace(predictions, track=np.array(names))
    mg.write(other, x)
    with pytest.raises(mg.InvalidInput, match="changed since the evaluation began"):
        mg.evaluate(x, y, PROTOCOL, work=work, resume=True)
    mg.write(predictions, x)  # another time, the same content; tracks are not in the hash, so it is scored again
    chunks = {file: file.stat().st_mtime_ns for file in work.rglob("*.npz")}
    assert chunks
    assert same(mg.evaluate(x, y, PROTOCOL, work=work, resume=True), before)
    assert all(file.stat().st_mtime_ns != time for file, time in chunks.items())


def test_the_order_of_the_file_counts_without_timestamps(tracked: World, tmp_path: Path) -> None:
    predictions, truth = (replace(side, timestamps=None) for side in tracked)
    settings: dict[str, Any] = {"metrics": ["track_pld"]}
    expected = mg.evaluate(predictions, truth, PROTOCOL, **settings)
    assert expected.mean == mg.evaluate(*tracked, PROTOCOL, **settings).mean
    turned = truth.at([9 * (k % 10 == 0) + k - (k % 10 != 0) for k in range(len(truth))])
    other = mg.evaluate(predictions, turned, PROTOCOL, **settings)
    assert other.mean != expected.mean
    mg.write(turned, tmp_path / "y.parquet")
    mg.write(predictions, tmp_path / "x.parquet")
    assert same(mg.evaluate(tmp_path / "x.parquet", tmp_path / "y.parquet", PROTOCOL, **settings), other)


def test_the_command_line_and_the_report_show_it(
    tracked: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    call: Run = caller(tmp_path, monkeypatch, capsys)
    for side, name in zip(tracked, ("x.parquet", "y.parquet"), strict=True):
        mg.write(side, tmp_path / name)
    done = call("evaluate", "x.parquet", "y.parquet", "--set", "track_pld.switch_cost=0.5", "-o", "x.mg", "--tables")
    assert done.returncode == 0, done.stderr
    assert "T-PLD, lower is better (paper-60x30, switch cost 0.5; cutoff 1.5 m, switch cost 0.5, a point" in done.stdout
    assert re.search(r"T-PLD ↓ +T-PLD - PLD +id switches", done.stdout)
    document = json.loads(
        call("evaluate", "x.parquet", "y.parquet", "--set", "track_pld.switch_cost=0.5", "--json").stdout
    )
    expected = mg.evaluate(*tracked, PROTOCOL)
    assert document["mean"]["track_pld"] == expected.mean["track_pld"]
    mg.evaluate(tracked[0].filter(0.5), tracked[1], PROTOCOL).save(tmp_path / "sure.mg")
    gates = ["--fail-if", "track_pld > +0.9", "--fail-if", "track_pld/mean/switch_count > +99"]
    compared = call("compare", "sure.mg", "x.mg", *gates)
    assert compared.returncode == 0, compared.stderr
    assert call("compare", "sure.mg", "x.mg", "--fail-if", "track_pld > 0.1").returncode == 3
    assert "T-PLD ↓" in compared.stdout
    assert (
        "--set track_pld.switch_cost=0.5" in call("evaluate", "x.parquet", "y.parquet", "--metrics", "track_pld").stderr
    )
    write_report(expected, tmp_path / "report.html", frames=2)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "T-PLD (lower is better)" in text
    assert f"{expected.mean['track_pld']:.3f}" in text


def test_missing_tracks_are_refused(tracked: World, tmp_path: Path) -> None:
    predictions, truth = tracked
    assert truth.track is not None
    partly = replace(truth, track=np.where(np.arange(len(truth.track)) % 7 == 3, "", truth.track))
    cases = [
        (
            replace(predictions, track=None),
            truth,
            "demo-good: (track_pld|T-PLD) needs tracks, and these frames have none",
        ),
        (
            predictions,
            replace(truth, track=None),
            "demo-truth: (track_pld|T-PLD) needs tracks, and these frames have n",
        ),
        (
            predictions,
            partly,
            r"demo-truth: .* \d+ of \d+ instances have none \(first: frame scene-0000-0\). Give each",
        ),
    ]
    for number, (x, y, message) in enumerate(cases):
        with pytest.raises(mg.InvalidInput, match=message):
            mg.evaluate(x, y, PROTOCOL)
        with pytest.raises(mg.InvalidInput, match=message):
            mg.track_pld(x, y)
        paths = write_folder(x, tmp_path / f"x{number}"), write_folder(y, tmp_path / f"y{number}")
        with pytest.raises(mg.InvalidInput, match="track_pld needs tracks"):
            mg.evaluate(paths[0], paths[1], PROTOCOL)
    assert mg.evaluate(predictions.keep(predictions.frame < 0), truth, PROTOCOL).mean["track_pld"] == 1


def test_tracks_that_repeat_in_a_frame_are_counted(tracked: World) -> None:
    predictions, truth = tracked
    assert predictions.track is not None
    assert "tracks-repeated" not in codes(predictions, truth)
    one = replace(predictions, track=np.full(len(predictions.track), "same"))
    finding = codes(one, truth)["tracks-repeated"]
    groups = len({(f, c) for f, c in zip(predictions.frame.tolist(), predictions.label.tolist(), strict=True)})
    assert finding.count == len(predictions.track) - groups
    assert finding.level == "warning"
    # The order in the file does not decide which instance keeps the track.
    turned = [i for k in range(len(truth)) for i in reversed(range(*one.offsets[k : k + 2].tolist()))]
    values = [mg.evaluate(x, truth, PROTOCOL, metrics=["track_pld"]).mean for x in (one, one.keep(np.array(turned)))]
    assert values[0] == values[1]


def test_the_longest_instance_in_each_frame_is_the_track_if_a_track_repeats() -> None:
    def side(names: str, truth: bool) -> mg.MapFrames:
        line, short = ([(name, y, 0.9)] for name, y in zip(names, (0.0, 5.0), strict=True))
        ends = ((-4.0, 0.0), (4.0, 0.0))
        # The short line of the predictions is missing in the last frame.
        rest = lines_of([short, short, short if truth else []], truth=truth, points=ends)
        return add_instances(lines_of([line] * 3, truth=truth), rest)

    truth = side("gh", truth=True)
    one, two = (mg.evaluate(side(names, truth=False), truth, PROTOCOL, metrics=["track_pld"]) for names in ("aa", "ab"))
    assert one.mean == two.mean


def test_scenes_that_share_tracks_are_counted_and_kept_apart(tracked: World) -> None:
    predictions, truth = tracked
    assert predictions.track is not None
    assert truth.track is not None
    assert not {"tracks-across-scenes"} & set(codes(predictions, truth))
    short = replace(truth, track=np.array([name.rpartition("/")[2] for name in truth.track]))
    finding = codes(predictions, short)["tracks-across-scenes"]
    assert finding.level == "note"
    assert finding.count > 1
    settings: dict[str, Any] = {"metrics": ["track_pld"]}
    assert (
        mg.evaluate(predictions, short, PROTOCOL, **settings).mean == mg.evaluate(*tracked, PROTOCOL, **settings).mean
    )


def test_the_same_id_in_another_class_or_on_the_other_side_is_another_track(tracked: World) -> None:
    short = []
    for side in tracked:
        assert side.track is not None
        number = [np.unique(side.track[side.label == c], return_inverse=True)[1] for c in range(len(side.classes))]
        place = np.empty(len(side.track), np.int64)
        for c, numbers in enumerate(number):
            place[side.label == c] = numbers
        short.append(replace(side, track=place.astype(np.str_)))
    found = [mg.evaluate(x, y, PROTOCOL, metrics=["track_pld"]) for x, y in (tracked, short)]
    assert found[0].classes == found[1].classes


def test_tokens_decide_the_order_of_frames_with_the_same_time(tracked: World) -> None:
    predictions, truth = tracked
    assert truth.timestamps is not None
    equal = replace(truth, timestamps=truth.timestamps // 10**9)
    sides = (truth, equal, equal.at(TURNED))
    found = [mg.evaluate(predictions, side, PROTOCOL, metrics=["track_pld"]).mean for side in sides]
    assert found[0] == found[1] == found[2]


def test_times_and_scenes_that_look_odd_are_counted(tracked: World) -> None:
    predictions, truth = tracked
    assert truth.timestamps is not None
    assert not set(codes(predictions, truth)) & {"timestamps-missing", "scenes-order", "scenes-in-pieces"}
    assert "timestamps-missing" in codes(predictions, replace(truth, timestamps=None))
    turned = codes(predictions, truth.at(TURNED))
    assert turned["scenes-order"].count == 4
    pieces = codes(predictions, truth.at([*range(5, len(truth)), *range(5)]))
    assert pieces["scenes-in-pieces"].count == 1
    later = replace(truth, timestamps=truth.timestamps + 10**8 * (np.arange(len(truth)) % 10 > 4))
    assert codes(predictions, later)["scenes-with-gaps"].count == 4
    equal = replace(truth, timestamps=truth.timestamps - 500_000 * (np.arange(len(truth)) % 10 == 1))
    assert codes(predictions, equal)["timestamps-equal"].count == 4
    single = codes(predictions, replace(truth, scenes=truth.tokens))
    assert single["scenes-one-frame"].count == len(truth)
    results = mg.evaluate(predictions, replace(truth, scenes=truth.tokens), PROTOCOL)
    assert results.mean["track_pld"] == pytest.approx(results.mean["pld"])
    assert results.mean["switch_count"] == 0


def test_track_pld_explains_bad_arguments(tracked: World) -> None:
    predictions, truth = tracked
    with pytest.raises(mg.InvalidInput, match=r"truth has 4 scenes, expected one. Use mg.evaluate"):
        mg.track_pld(predictions, truth)
    one = [side.between(slice(0, 10)) for side in tracked]
    with pytest.raises(mg.InvalidInput, match=r"3 classes \(ped_crossing, divider, boundary\), expected one. Select"):
        mg.track_pld(*one)
    line = [[0.0, 0.0], [9.0, 0.0]]
    for wrong, message in [
        (([{"a": line}], "ab"), r"truth must be MapFrames, or a list with a dict \{track: points\} .* got a str"),
        (([{"a": line}], [line]), "got a list as frame 0"),
        (([{"a": line}], [{"a": line}] * 2), "predictions have 1 frame and truth has 2"),
        ((one[0], [{"a": line}]), "must both be MapFrames, or both be lists"),
    ]:
        with pytest.raises(mg.InvalidInput, match=message):
            mg.track_pld(*wrong)
    with pytest.raises(mg.InvalidInput, match="one number for each track"):
        mg.track_pld([{"a": line}], [{"a": line}], confidence=[{"b": 1.0}])
    with pytest.raises(mg.InvalidInput, match="have their own confidences"):
        mg.track_pld(*one, confidence=[])
    with pytest.raises(mg.InvalidInput, match=r"predictions 0 is 2.0"):
        mg.track_pld([{"a": line}], [{"a": line}], confidence=[{"a": 2.0}])
