"""``mg.history``: what it says of planted histories, and of files that are damaged, foreign or of another protocol."""

import json
import os
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.features.history.conftest import copies, day, evaluated

import mapgauge as mg

Sides = tuple[mg.MapFrames, mg.MapFrames]


@pytest.fixture(scope="module")
def found(stepped: Path) -> mg.History:
    return mg.history(stepped)


def texts_of(history: mg.History) -> str:
    return " ".join(statement.text for statement in history.statements)


def test_the_answer_names_class_size_night_and_commit(found: mg.History) -> None:
    first = found.statements[0]
    (step,) = found.curve("boundary", "pld").changes
    assert first.about == "worse"
    assert first.text == (
        f"boundary got worse by {step.size:.3f} on 3 Nov 2026 (PLD {step.before:.3f} to {step.after:.3f}), "
        "with commit 4f2a."
    )
    assert first.values["class"] == "boundary"
    assert first.values["metadata:commit"] == "4f2a"


def test_the_step_is_that_of_the_values(found: mg.History) -> None:
    curve = found.curve("boundary", "pld")
    (step,) = curve.changes
    values = [value for value in curve.values if value is not None]
    assert (step.kind, step.night) == ("step", 20)
    assert step.size == pytest.approx(np.mean(values[20:]) - np.mean(values[:20]))
    assert found.curve("divider", "pld").changes == ()


def test_the_curves_are_the_values_and_intervals_of_the_files(found: mg.History, stepped: Path) -> None:
    for night in (0, 29):
        results = mg.load_results(stepped / f"{day(night)}.mg")
        (estimates,) = mg.compare([results]).estimates
        for name, key in (("mean", "pld"), ("boundary", "missed"), ("divider", "ap_chamfer@1.0")):
            values = results.mean if name == "mean" else results.classes[name]
            assert found.curve(name, key).values[night] == values[key]
        known = estimates["boundary"]["ap_chamfer"]
        assert found.curve("boundary", "ap_chamfer").intervals[night] == (known.low, known.high)


def test_the_part_that_changed_most_is_named(found: mg.History) -> None:
    assert "Of the parts of boundary, confidence rose most (+0.0" in texts_of(found)


def test_the_difference_on_shared_scenes_has_an_interval_and_counts_scenes(found: mg.History) -> None:
    (event,) = [one for one in found.main_events if (one.class_name, one.key) == ("boundary", "pld")]
    assert event.on_scenes is not None
    difference = event.on_scenes.difference
    assert difference.low < difference.value < difference.high
    assert difference.value == pytest.approx(event.change.size, abs=0.003)
    assert event.on_scenes.scenes == 6
    assert event.on_scenes.rose + event.on_scenes.fell <= 6
    assert "On the 6 scenes with boundary that the nights share" in texts_of(found)


def test_the_difference_on_shared_scenes_is_that_of_compare(sides: Sides, tmp_path: Path) -> None:
    one = evaluated(sides, {}, {})
    other = evaluated(sides, {"boundary": 0.8, "divider": 0.9}, {})
    history = mg.history(copies([one] * 5 + [other] * 5, tmp_path / "n"))
    known = mg.compare([one, other], names=["a", "b"]).differences["a", "b"]
    for name in ("boundary", "divider", "mean"):
        (event,) = [e for e in history.main_events if (e.class_name, e.key) == (name, "pld")]
        assert event.on_scenes is not None
        own = event.on_scenes.difference
        assert own.value == pytest.approx(known[name]["pld"].value, abs=1e-12)
        # The jackknife and the bootstrap estimate the same error.
        assert own.error == pytest.approx(known[name]["pld"].error, rel=0.35)


def test_groups_of_scenes_say_where_it_got_worse(stepped: Path, tmp_path: Path) -> None:
    table = tmp_path / "tags.csv"
    rows = [f"scene-000{k},{'boston' if k < 3 else 'singapore'}" for k in range(6)]
    table.write_text("\n".join(["scene,city", *rows]), encoding="utf-8")
    history = mg.history(stepped, tags=mg.read_tags(table))
    (event,) = [one for one in history.main_events if (one.class_name, one.key) == ("boundary", "pld")]
    assert event.on_scenes is not None
    assert set(event.on_scenes.groups) == {"boston", "singapore"}
    assert "for each city: boston +0." in texts_of(history)


def test_a_change_of_the_truth_in_the_same_night_is_said(sides: Sides, tmp_path: Path) -> None:
    before = evaluated(sides, {}, {})
    after = evaluated(sides, {"boundary": 0.8}, {}, truth=sides[1].at(range(50)))
    history = mg.history(copies([before] * 6 + [after] * 5, tmp_path / "n"))
    said = texts_of(history)
    assert "The inputs changed in the same night (frames 60 to 50, " in said
    assert "this need not be a change of the model" in said
    assert "The truth is the same" not in said
    assert {change.night for change in history.inputs} == {6}
    assert {change.what for change in history.inputs} >= {"frames", "true polylines", "length of the truth"}


def test_another_content_of_the_truth_alone_is_seen(sides: Sides, tmp_path: Path) -> None:
    predictions, truth = sides
    moved = replace(truth, polylines=mg.Polylines(truth.polylines.coords + 0.5e-9, truth.polylines.offsets))
    nights = [evaluated(sides, {}, {})] * 5 + [evaluated((predictions, moved), {}, {})] * 6
    history = mg.history(copies(nights, tmp_path / "n"))
    assert [(change.night, change.what) for change in history.inputs] == [(5, "content of the truth")]


def test_the_truth_is_the_same_where_it_is(found: mg.History) -> None:
    assert found.inputs == ()
    assert "The truth is the same as in the night before." in texts_of(found)


def test_a_slow_decline_is_said_without_a_night(sides: Sides, tmp_path: Path) -> None:
    nights = [evaluated(sides, {"divider": 1 - 0.012 * k}, {"commit": str(k)}) for k in range(14)]
    history = mg.history(copies(nights, tmp_path / "n"))
    first = history.statements[0]
    assert first.text.startswith("divider got slowly worse by 0.")
    assert "between 14 Oct 2026 and 27 Oct 2026, without a step" in first.text
    assert "commit" not in first.text
    assert {event.change.kind for event in history.main_events if event.key == "pld"} == {"slow"}


def test_one_bad_night_is_said_as_such(sides: Sides, tmp_path: Path) -> None:
    usual = evaluated(sides, {}, {})
    nights = [usual] * 6 + [evaluated(sides, {"divider": 0.5}, {})] + [usual] * 6
    history = mg.history(copies(nights, tmp_path / "n"))
    assert "divider was worse by 0." in history.statements[0].text
    assert " on 20 Oct 2026 only (PLD" in history.statements[0].text


def test_what_got_better_is_no_answer_to_what_got_worse(sides: Sides, tmp_path: Path) -> None:
    nights = [evaluated(sides, {"boundary": 0.8}, {})] * 6 + [evaluated(sides, {}, {})] * 6
    folder = copies(nights, tmp_path / "n")
    assert mg.history(folder).statements[0].text.startswith("boundary got better by 0.")
    only = mg.history(folder, only_worse=True)
    assert only.statements[0].text.startswith(
        "In the main values of 12 nights (14 Oct 2026 to 25 Oct 2026), nothing was found"
    )
    assert all(event.worse for event in only.events)


def test_only_worse_keeps_what_is_worse_by_the_direction_of_each_value(stepped: Path) -> None:
    only = mg.history(stepped, only_worse=True)
    assert {(event.key, event.change.size > 0) for event in only.events} <= {("pld", True), ("ap_chamfer", False)}
    assert ("pld", True) in {(event.key, event.change.size > 0) for event in only.events}


def test_a_quiet_history_says_what_would_have_been_found(stepped: Path) -> None:
    history = mg.history(sorted(stepped.iterdir())[:15])
    assert history.statements[0].about == "steady"
    assert "A jump of the mean PLD by more than 0." in history.statements[0].text


def test_a_step_after_a_gap_names_the_night_before_it(stepped: Path) -> None:
    files = sorted(stepped.iterdir())
    first = mg.history([*files[:15], *files[20:]]).statements[0].text
    assert " on 3 Nov 2026, the first night since 28 Oct 2026 (PLD" in first


def test_tags_of_frames_are_refused(stepped: Path, tmp_path: Path) -> None:
    (tmp_path / "tags.csv").write_text("token,city\nscene-0000-0,boston", encoding="utf-8")
    with pytest.raises(mg.InvalidInput, match="the tags belong to frames, and a history has the sums of scenes"):
        mg.history(stepped, tags=mg.read_tags(tmp_path / "tags.csv"))


def test_the_last_night_is_compared_with_the_night_before(stepped: Path) -> None:
    files = sorted(stepped.iterdir())
    history = mg.history(files[19:21])
    (one, other) = (mg.load_results(file) for file in files[19:21])
    apart = mg.compare([one, other], names=["a", "b"]).differences["a", "b"]["mean"]["pld"]
    assert history.statements[-1].about == "last"
    start = f"On the 6 scenes that it shares with the night before, the change of PLD is {apart.value:+.3f} ["
    assert start in history.statements[-1].text


def test_the_page_of_only_what_got_worse_says_so(stepped: Path) -> None:
    page = mg.history(stepped, only_worse=True).to_html()
    assert "Only what got worse is listed." in page
    assert 'id="only-worse"' not in page
    assert "is-better" not in page.partition("<body>")[2].partition("<script")[0]


def test_few_nights_are_shown_and_not_searched(stepped: Path) -> None:
    history = mg.history(sorted(stepped.iterdir())[:4])
    assert history.events == ()
    assert history.statements[0].text.startswith("4 nights are too few to look for steps: 10 are needed (14 Oct 2026")
    one = mg.history(sorted(stepped.iterdir())[:1])
    assert "1 night is too few" in one.statements[0].text
    assert "<html" in one.to_html()


def test_the_order_and_the_names_of_files_do_not_matter(stepped: Path, tmp_path: Path) -> None:
    straight = mg.history(stepped)
    files = sorted(stepped.iterdir())
    for k, file in enumerate(files):
        shutil.copy(file, tmp_path / f"{(k * 7) % len(files):02}.mg")
    shuffled = mg.history(sorted(tmp_path.iterdir(), reverse=True))
    assert [event.to_dict() for event in shuffled.events] == [event.to_dict() for event in straight.events]
    assert [str(one) for one in shuffled.statements] == [str(one) for one in straight.statements]


def test_nights_of_one_day_are_told_apart_by_their_time(sides: Sides, tmp_path: Path) -> None:
    for hour in (7, 9):
        evaluated(sides, {}, {"date": f"2026-11-03T0{hour}:00Z"}).save(tmp_path / f"{hour}.mg")
    assert mg.history(tmp_path).labels == ["3 Nov 2026 07:00", "3 Nov 2026 09:00"]


def test_damaged_and_foreign_files_are_named_and_stop_nothing(stepped: Path, tmp_path: Path) -> None:
    folder = tmp_path / "nights"
    shutil.copytree(stepped, folder)
    (folder / "broken.mg").write_bytes((stepped / f"{day(3)}.mg").read_bytes()[:3000])
    (folder / "foreign.mg").write_bytes(b"PK\3\4 something else")
    (folder / "text.mg").write_text("text", encoding="utf-8")
    (folder / "empty.mg").write_bytes(b"")
    (folder / "folder.mg").mkdir()
    (folder / "notes.txt").write_text("x", encoding="utf-8")
    (folder / "deeper").mkdir()
    shutil.copy(stepped / f"{day(0)}.mg", folder / "deeper" / "again.mg")
    history = mg.history(folder)
    assert len(history.nights) == 31
    assert {left.file.name for left in history.skipped} == {"broken.mg", "foreign.mg", "text.mg", "empty.mg"}
    assert all("\n" not in left.reason and left.reason for left in history.skipped)
    assert history.remarks == ("not read, because they do not end in .mg: notes.txt",)


def test_other_protocols_are_never_in_one_curve(sides: Sides, stepped: Path, tmp_path: Path) -> None:
    other = mg.protocol("paper-60x30", cutoffs=(1.0,))
    path = tmp_path / "other.mg"
    evaluated(sides, {}, {"date": "2026-12-01"}, protocol=other).save(path)
    named = evaluated(sides, {}, {"date": "2026-12-02"}, protocol=mg.protocol("paper-60x30", name="ours"))
    named.save(tmp_path / "ours.mg")
    history = mg.history([stepped, path, tmp_path / "ours.mg"])
    assert len(history.nights) == 30
    reasons = {left.file.name: left.reason for left in history.skipped}
    assert "not paper-60x30" in reasons["ours.mg"]
    assert "the protocol is paper-60x30" in reasons["other.mg"]
    chosen = mg.history([stepped, path, tmp_path / "ours.mg"], protocol="ours")
    assert [night.name for night in chosen.nights] == ["ours"]
    with pytest.raises(mg.InvalidInput, match="no file of results has the protocol 'theirs'"):
        mg.history([stepped, tmp_path / "ours.mg"], protocol="theirs")


def test_results_without_a_date_are_left_out(sides: Sides, stepped: Path, tmp_path: Path) -> None:
    replace(evaluated(sides, {}, {}), date="").save(tmp_path / "undated.mg")
    history = mg.history([stepped, tmp_path / "undated.mg"])
    assert [left.reason for left in history.skipped] == [
        "there is no date; evaluate again with this version of mapgauge"
    ]


def test_files_without_pooled_values_are_read_completely(stepped: Path, tmp_path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(stepped / f"{day(0)}.mg") as source, zipfile.ZipFile(tmp_path / "old.mg", "w") as archive:
        for name in source.namelist():
            if name != "summary.npy":
                archive.writestr(name, source.read(name))
    history = mg.history([tmp_path / "old.mg", stepped / f"{day(1)}.mg"])
    assert history.nights[0].value("boundary", "pld") == mg.history(stepped).nights[0].value("boundary", "pld")
    assert "1 of 2 files were written without pooled values" in history.remarks[0]


def test_nothing_to_read_is_an_error_with_words(tmp_path: Path) -> None:
    with pytest.raises(mg.UnreadableFile, match="no file of results"):
        mg.history(tmp_path)
    with pytest.raises(mg.InvalidInput, match="no files given"):
        mg.history([])
    (tmp_path / "x.mg").write_text("x", encoding="utf-8")
    with pytest.raises(mg.UnreadableFile, match=r"First: x.mg: not a file of results"):
        mg.history(tmp_path)
    with pytest.raises(mg.InvalidInput, match="there are no tags"):
        mg.history(tmp_path, by="city")


def test_the_document_is_plain_and_the_rows_have_metadata_and_intervals(found: mg.History) -> None:
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert len(document["nights"]) == 30
    assert {event["night"] for event in document["events"] if event["key"] == "pld"} == {20}
    rows = found.rows()
    assert len(rows) == 30 * 4
    assert rows[0]["metadata:commit"] == "1b3c"
    assert rows[-1]["class"] == "boundary"
    assert rows[-1]["pld:low"] < rows[-1]["pld"] < rows[-1]["pld:high"]
    assert rows[-1]["truth"] > 0
    assert rows[-1]["truth_length"] > 0


def test_errors_among_findings_are_said(sides: Sides, tmp_path: Path) -> None:
    results = evaluated(sides, {}, {})
    wrong = replace(results, findings=(mg.Finding("error", "axes-turned", "the axes are turned"),))
    history = mg.history(copies([results, wrong], tmp_path / "n"))
    assert "Do not trust the values of 1 night (15 Oct 2026)" in texts_of(history)


def test_a_last_night_without_pld_hides_no_curve_of_pld(sides: Sides, tmp_path: Path) -> None:
    predictions, truth = sides
    only_ap = mg.evaluate(predictions, truth, metrics=["ap_chamfer"])
    nights = [evaluated(sides, {}, {})] * 5 + [evaluated(sides, {"boundary": 0.8}, {})] * 5 + [only_ap]
    history = mg.history(copies(nights, tmp_path / "n"))
    assert history.statements[0].text.startswith("boundary got worse by 0.")
    assert history.curve("boundary", "pld").values[-1] is None
    last = next(one for one in history.statements if one.about == "last")
    assert "It has no PLD." in last.text
    assert "no PLD" in history.to_html()


def test_a_value_of_fewer_than_ten_nights_is_not_said_to_be_steady(sides: Sides, tmp_path: Path) -> None:
    predictions, truth = sides
    only_ap = mg.evaluate(predictions, truth, metrics=["ap_chamfer"])
    nights = [only_ap] * 5 + [evaluated(sides, {}, {})] * 8
    text = mg.history(copies(nights, tmp_path / "n")).statements[0].text
    assert text.startswith("In Chamfer-AP of 13 nights (14 Oct 2026 to 26 Oct 2026), nothing was found that got worse")
    assert "PLD has values in 8 nights, too few to look for steps: 10 are needed." in text


def test_nights_without_any_value_are_not_said_to_be_steady(sides: Sides, tmp_path: Path) -> None:
    predictions, truth = sides
    nothing = np.zeros(len(predictions.label), np.bool_), np.zeros(len(truth.label), np.bool_)
    empty = mg.evaluate(predictions.keep(nothing[0]), truth.keep(nothing[1]), metrics=["pld"])
    first = mg.history(copies([empty] * 11, tmp_path / "n")).statements[0]
    assert first.about == "few"
    assert first.text == "None of the 11 nights (14 Oct 2026 to 24 Oct 2026) has a value."


def test_equal_nights_are_said_to_be_equal(sides: Sides, tmp_path: Path) -> None:
    results = evaluated(sides, {}, {})
    last = mg.history(copies([results, results], tmp_path / "n")).statements[-1]
    assert last.text.endswith("On the 6 scenes that it shares with the night before, PLD is the same.")


def test_nights_of_two_methods_in_one_folder_are_told_from_a_model_that_changes(sides: Sides, tmp_path: Path) -> None:
    predictions, truth = sides
    (tmp_path / "n").mkdir()
    for name, confidence in (("a", 0.5), ("b", 0.9)):
        results = evaluated((replace(predictions.with_confidence(confidence), name=f"in/{name}.json"), truth), {}, {})
        for night in range(6):
            replace(results, date=f"{day(night)}T00:00:00Z").save(tmp_path / "n" / f"{name}-{day(night)}.mg")
    first = mg.history(tmp_path / "n").statements[0]
    assert first.about == "mixed"
    assert first.text == (
        "The nights have predictions of 2 names in turn: a.json in 6 nights, b.json in 6. If these are methods, give "
        "the files of one of them, because methods in turn look like a model that changes."
    )
    assert [one.about for one in mg.history(sorted((tmp_path / "n").glob("a-*"))).statements] == ["few", "last"]


def test_a_file_of_predictions_that_got_another_name_is_one_method(sides: Sides, tmp_path: Path) -> None:
    predictions, truth = sides
    first, second = (evaluated((replace(predictions, name=name), truth), {}, {}) for name in ("a.json", "b.json"))
    history = mg.history(copies([first] * 4 + [second] * 4, tmp_path / "n"))
    assert [one.about for one in history.statements] == ["few", "last"]


def test_nights_with_the_same_time_are_told_apart_by_their_files(sides: Sides, tmp_path: Path) -> None:
    results = evaluated(sides, {}, {"date": "2026-11-03"})
    for name in ("a", "b"):
        results.save(tmp_path / f"{name}.mg")
    assert mg.history(tmp_path).labels == ["3 Nov 2026 00:00 (a)", "3 Nov 2026 00:00 (b)"]


def test_a_step_in_a_night_with_errors_among_its_findings_says_so(sides: Sides, tmp_path: Path) -> None:
    worse = evaluated(sides, {"boundary": 0.7}, {})
    wrong = replace(worse, findings=(mg.Finding("error", "axes-turned", "the axes are turned"),))
    history = mg.history(copies([evaluated(sides, {}, {})] * 12 + [wrong, worse], tmp_path / "n"))
    assert history.statements[0].about == "worse"
    assert "There are errors among the findings of this night" in history.statements[1].text


def test_a_step_that_was_mended_says_the_level_of_today(sides: Sides, tmp_path: Path) -> None:
    usual, worse = evaluated(sides, {}, {}), evaluated(sides, {"boundary": 0.7}, {})
    history = mg.history(copies([usual] * 5 + [worse] * 5 + [usual] * 5, tmp_path / "n"))
    level = history.curve("boundary", "pld").stretches[-1].last
    assert history.statements[0].text.startswith("boundary got worse by 0.")
    assert f"It changed again later; the level of the last night is {level:.3f}." in history.statements[1].text


def test_a_scene_that_lost_frames_is_not_compared(sides: Sides, tmp_path: Path) -> None:
    before = evaluated(sides, {}, {})
    after = evaluated(sides, {"boundary": 0.8}, {}, truth=sides[1].at(range(54)))  # the last scene has 4 of 10 frames
    history = mg.history(copies([before] * 5 + [after] * 5, tmp_path / "n"))
    (event,) = [one for one in history.main_events if (one.class_name, one.key) == ("boundary", "pld")]
    assert event.on_scenes is not None
    assert event.on_scenes.scenes == 5


def test_the_answer_has_the_newest_and_the_largest_changes(sides: Sides, tmp_path: Path) -> None:
    sizes = [0.5, 0.96, 0.92, 0.88, 0.84, 0.8, 0.76, 0.72]  # the first change is a recovery
    levels = [evaluated(sides, {"boundary": size}, {}) for size in [1.0, *sizes]]
    history = mg.history(copies([level for level in levels for _ in range(4)], tmp_path / "n"))
    dates = [str(one.values["date"])[:10] for one in history.statements if one.about == "worse"]
    assert len(dates) == 5
    assert dates == sorted(dates, reverse=True)
    assert dates[0] == day(32)
    assert dates[-1] == day(4)
    assert "3 further changes are in the table." in texts_of(history)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse names that are not UTF-8")
def test_the_reason_does_not_repeat_a_name_that_is_no_text(stepped: Path, tmp_path: Path) -> None:
    damaged = tmp_path / os.fsdecode(b"\xff.mg")
    damaged.write_text("text", encoding="utf-8")
    (left,) = mg.history([stepped / f"{day(0)}.mg", damaged]).skipped
    assert left.reason.startswith("not a file of results")


def test_a_folder_may_change_while_it_is_read(sides: Sides, tmp_path: Path) -> None:
    folder = copies([evaluated(sides, {}, {})] * 4, tmp_path / "n")

    def change(done: int, total: int) -> None:
        assert total == 4
        if done == 1:
            (folder / f"{day(3)}.mg").unlink()
            shutil.copy(folder / f"{day(0)}.mg", folder / "new.mg")

    history = mg.history(folder, progress=change)
    assert [night.name for night in history.nights] == [day(0), day(1), day(2)]
    (left,) = history.skipped
    assert left.file.name == f"{day(3)}.mg"
    assert left.reason.startswith("no such file")


def test_few_scenes_are_said_not_to_decide_and_the_curve_to_have_the_step(tmp_path: Path) -> None:
    small = mg.demo.demo_world(30, predictions=12)
    one = evaluated(small, {}, {})
    other = evaluated(small, {"boundary": 0.8}, {})
    history = mg.history(copies([one] * 5 + [other] * 5, tmp_path / "n"))
    text = texts_of(history)
    assert "On the 3 scenes with boundary that the nights share, the difference is +0." in text
    assert "These 3 scenes alone do not decide whether others would change too." in text
    assert "The change was found in the curve over nights, where it exceeds the noise from night to night." in text
    assert "(too few scenes to decide)</td>" in history.to_html()


def test_a_difference_that_scenes_decide_is_not_said_to_be_open(found: mg.History) -> None:
    (event,) = [one for one in found.main_events if (one.class_name, one.key) == ("boundary", "pld")]
    assert event.on_scenes is not None
    assert event.on_scenes.difference.decided
    assert "alone do not decide" not in texts_of(found)


def test_noise_that_stays_in_the_next_night_makes_a_step_doubtful(sides: Sides, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    nights = []
    state = 0.0
    for night in range(40):
        state = 0.7 * state + rng.normal(0, 0.02)
        factor = float(np.clip(0.9 + state - 0.3 * (night >= 25), 0.1, 1.0))
        nights.append(evaluated(sides, {"boundary": factor}, {}))
    history = mg.history(copies(nights, tmp_path / "n"))
    curve = history.curve("boundary", "pld")
    assert curve.changes
    assert curve.noise_stays
    assert "so this one may be false" in texts_of(history)
    document = next(one for one in history.to_dict()["curves"] if (one["class"], one["key"]) == ("boundary", "pld"))
    assert document["autocorrelation"] == curve.autocorrelation
    assert document["autocorrelation_error"] == curve.autocorrelation_error
    assert document["autocorrelation"] > 2 * document["autocorrelation_error"]


def test_independent_noise_makes_no_step_doubtful(found: mg.History) -> None:
    assert "may be false" not in texts_of(found)


def drawn_inputs(page: str) -> list[str]:
    """Return the titles of the inputs that have a curve in a page."""
    (text,) = re.findall(r'<script type="application/json" id="meta">(.*?)</script>', page, re.DOTALL)
    return [one["title"] for one in json.loads(text)["inputs"]]


def test_inputs_that_do_not_change_are_named_in_a_sentence_and_have_no_curve(found: mg.History) -> None:
    page = found.to_html()
    assert drawn_inputs(page) == []
    assert "<p>The same in all nights that have them: frames 60; frames without truth 0.0 %; true " in page
    assert " polylines; length of true boundary " in page


def test_inputs_that_change_have_a_curve(sides: Sides, tmp_path: Path) -> None:
    truth = sides[1]
    fewer = truth.keep(~((truth.label == truth.classes.index("divider")) & (truth.frame < 20)))
    nights = [evaluated(sides, {}, {}, truth=truth)] * 5 + [evaluated(sides, {}, {}, truth=fewer)] * 5
    page = mg.history(copies(nights, tmp_path / "n")).to_html()
    assert drawn_inputs(page) == ["true divider", "length of true divider"]
    (same,) = re.findall(r"<p>The same in all nights that have them: (.*?)</p>", page)
    assert "frames 60; " in same
    assert "divider" not in same
