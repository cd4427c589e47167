"""``evaluate(..., extra=...)``: metrics that are scored in the same pass, and that tables and files leave out."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.evaluation import evaluate as module
from mapgauge.evaluation.evaluate import with_metrics
from mapgauge.scoring.data import Data
from mapgauge.scoring.score import score_frames
from mapgauge.scoring.scores import Scores

EXTRA = ("completeness", "causes")
FRAMES = 12


@pytest.fixture
def twice() -> tuple[mg.Results, mg.Results]:
    """The same evaluation without and with extra metrics."""
    sides = demo_world(FRAMES)
    return mg.evaluate(*sides, ranges=(0, 15, 30)), mg.evaluate(*sides, ranges=(0, 15, 30), extra=EXTRA)


def refused(*_: object, **__: object) -> None:
    """Take the place of what must not be called."""
    raise AssertionError("frames are scored again")


def test_nothing_that_results_show_or_save_has_the_extra_metrics(
    twice: tuple[mg.Results, mg.Results], tmp_path: Path
) -> None:
    plain, extra = twice
    assert extra.to_dict() == plain.to_dict()
    assert extra.metrics == plain.metrics
    assert extra.frames() == plain.frames()
    assert extra.table() == plain.table()
    for name, results in (("plain", plain), ("extra", extra)):
        results.save(tmp_path / f"{name}.mg")
    assert (tmp_path / "extra.mg").read_bytes() == (tmp_path / "plain.mg").read_bytes()


def test_extra_metrics_have_the_values_of_metrics_and_are_not_scored_again(
    twice: tuple[mg.Results, mg.Results], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, extra = twice
    expected = with_metrics(plain, EXTRA)
    together = mg.evaluate(*demo_world(FRAMES), metrics=[*plain.metrics, *EXTRA], ranges=(0, 15, 30))
    monkeypatch.setattr(module, "score_frames", refused)
    shown = with_metrics(extra, EXTRA)
    assert extra.has_scored(EXTRA)
    assert shown.metrics == expected.metrics == together.metrics
    assert shown.classes == expected.classes == together.classes
    assert list(shown.scores.sums) == list(together.scores.sums)
    some = with_metrics(extra.of_frames([3, 1]), EXTRA)
    assert some.frames() == with_metrics(expected.of_frames([3, 1]), EXTRA).frames()


def test_results_without_extra_metrics_have_not_scored_them(twice: tuple[mg.Results, mg.Results]) -> None:
    plain, extra = twice
    assert not plain.has_scored(EXTRA)
    assert extra.has_scored(("pld", *EXTRA))
    assert not extra.has_scored(["ap_sospa"])


def test_the_report_uses_what_was_scored(
    twice: tuple[mg.Results, mg.Results], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, extra = twice
    mg.report.write_report(plain, tmp_path / "plain.html", names=["m"])
    monkeypatch.setattr(module, "score_frames", refused)
    mg.report.write_report(extra, tmp_path / "extra.html", names=["m"])
    assert (tmp_path / "extra.html").read_bytes() == (tmp_path / "plain.html").read_bytes()


def test_the_report_scores_all_that_it_lacks_in_one_pass(
    twice: tuple[mg.Results, mg.Results], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, _ = twice
    passes = []

    def counted(data: Data, metrics: tuple[str, ...], *arguments: Any, **settings: Any) -> Scores:
        passes.append(set(metrics))
        return score_frames(data, metrics, *arguments, **settings)

    monkeypatch.setattr(module, "score_frames", counted)
    fresh = mg.evaluate(*demo_world(FRAMES), metrics=plain.metrics)
    passes.clear()
    mg.report.write_report(fresh, tmp_path / "page.html")
    assert passes == [set(EXTRA)]


def test_the_answer_about_other_methods_is_refused(twice: tuple[mg.Results, mg.Results], tmp_path: Path) -> None:
    plain, _ = twice
    with pytest.raises(mg.InvalidInput, match="answer"):
        mg.report.write_report(plain, tmp_path / "page.html", names=["a"], answer=mg.answer(plain, names=["b"]))


def test_a_report_with_a_known_answer_is_the_same(twice: tuple[mg.Results, mg.Results], tmp_path: Path) -> None:
    plain, extra = twice
    names = ["first", "second"]
    said = mg.answer([plain, extra], names=names)
    mg.report.write_report([plain, extra], tmp_path / "alone.html", names=names)
    mg.report.write_report([plain, extra], tmp_path / "known.html", names=names, answer=said)
    assert (tmp_path / "alone.html").read_bytes() == (tmp_path / "known.html").read_bytes()


def test_a_streamed_evaluation_has_totals_of_extra_metrics_and_scores_rows_when_they_are_needed(
    tmp_path: Path,
) -> None:
    for name, side in zip(("x", "y"), demo_world(FRAMES), strict=True):
        mg.write(side, tmp_path / f"{name}.parquet")
    files = tmp_path / "x.parquet", tmp_path / "y.parquet"
    expected = with_metrics(mg.evaluate(mg.read(files[0]), mg.read(files[1]), metrics=["pld"]), EXTRA)
    streamed = mg.evaluate(*files, metrics=["pld"], extra=EXTRA, work=tmp_path / "work")
    assert streamed.has_scored(EXTRA)
    shown = with_metrics(streamed, EXTRA)
    assert shown.classes == expected.classes
    assert streamed.geometry is not None
    assert not streamed.geometry.is_read
    for name in ("pld", *EXTRA):
        np.testing.assert_array_equal(shown.scores.sums[name], expected.scores.sums[name])
    loaded = mg.load_results(tmp_path / "work")
    assert loaded.metrics == ("pld",)
    assert with_metrics(loaded, EXTRA).mean == expected.mean
    assert not streamed.of_frames([0]).has_scored(EXTRA)  # there are totals only


def test_a_streamed_evaluation_continues_with_the_extra_metrics_that_it_began_with(tmp_path: Path) -> None:
    for name, side in zip(("x", "y"), demo_world(FRAMES), strict=True):
        mg.write(side, tmp_path / f"{name}.parquet")
    files = tmp_path / "x.parquet", tmp_path / "y.parquet"
    first = mg.evaluate(*files, metrics=["pld"], work=tmp_path / "work")
    again = mg.evaluate(*files, metrics=["pld"], extra=EXTRA, work=tmp_path / "work", resume=True)
    assert again.mean == first.mean
    assert not again.has_scored(EXTRA)


def test_extra_metrics_are_checked() -> None:
    sides = demo_world(3)
    with pytest.raises(mg.InvalidInput, match="unknown metric"):
        mg.evaluate(*sides, extra=["completnes"])
    assert mg.evaluate(*sides, metrics=["pld"], extra=["pld"]).metrics == ("pld",)


def test_totals_of_further_metrics_join_those_that_are_known() -> None:
    sides = demo_world(FRAMES)
    more = with_metrics(mg.evaluate(*sides, extra=EXTRA, ranges=(0, 15, 30)), EXTRA)
    together = mg.evaluate(*sides, metrics=list(more.metrics), ranges=(0, 15, 30))
    assert more.to_dict()["classes"] == together.to_dict()["classes"]
    assert list(more.totals.sums) == list(together.totals.sums)
    assert list(more.totals.precision) == list(together.totals.precision)
    for name, sums in together.totals.sums.items():
        np.testing.assert_array_equal(more.totals.sums[name].sums, sums.sums)
        np.testing.assert_array_equal(more.totals.sums[name].rings, sums.rings)
