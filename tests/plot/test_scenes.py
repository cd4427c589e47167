"""The frames of a scene as small panels, and its tracks over time."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from tests.tracked import many_tracks, tracked_results, tracked_world

import mapgauge as mg
from mapgauge import plot
from mapgauge.metrics.colours import FOUND, MISSED
from mapgauge.views.figures.style import GREY

pytestmark = pytest.mark.needs_feature("tracks")


@pytest.fixture(scope="module")
def tracked() -> mg.Results:
    return tracked_results(*tracked_world())


def colours(figure: Figure, kind: str) -> dict[str, str]:
    """The colours of lines by their names."""
    lines = [line for axes in figure.axes for line in axes.lines]
    return {str(line.get_gid()): str(line.get_color()) for line in lines if str(line.get_gid()).startswith(kind)}


def words(figure: Figure) -> set[str]:
    return {text.get_text() for text in figure.findobj(Text)}


def test_panels_are_spread_over_the_scene_in_the_order_of_time(tracked: mg.Results) -> None:
    titles = [axes.get_title() for axes in plot.scene(tracked, "s1", count=3).axes]
    assert titles == ["0.0 s", "20.0 s", "50.0 s"]
    assert len(plot.scene(tracked, "s1").axes) == 6
    limits = {(*axes.get_xlim(), *axes.get_ylim()) for axes in plot.scene(tracked, "s1").axes}
    assert len(limits) == 1
    order = [4, 2, 0, 1, 3, 5]
    predictions, truth = tracked_world(scenes=1, times=False)
    found = plot.scene(tracked_results(predictions.at(order), truth.at(order)), "s0", count=2)
    assert [axes.get_title() for axes in found.axes] == ["frame 1", "frame 6"]


def test_a_predicted_track_keeps_its_colour(tracked: mg.Results) -> None:
    figure = plot.scene(tracked, "s0")
    found = colours(figure, "prediction")
    # Frame 1 lacks the prediction of the first line, so that the others come one place earlier.
    middle = {found[f"prediction-{0 if k == 1 else 1}-{k}"] for k in range(6)}
    assert len(middle) == 1
    last = [found[f"prediction-{1 if k == 1 else 2}-{k}"] for k in range(6)]
    assert last[0] == last[1] == last[2] != last[3] == last[4] == last[5]
    assert found["prediction-3-0"] == GREY  # it is false
    assert "colour: track" in words(figure)


def test_without_tracks_of_predictions_the_truth_keeps_its_colours() -> None:
    predictions, truth = tracked_world(scenes=1)
    settings = mg.protocol("paper-60x30", classes=["divider"])
    results = mg.evaluate(replace(predictions, track=None), truth, settings, metrics=["pld"])
    found = colours(plot.scene(results, "s0"), "truth")
    assert [len({found[f"truth-{i}-{k}"] for k in range(6)}) for i in range(3)] == [1, 1, 1]
    assert len(set(found.values())) == 3
    bare = mg.evaluate(replace(predictions, track=None), replace(truth, track=None), settings, metrics=["pld"])
    figure = plot.scene(bare, "s0")
    assert set(colours(figure, "truth").values()) == {FOUND, MISSED}
    assert "divider" in words(figure)


def test_frames_alone_and_several_methods_are_drawn(tracked: mg.Results) -> None:
    predictions, truth = tracked_world()
    assert len(set(colours(plot.scene(truth, "s0"), "truth").values())) == 3
    alone = plot.scene(predictions, "s0", count=1)
    assert colours(alone, "truth") == {}
    assert "truth" not in words(alone)
    both = plot.scene([tracked, tracked], "s0", count=4, names=["one", "a" * 200], style="slides", title="Both")
    assert len(both.axes) == 8
    assert any(text.startswith("one\n") for text in words(both))
    single = plot.scene(tracked, "s0", ax=Figure().subplots(1, 6, squeeze=False)[0].tolist())
    assert len(single.axes) == 6


def test_a_strip_has_a_bar_for_every_stretch_and_marks_switches(tracked: mg.Results) -> None:
    figure = plot.strip(tracked, scene="s1")
    (axes,) = figure.axes
    labels = [text.get_text() for text in axes.get_yticklabels()]
    assert labels == ["divider", "lane-0", "lane-1", "lane-2", "false (1 of 1)", "ghost"]
    widths = [round(bar.get_width()) for bar in axes.patches]  # type: ignore[attr-defined]
    assert widths == [1, 1, 4, 6, 3, 3, 6]
    (marker,) = [line for line in axes.lines if line.get_marker() == "v"]
    assert np.asarray(marker.get_xdata()).tolist() == [3.5]  # between the third and the fourth frame
    assert {"s1", "taken over", "missed", "false", "early", "late"} <= words(figure)
    assert "s1" in words(plot.strip(tracked)), "the scene with the highest T-PLD"
    two = plot.strip([tracked, tracked], names=["one", "two"], scene="s0", false=0, title="Title")
    assert {"one", "two", "Title"} <= words(two)
    assert "ghost" not in words(two)


def test_many_tracks_long_names_and_one_frame(tmp_path: Path) -> None:
    figure = plot.strip(many_tracks())
    assert "divider (60 of 500)" in words(figure)
    assert figure.get_size_inches()[1] < 11
    names = [text for text in words(figure) if "script" in text or "…" in text]
    assert names
    assert max(map(len, names)) < 40
    plot.save(figure, tmp_path / "many.svg")
    assert "<script" not in (tmp_path / "many.svg").read_text(encoding="utf-8")
    single = tracked_results(*tracked_world(scenes=1, frames=1))
    assert len(plot.scene(single, "s0").axes) == 1
    assert len(plot.strip(single).axes[0].patches) == 4


def test_wrong_arguments_are_refused(tracked: mg.Results) -> None:
    with pytest.raises(mg.InvalidInput, match="no scene 'x'; there are s0, s1"):
        plot.scene(tracked, "x")
    with pytest.raises(mg.InvalidInput, match="count"):
        plot.scene(tracked, "s0", count=0)
    with pytest.raises(mg.InvalidInput, match="expected Results or MapFrames, got str"):
        plot.scene(["a"], "s0")  # type: ignore[list-item]
    with pytest.raises(mg.InvalidInput, match="at least one"):
        plot.scene([], "s0")
    with pytest.raises(mg.InvalidInput, match="names must be 1"):
        plot.scene(tracked, "s0", names=["a", "b"])
    with pytest.raises(mg.InvalidInput, match="no class 'lane'"):
        plot.strip(tracked, classes=["lane"])
    with pytest.raises(mg.InvalidInput, match="list of names"):
        plot.strip(tracked, classes="divider")
    shorter = tracked_results(*tracked_world(frames=4))
    with pytest.raises(mg.InvalidInput, match="second: the scene s0 has other frames"):
        plot.strip([tracked, shorter], names=["first", "second"], scene="s0")
    with pytest.raises(mg.InvalidInput, match="no frame 's0-4'"):
        plot.scene([tracked, tracked_world(frames=4)[1]], "s0")
    with pytest.raises(mg.InvalidInput, match="have no scenes"):
        plot.scene(replace(tracked_world()[1], scenes=None), "s0")
