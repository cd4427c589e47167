"""The file that ``write_report`` makes: complete in itself, the same every time, and safe whatever the data says."""

import base64
import gzip
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.errors import Remedy
from mapgauge.metrics import table as colours
from mapgauge.metrics.table import METRICS
from mapgauge.report import write_report
from mapgauge.results.comparison import Sampled
from mapgauge.results.frame_tables import MemoryRows
from mapgauge.views.report.frames import choose, frame_numbers
from mapgauge.views.report.further import Limits
from mapgauge.views.report.pack import WholeScene
from mapgauge.views.report.page import made_report

EVIL = "</script><script>alert(1)</script>"


class Elements(HTMLParser):
    """The elements of a page with their attributes, and the text between them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.scripts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.found and self.found[-1][0] == "script" and self.cdata_elem == "script":
            self.scripts[-1] += data
        else:
            self.text += data


def contents(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The names and the arrays inside a report, as its script reads them."""
    meta_text, data_text, _ = Elements(path.read_text(encoding="utf-8")).scripts
    meta = json.loads(meta_text)
    block = gzip.decompress(base64.b64decode(data_text))
    arrays = {name: np.frombuffer(block, kind, size, start) for name, (kind, start, size) in meta["arrays"].items()}
    return meta, arrays


def test_nothing_is_loaded_from_elsewhere(two: Path) -> None:
    text = two.read_text(encoding="utf-8")
    page = Elements(text)
    for tag, attributes in page.found:
        assert tag not in ("link", "iframe", "img", "object", "embed", "base")
        assert "src" not in attributes
        assert (attributes.get("href") or "#").startswith("#")
    style = text[text.index("<style>") : text.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    allowed = {"http://www.w3.org/2000/svg"}  # a name, which is never fetched
    assert set(re.findall(r"https?://[^\s\"'<>)]+", text)) <= allowed


def test_the_policy_lets_only_the_own_script_run(one: Path) -> None:
    page = Elements(one.read_text(encoding="utf-8"))
    policy = next(a["content"] for tag, a in page.found if tag == "meta" and "http-equiv" in a)
    assert policy is not None
    assert "default-src 'none'" in policy
    assert re.search(r"script-src 'sha256-[A-Za-z0-9+/=]{44}';", policy)


def test_the_same_results_make_the_same_file(methods: list[mg.Results], one: Path, tmp_path: Path) -> None:
    write_report(methods[0], tmp_path / "again.html", frames=12)
    assert (tmp_path / "again.html").read_bytes() == one.read_bytes()


def test_a_report_of_few_frames_hides_the_same_predictions(
    one: Path, methods: list[mg.Results], tmp_path: Path
) -> None:
    write_report(methods[0], tmp_path / "few.html", frames="token = 'scene-0000-9'")
    few = contents(tmp_path / "few.html")[0]["least"]
    assert few == contents(one)[0]["least"]
    assert few > 0
    write_report(methods[0], tmp_path / "empty.html", frames=0)
    assert contents(tmp_path / "empty.html")[0]["least"] == 0


def test_an_answer_and_its_report_draw_the_intervals_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    truth = demo_world(8)[1]
    methods = [mg.evaluate(demo_world(8, quality=quality)[0], truth) for quality in ("good", "poor")]
    drawn = []
    of = Sampled.of

    def counted(results: mg.Results, *draws: Any) -> Sampled:
        drawn.append(results)
        return of(results, *draws)

    monkeypatch.setattr(Sampled, "of", counted)
    said = mg.answer(methods, names=["a", "b"])
    write_report(methods, tmp_path / "said.html", names=["a", "b"], answer=said)
    assert len(drawn) == len(methods)
    write_report(methods, tmp_path / "alone.html", names=["a", "b"])
    assert (tmp_path / "said.html").read_bytes() == (tmp_path / "alone.html").read_bytes()
    # An answer that does not know the values of the page is no reason to show others.
    few = [replace(method, metrics=("pld",)) for method in methods]
    write_report(methods, tmp_path / "few.html", names=["a", "b"], answer=mg.answer(few, names=["a", "b"]))
    found, whole = (contents(tmp_path / f"{name}.html")[0] for name in ("few", "alone"))
    assert found["intervals"] == whole["intervals"]


def test_the_file_is_small(one: Path, two: Path) -> None:
    assert one.stat().st_size < 600_000
    assert two.stat().st_size < 1_000_000


def test_what_comes_from_outside_cannot_become_part_of_the_page(tmp_path: Path) -> None:
    line = [[0, 0], [9, 0]]
    truth = replace(mg.MapFrames.of({EVIL: {EVIL: [line]}}), name=EVIL, scenes=(EVIL,))
    predictions = replace(truth.with_confidence(0.5), name=EVIL)
    results = mg.evaluate(predictions, truth, mg.protocol("paper-60x30").replace(name=EVIL, about=EVIL, classes=[EVIL]))
    found = (mg.Finding("error", "x", EVIL, examples=(EVIL,)),)
    results = replace(results, findings=found)
    write_report([results, results], tmp_path / "report.html", names=[EVIL, "b"], title=EVIL)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    page = Elements(text)
    assert len(page.scripts) == 3
    assert text.count("<script") == 3
    assert "alert(1)</script>" not in text
    assert page.text.count(EVIL) > 5
    assert contents(tmp_path / "report.html")[0]["tokens"] == [EVIL]


def test_names_that_are_no_text_do_not_stop_a_report(methods: list[mg.Results], tmp_path: Path) -> None:
    write_report(methods[0], tmp_path / "report.html", names=["a\udcff"], frames=1)
    assert b"a&#56575;" in (tmp_path / "report.html").read_bytes()


def test_the_top_says_what_was_compared_and_found(two: Path, methods: list[mg.Results]) -> None:
    text = Elements(two.read_text(encoding="utf-8")).text
    assert "30 frames of 3 scenes of demo-truth. Protocol" in text
    assert "Protocol paper-60x30: a point every 0.5 m, cutoff 1.5 m" in text
    for method in methods:
        for finding in method.findings:
            assert finding.message in text
        for values in (*method.classes.values(), method.mean):
            for key in ("pld", "localisation", "false", "ap_chamfer", "ap_frechet@2.0"):
                assert f"{values[key]:.3f}" in text


def test_the_scoreboard_marks_the_best_values_and_says_which_method_is_better(two: Path) -> None:
    text = two.read_text(encoding="utf-8")
    overview = text[text.index('<section id="overview"') : text.index('<section id="values"')]
    assert overview.count(">best<") == 3  # good has the best PLD, Chamfer-AP and Fréchet-AP
    good, poor = overview.split("<tr>")[2:4]
    assert good.count(">best<") == 3
    assert "good" in good
    assert "poor" in poor
    assert poor.count("<line x1") == 1
    assert "<title>two</title>" not in text
    assert "<title>good, poor</title>" in text


def test_three_methods_have_the_ranks_of_compare(methods: list[mg.Results], tmp_path: Path) -> None:
    frames = [replace(one, rows=MemoryRows(one.tokens, None, one.scores)) for one in (*methods, methods[0])]
    write_report(frames, tmp_path / "three.html", names=["A", "B", "C"], frames=0)
    text = (tmp_path / "three.html").read_text(encoding="utf-8")
    overview = Elements(text[text.index('<section id="overview"') : text.index('<section id="values"')]).text
    assert "Ranks, mean: methods of which none is decided to be better share a rank (Holm, all pairs)" in overview
    assert "cannot be told from" in overview
    rows = mg.ranks(mg.compare(frames, names=["A", "B", "C"]))
    assert [(row.rank, row.name, row.ties) for row in rows] == [(1, "A", ("C",)), (1, "C", ("A",)), (3, "B", ())]
    cells = "".join(overview.split())
    places = [cells.index("".join(f"{row.rank}{row.name}{row.estimate}{', '.join(row.ties)}".split())) for row in rows]
    assert places == sorted(places)


def test_two_methods_and_few_scenes_have_no_ranks(two: Path, three: Path) -> None:
    for page in (two, three):
        assert "Ranks, mean" not in page.read_text(encoding="utf-8")


def test_paths_are_left_out_unless_they_are_wanted(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    for name, frames in zip(("predictions.geojson", "truth.geojson"), demo_world(3), strict=True):
        mg.write(frames, tmp_path / "secret" / name)
    results = mg.evaluate(tmp_path / "secret" / "predictions.geojson", tmp_path / "secret" / "truth.geojson")
    for with_paths in (False, True):
        write_report(results, tmp_path / "page.html", with_paths=with_paths)
        text = (tmp_path / "page.html").read_text(encoding="utf-8")
        assert ("secret" in text) == with_paths
        assert "truth.geojson" in text


def test_values_have_the_intervals_of_compare(two: Path, methods: list[mg.Results]) -> None:
    text = Elements(two.read_text(encoding="utf-8")).text
    comparison = mg.compare(methods, names=["good", "poor"])
    for estimates in comparison.estimates:
        for found in estimates.values():
            assert all(str(found[key]) in text for key in ("pld", "ap_chamfer", "ap_frechet@1.0"))
    difference, _, verdict = str(comparison.differences["good", "poor"]["mean"]["pld"]).partition(" (")
    assert difference in text
    assert verdict.strip(")") in text


def test_verdicts_are_those_of_compare(methods: list[mg.Results], tmp_path: Path) -> None:
    three_scenes = [methods[0], methods[0]]
    write_report(three_scenes, tmp_path / "few.html", names=["a", "b"], frames=0)
    text = (tmp_path / "few.html").read_text(encoding="utf-8")
    assert text.count("too few scenes to decide") == 4 * 4 + 1  # and in the scoreboard
    assert "3 scenes are too few to decide which method is better" in text
    thirty_frames = [replace(one, rows=MemoryRows(one.tokens, None, one.scores)) for one in three_scenes]
    write_report(thirty_frames, tmp_path / "same.html", names=["a", "b"], frames=0)
    text = (tmp_path / "same.html").read_text(encoding="utf-8")
    assert text.count("cannot be decided") == 4 * 4 + 1
    assert "76 differences tested" in text  # PLD split by cause is not tested again


def test_an_error_among_the_findings_stands_before_the_values(methods: list[mg.Results], tmp_path: Path) -> None:
    findings = (mg.Finding("error", "units", "these are feet"), *methods[0].findings)
    results = replace(methods[0], findings=findings)
    write_report(results, tmp_path / "report.html", frames=0)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert text.index("these are feet") < text.index('id="values"')


def test_findings_have_the_remedy_for_python_and_for_the_shell(methods: list[mg.Results], tmp_path: Path) -> None:
    remedy = Remedy("Pass planar=True", "Pass --planar")
    findings = (mg.Finding("warning", "height", "heights differ", remedy=remedy),)
    results = replace(methods[0], findings=findings)
    write_report(results, tmp_path / "report.html", frames=0)
    text = Elements((tmp_path / "report.html").read_text(encoding="utf-8")).text
    assert "heights differ. In Python: Pass planar=True. In the shell: Pass --planar" in text


def chosen_of(methods: list[mg.Results], count: int, **changes: Any) -> dict[int, list[str]]:
    names = ["good", "poor"][: len(methods)]
    metric = replace(METRICS["pld"], **changes)
    return choose([metric], names, [frame_numbers(method) for method in methods], count)


def test_whole_scenes_are_drawn_for_the_reason_that_their_section_gives(methods: list[mg.Results]) -> None:
    scenes = [WholeScene([0, 1, 2], "in the longest scene"), WholeScene(range(3, 9), "in a scene that does not fit")]
    numbers = [frame_numbers(methods[0])]
    chosen = choose([METRICS["pld"]], ["good"], numbers, 12, scenes=scenes)
    whole = {frame: reasons[0] for frame, reasons in chosen.items() if "in the longest scene" in reasons}
    assert whole == dict.fromkeys(range(3), "in the longest scene")
    assert "in a scene that does not fit" not in [reason for reasons in chosen.values() for reason in reasons]


def test_drawn_frames_are_chosen_by_each_part_by_difference_and_at_random(methods: list[mg.Results]) -> None:
    chosen = chosen_of(methods, 16)
    assert len(chosen) == 16
    assert list(chosen) == sorted(chosen)
    assert sum(reasons == ["random sample"] for reasons in chosen.values()) == 4
    assert chosen == chosen_of(methods, 16)
    tables = [{row["token"]: row for row in method.frames()} for method in methods]
    tokens = methods[0].tokens
    for key, reason in {
        "pld": "worst PLD",
        "missed": "highest missed",
        "matched_points": "highest matched points",
    }.items():
        for name, table in zip(("good", "poor"), tables, strict=True):
            first = int(np.argmax([table[token][key] for token in tokens]))
            assert f"{reason} of {name}" in chosen[first]
    lead = [tables[1][token]["pld"] - tables[0][token]["pld"] for token in tokens]
    assert "good most ahead of poor in PLD" in chosen[int(np.argmax(lead))]
    assert min(lead) < 0
    assert "poor most ahead of good in PLD" in chosen[int(np.argmin(lead))]
    assert not any(" of " in reason for reasons in chosen_of(methods[:1], 8).values() for reason in reasons)
    assert chosen_of(methods, 30) == {frame: [] for frame in range(30)}
    assert chosen_of(methods, 0) == {}


def test_the_worst_frames_are_the_lowest_where_higher_is_better(methods: list[mg.Results]) -> None:
    (highest,) = chosen_of(methods[:1], 1)
    (lowest,) = chosen_of(methods[:1], 1, lower_is_better=False)
    values = [next(row["pld"] for row in methods[0].frames() if row["token"] == token) for token in methods[0].tokens]
    assert (highest, lowest) == (int(np.argmax(values)), int(np.argmin(values)))


def test_a_frame_without_a_value_or_a_part_of_zero_is_no_reason() -> None:
    truth = mg.MapFrames.of(
        {f"t{k}": {"divider": [[[0, 0], [9, 0]]]} if k else {} for k in range(9)}, classes=["divider"]
    )
    results = mg.evaluate(truth.with_confidence(1), truth, metrics=["pld"])
    chosen = chosen_of([results], 8)
    assert set().union(*chosen.values()) == {"worst PLD", "random sample"}
    assert chosen.get(0, ["random sample"]) == ["random sample"]


def test_progress_counts_the_frames_of_all_methods(methods: list[mg.Results], tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    write_report(methods, tmp_path / "r.html", names=["a", "b"], frames=3, progress=lambda *now: told.append(now))
    assert told == [(k, 6) for k in range(1, 7)]


def test_all_frames_have_values_and_the_page_says_which_are_drawn(one: Path, methods: list[mg.Results]) -> None:
    meta, arrays = contents(one)
    assert meta["tokens"] == list(methods[0].tokens)
    assert len(meta["drawn"]) == 12
    keys = [column["key"] for column in meta["columns"]]
    assert {"pld", "localisation", "false", "truth", "hits:ap_frechet@3.0"} <= set(keys)
    for place, class_name in enumerate([None, *methods[0].class_names]):
        rows = {row["token"]: row for row in methods[0].frames(class_name=class_name)}
        for key in keys:
            expected = [
                np.nan
                if rows[token][key] is None
                else rows[token][key]
                if rows[token]["predictions"] + rows[token]["truth"] or key in ("predictions", "truth")
                else np.nan
                if "hits" not in key
                else 0
                for token in methods[0].tokens
            ]
            np.testing.assert_allclose(arrays[f"0.value.{key}"].reshape(4, 30)[place], expected, rtol=1e-6, atol=1e-7)
    assert "12 of 30 frames can be drawn" in one.read_text(encoding="utf-8")


def test_drawn_polylines_are_those_that_were_compared(one: Path, methods: list[mg.Results]) -> None:
    meta, arrays = contents(one)
    place = 5
    assignment = methods[0].assignment(meta["tokens"][meta["drawn"][place]])
    for side, instances in (("predictions", assignment.predictions), ("truth", assignment.truth)):
        frames, points = arrays[f"0.{side}.frames"], arrays[f"0.{side}.points"]
        rows = range(frames[place], frames[place + 1])
        assert [meta["classes"][arrays[f"0.{side}.label"][i]] for i in rows] == [i.class_name for i in instances]
        steps = arrays[f"0.{side}.coords"].reshape(2, -1)
        for i, instance in zip(rows, instances, strict=True):
            drawn = steps[:, points[i] : points[i + 1]].cumsum(axis=1, dtype=steps.dtype).T / 100
            np.testing.assert_allclose(drawn, instance.points, atol=0.00501)
    rows = range(arrays["0.matches.frames"][place], arrays["0.matches.frames"][place + 1])
    for i, match in zip(rows, assignment.matches, strict=True):
        assert (arrays["0.matches.prediction"][i], arrays["0.matches.truth"][i]) == (match.prediction, match.truth)
        begin, end = arrays["0.matches.points"][i : i + 2]
        pairs = arrays["0.matches.pairs"].reshape(2, -1)[:, begin:end].cumsum(axis=1).T
        np.testing.assert_array_equal(pairs, match.pairs)


def test_crossings_are_closed_and_dividers_are_not(one: Path) -> None:
    meta, arrays = contents(one)
    closed = arrays["0.truth.closed"].astype(bool)
    labels = np.array(meta["classes"])[arrays["0.truth.label"]]
    assert closed[labels == "ped_crossing"].all()
    assert not closed[labels == "divider"].any()


@pytest.mark.parametrize("order", [1.0, 2.0])
def test_what_instances_cost_adds_up_to_the_parts_of_the_frame(order: float, tmp_path: Path) -> None:
    results = mg.evaluate(*demo_world(2), mg.protocol("paper-60x30", order=order), metrics=["pld"])
    write_report(results, tmp_path / "report.html")
    _, arrays = contents(tmp_path / "report.html")
    for frame in range(2):
        sums = np.zeros((3, 5))
        alone = {}
        for side, part in (("truth", 3), ("predictions", 4)):
            begin, end = arrays[f"0.{side}.frames"][frame : frame + 2]
            alone[side] = [
                (arrays[f"0.{side}.label"][i], part, arrays[f"0.{side}.confidence"][i]) for i in range(begin, end)
            ]
        begin, end = arrays["0.matches.frames"][frame : frame + 2]
        for i in range(begin, end):
            label = alone["truth"][arrays["0.matches.truth"][i]][0]
            sums[label, :3] += arrays["0.matches.costs"].reshape(-1, 3)[i]
        matched = {
            side: set(arrays[f"0.matches.{key}"][begin:end].tolist())
            for side, key in (("truth", "truth"), ("predictions", "prediction"))
        }
        for side, instances in alone.items():
            for number, (label, part, confidence) in enumerate(instances):
                if number not in matched[side]:
                    sums[label, part] += confidence / 2
        np.testing.assert_allclose(sums, results.scores.sums["pld"][0, frame, :, :5], rtol=1e-4, atol=1e-6)


def test_methods_share_the_truth_that_is_stored(two: Path) -> None:
    meta, _ = contents(two)
    assert meta["arrays"]["0.truth.coords"] == meta["arrays"]["1.truth.coords"]
    assert meta["arrays"]["0.predictions.coords"] != meta["arrays"]["1.predictions.coords"]


def test_methods_with_their_frames_in_another_order_are_put_in_that_of_the_first(tmp_path: Path) -> None:
    good, truth = demo_world(4)
    results = mg.evaluate(good, truth)
    other = results.of_frames([3, 1, 0, 2])
    write_report([results, other], tmp_path / "report.html", names=["a", "b"])
    meta, _ = contents(tmp_path / "report.html")
    for key in ("value.pld", "value.hits:ap_chamfer@0.5", "value.predictions", "predictions.coords"):
        assert meta["arrays"][f"0.{key}"] == meta["arrays"][f"1.{key}"]


def test_points_far_away_are_kept(tmp_path: Path) -> None:
    truth = mg.MapFrames.of({"a": {"divider": [[[4000, -5000], [4001, -5000]], [[0, 0], [9, 0]]]}})
    results = mg.evaluate(truth.with_confidence(1), truth, mg.protocol("paper-60x30", classes=["divider"]))
    write_report(results, tmp_path / "report.html")
    _, arrays = contents(tmp_path / "report.html")
    assert arrays["0.truth.coords"].reshape(2, -1).cumsum(axis=1).T.tolist()[0] == [400_000, -500_000]


def test_frames_of_a_map_are_drawn_around_their_centres_without_an_ego(tmp_path: Path) -> None:
    lines = {"a": [[600.0, 2040.0], [660, 2060]], "b": [[9000.0, -70.0], [9060, -50]]}
    truth = mg.MapFrames.of({token: {"divider": [line]} for token, line in lines.items()})
    results = mg.evaluate(truth.with_confidence(1), truth, mg.protocol("paper-60x30", classes=["divider"]))
    write_report(results, tmp_path / "report.html")
    meta, arrays = contents(tmp_path / "report.html")
    assert (meta["ego"], meta["region"]) == (False, None)
    assert "Each frame is drawn around its centre" in (tmp_path / "report.html").read_text(encoding="utf-8")
    at = arrays["0.truth.coords"].reshape(2, -1).cumsum(axis=1).T / 100
    assert at[[0, len(at) // 2 - 1]].tolist() == [[-10, 30], [10, -30]]  # y upwards, x to the right
    assert len(np.unique(np.abs(at).max(axis=0))) == 2


def test_classes_and_parts_have_the_colours_of_the_figures(one: Path) -> None:
    meta, _ = contents(one)
    assert dict(zip(meta["classes"], meta["colours"], strict=True)) == colours.colours_of(meta["classes"])
    pld = meta["metrics"][0]
    assert {part["key"]: part["colour"] for part in pld["parts"]} == colours.part_colours(METRICS["pld"])


def test_results_without_data_are_reported_without_drawings(methods: list[mg.Results], tmp_path: Path) -> None:
    write_report(methods[0].without_data(), tmp_path / "report.html")
    meta, arrays = contents(tmp_path / "report.html")
    assert meta["drawn"] == []
    assert not any("coords" in name for name in arrays)
    assert len(arrays["0.value.pld"]) == 30 * 4
    assert "No frame can be drawn" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_results_without_pld_are_reported_by_their_precision(tmp_path: Path) -> None:
    results = mg.evaluate(*demo_world(20), "streammapnet-60x30")
    write_report(results, tmp_path / "report.html", frames=4)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    meta, arrays = contents(tmp_path / "report.html")
    assert "0.value.pld" not in arrays
    assert meta["reasons"] == ["random sample"]
    assert meta["why"] == [[0]] * 4
    assert f"{results.mean['ap_chamfer']:.3f}" in text
    assert "None of the computed metrics splits into parts" in text
    assert len(arrays["0.matches.distance"]) == 0


def test_a_class_with_nothing_in_it_has_a_dash(tmp_path: Path) -> None:
    truth = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}})
    results = mg.evaluate(truth.with_confidence(1), truth)
    write_report(results, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Classes without a value, because they have neither predictions nor truth: ped_crossing, boundary." in text
    assert '<th scope="row" style="text-align:left">boundary</th><td>-</td>' in text
    assert "nan" not in Elements(text).text.lower()


def test_nothing_at_all_is_reported_too(tmp_path: Path) -> None:
    truth = mg.MapFrames.of({"a": {}}, classes=["divider"])
    write_report(mg.evaluate(truth.with_confidence(1), truth), tmp_path / "report.html")
    assert contents(tmp_path / "report.html")[0]["tokens"] == ["a"]


def test_frames_with_y_forward_are_turned_to_x_forward(tmp_path: Path) -> None:
    sides = demo_world(1)
    drawn = []
    for k, degrees in enumerate((0, 90)):
        predictions, truth = (side.rotate(degrees) for side in sides)
        write_report(mg.evaluate(predictions, truth, metrics=["pld"]), tmp_path / f"{k}.html")
        meta, arrays = contents(tmp_path / f"{k}.html")
        assert meta["region"] == [60, 30]
        drawn.append(arrays["0.truth.coords"])
    np.testing.assert_array_equal(drawn[0], drawn[1])


def test_several_cutoffs_and_ranges_have_columns(tmp_path: Path) -> None:
    settings = mg.protocol("paper-60x30", cutoffs=[1.5, 0.5])
    results = mg.evaluate(*demo_world(4), settings, metrics=["pld"], ranges=(0, 10, 20))
    write_report(results, tmp_path / "report.html", frames=0)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "PLD 0.5 m</th>" in text
    assert "PLD 10-20m</th>" in text
    assert f"{results.mean['pld@0.5']:.3f}" in text


@pytest.mark.parametrize("frames", [-1, 1.5, True])
def test_a_number_of_frames_that_cannot_be_is_refused(methods: list[mg.Results], frames: Any, tmp_path: Path) -> None:
    with pytest.raises(mg.InvalidInput, match="frames must be an integer of at least 0, got"):
        write_report(methods[0], tmp_path / "report.html", frames=frames)


def test_methods_that_do_not_compare_are_refused(methods: list[mg.Results], tmp_path: Path) -> None:
    other = mg.evaluate(*demo_world(30), "streammapnet-60x30")
    with pytest.raises(mg.InvalidInput, match="different settings"):
        write_report([methods[0], other], tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_a_place_that_cannot_be_written_is_an_error_in_words(methods: list[mg.Results], tmp_path: Path) -> None:
    with pytest.raises(mg.MapgaugeError, match="cannot be written"):
        write_report(methods[0], tmp_path / "absent" / "report.html", frames=0)


def test_progress_counts_all_frames_that_are_drawn() -> None:
    steps: list[tuple[int, int]] = []
    results = mg.evaluate(*demo_world(10), metrics=["pld"])
    limits = Limits(frames=2, block=3)
    made_report([results], limits=limits, progress=lambda done, of: steps.append((done, of)))
    assert steps == [(k, 10) for k in range(1, 11)]
