"""Bars and lines have the values of the results, under the right names."""

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle, StepPatch
from matplotlib.text import Text
from tests.lane_worlds import both, world

import mapgauge as mg
from mapgauge import plot
from mapgauge.demo import demo_world

NAMES = ["good", "poor"]


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


@pytest.fixture(scope="module")
def studies() -> list[mg.Sweep]:
    found = []
    for quality in NAMES:
        predictions, truth = demo_world(10, predictions=20, quality=quality)  # type: ignore[arg-type]
        found.append(mg.sweep(predictions, truth, cutoffs=[1.5, 0.5, 1.0], metrics=["pld"]))
    return found


@pytest.fixture(scope="module")
def nothing() -> mg.Results:
    empty = mg.MapFrames.of({"a": {}}, confidence={}, classes=["divider"])
    return mg.evaluate(
        empty, empty.with_confidence(None), mg.protocol("paper-60x30", classes=["divider"]), ranges=(0, 9)
    )


def test_bars_are_as_long_as_the_parts(good: mg.Results) -> None:
    (axes,) = plot.parts(good).axes
    bars = [bar for bar in axes.patches if isinstance(bar, Rectangle)]
    values = [*good.classes.values(), good.mean]
    expected = [row[part] for part in mg.Parts._fields for row in values]
    assert [bar.get_width() for bar in bars] == pytest.approx(expected)
    ends = [bar.get_x() + bar.get_width() for bar in bars[-4:]]
    assert ends == pytest.approx([row["pld"] for row in values])
    assert [text.get_text() for text in axes.texts] == [f"{row['pld']:.3f}" for row in values]


def test_bars_of_one_method_are_named_by_class(good: mg.Results) -> None:
    figure = plot.parts(good)
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == ["ped crossing", "divider", "boundary", "mean"]
    assert set(legend(figure)) == {"matched points", "unmatched points", "confidence", "missed", "false"}


def test_bars_of_several_methods_stand_together_under_their_class(methods: list[mg.Results]) -> None:
    (axes,) = plot.parts(methods, names=NAMES).axes
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == [word for name in ("ped crossing", "divider", "boundary", "mean") for word in (name, *NAMES)]
    bars = [bar for bar in axes.patches if isinstance(bar, Rectangle)]
    assert len(bars) == 2 * 4 * 5
    places = dict(zip(axes.get_yticks().tolist(), labels, strict=True))
    assert [places[bar.get_y() + bar.get_height() / 2] for bar in bars[:8]] == NAMES * 4


def test_lines_over_the_cutoff_have_the_values_of_the_rows(studies: list[mg.Sweep]) -> None:
    figure = plot.cutoffs(studies, names=NAMES)
    (axes,) = figure.axes
    lines = {str(line.get_label()): line for line in axes.get_lines()}
    assert list(lines) == [f"{name}: {word}" for name in NAMES for word in ("PLD", "Loc", "Det")]
    for name, study in zip(NAMES, studies, strict=True):
        rows = sorted(study.rows, key=lambda row: float(row["cutoff"]))
        for word, key in (("PLD", "pld"), ("Loc", "localisation"), ("Det", "detection")):
            drawn = np.array(lines[f"{name}: {word}"].get_data())
            np.testing.assert_array_equal(drawn, [[row["cutoff"] for row in rows], [row[key] for row in rows]])
    assert set(legend(figure)) == {"PLD", "Loc", "Det", *NAMES}
    assert axes.get_xlabel() == "cutoff (m)"


def test_cutoffs_can_be_drawn_from_results(methods: list[mg.Results]) -> None:
    lines = plot.cutoffs(methods, names=NAMES).axes[0].get_lines()
    for line, method in zip(lines[::3], methods, strict=True):
        expected = [[0.5, 1.5], [method.mean["pld@0.5"], method.mean["pld@1.5"]]]
        np.testing.assert_array_equal(np.array(line.get_data()), expected)


def test_values_differ_in_style_and_methods_in_colour(studies: list[mg.Sweep]) -> None:
    lines = plot.cutoffs(studies, names=NAMES).axes[0].get_lines()
    assert len({(line.get_linestyle(), line.get_marker()) for line in lines[:3]}) == 3
    assert len({line.get_color() for line in lines}) == 2


def test_each_sampling_and_region_of_a_sweep_has_its_lines() -> None:
    predictions, truth = demo_world(10, predictions=20)
    study = mg.sweep(
        predictions,
        truth,
        cutoffs=[0.5, 1.5],
        spacings=[1.0],
        counts=[20],
        regions=[(60, 30), (30, 30)],
        metrics=["pld"],
    )
    figure = plot.cutoffs(study)
    assert [axes.get_title() for axes in figure.axes] == ["PLD", "Loc", "Det"]
    assert set(legend(figure)) == {
        f"{area}x30 m, cropped, {sampling}" for area in (60, 30) for sampling in ("1 m", "N = 20")
    }


def test_a_higher_order_shows_pld_alone() -> None:
    predictions, truth = demo_world(10, predictions=20)
    study = mg.sweep(predictions, truth, mg.protocol("paper-60x30", order=2), cutoffs=[0.5, 1.5], metrics=["pld"])
    assert legend(plot.cutoffs(study)) == ["PLD"]


def test_precision_and_recall_are_those_behind_the_average_precision(methods: list[mg.Results]) -> None:
    figure = plot.precision_recall(methods, names=NAMES)
    assert [axes.get_title() for axes in figure.axes] == [f"Chamfer-AP@{value} m" for value in ("0.5", "1.0", "1.5")]
    for axes, threshold in zip(figure.axes, ("0.5", "1.0", "1.5"), strict=True):
        lines = iter(axes.get_lines())
        for name, method in zip(NAMES, methods, strict=True):
            for class_name, values in method.classes.items():
                line = next(lines)
                recall, precision = np.array(line.get_data())
                area = values[f"ap_chamfer@{threshold}"]
                assert np.sum(np.diff(recall) * precision[1:]) == pytest.approx(area)
                assert line.get_label() == f"{class_name.replace('_', ' ')}, {name}"
                assert line.get_drawstyle() == "steps-pre"
                assert recall[0] == 0
        listed = [text.get_text() for text in axes.get_legend().get_texts()]  # type: ignore[union-attr]
        areas = [[method.classes[name][f"ap_chamfer@{threshold}"] for method in methods] for name in methods[0].classes]
        assert [words.split()[-3:] for words in listed] == [[f"{a:.3f}", "|", f"{b:.3f}"] for a, b in areas]
    assert legend(figure) == [*NAMES, "no band: 1 scene is too few"]


def test_equal_confidences_are_one_step() -> None:
    lines = [[[0, y], [9, y]] for y in (0, 5, 10)]
    truth = mg.MapFrames.of({"a": {"divider": lines[:2]}})
    predictions = mg.MapFrames.of({"a": {"divider": lines}}, confidence={"a": {"divider": [0.5, 0.5, 0.5]}})
    results = mg.evaluate(predictions, truth, mg.protocol("paper-60x30", classes=["divider"]))
    (line,) = plot.precision_recall(results, threshold=1).axes[0].get_lines()
    np.testing.assert_allclose(np.array(line.get_data()), np.array([[0, 1], [2 / 3, 2 / 3]]))


def test_a_class_without_predictions_has_an_empty_line_and_one_without_anything_none() -> None:
    truth = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]], "boundary": []}})
    settings = mg.protocol("paper-60x30", classes=["divider", "boundary"])
    results = mg.evaluate(truth.keep(truth.frame > 0).with_confidence(1), truth, settings, metrics=["ap_chamfer"])
    (line,) = plot.precision_recall(results, threshold=1).axes[0].get_lines()
    assert len(np.asarray(line.get_xdata())) == 0
    (listed,) = plot.precision_recall(results, threshold=1).axes[0].get_legend().get_texts()  # type: ignore[union-attr]
    assert listed.get_text() == "divider 0.000"


def test_lines_against_the_range_have_the_values_of_the_rings(good: mg.Results) -> None:
    figure = plot.ranges(good)
    (axes,) = figure.axes
    lines = axes.get_lines()
    assert [line.get_label() for line in lines] == ["ped crossing", "divider", "boundary", "mean"]
    for line, values in zip(lines, [*good.classes.values(), good.mean], strict=True):
        drawn = np.array(line.get_data())
        np.testing.assert_array_equal(drawn, [[5, 15, 25], [values[f"pld:{k}-{k + 10}m"] for k in (0, 10, 20)]])
    assert axes.get_xticks().tolist() == [0, 10, 20, 30]
    assert set(legend(figure)) == {"ped crossing", "divider", "boundary", "mean"}


def test_of_several_methods_the_ranges_show_the_means(methods: list[mg.Results]) -> None:
    lines = plot.ranges(methods, names=NAMES).axes[0].get_lines()
    assert [line.get_label() for line in lines] == NAMES
    assert [np.asarray(line.get_ydata())[0] for line in lines] == [method.mean["pld:0-10m"] for method in methods]


def test_a_ring_with_nothing_in_it_leaves_a_gap() -> None:
    truth = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}})
    settings = mg.protocol("paper-60x30", classes=["divider"])
    results = mg.evaluate(truth.with_confidence(1), truth, settings, ranges=(0, 10, 20))
    heights = np.asarray(plot.ranges(results).axes[0].get_lines()[0].get_ydata())
    assert heights[0] == 0
    assert math.isnan(heights[1])


@pytest.mark.parametrize("value", ["pld", "missed", "truth", "hits:ap_chamfer@1.0"])
def test_a_histogram_counts_every_frame(good: mg.Results, value: str) -> None:
    figure = plot.histogram(good, value=value)
    (axes,) = figure.axes
    filled, outline = [patch for patch in axes.patches if isinstance(patch, StepPatch)]
    counts, edges, _ = outline.get_data()
    np.testing.assert_array_equal(filled.get_data()[0], counts)
    column = np.array([row[value] for row in good.frames()])
    np.testing.assert_array_equal(counts, np.histogram(column, edges)[0])
    assert counts.sum() == len(good.tokens)
    (line,) = axes.get_lines()
    assert np.asarray(line.get_xdata())[0] == np.median(column)
    assert legend(figure) == [f"demo-good, median {np.median(column):.3g}"]


def test_histograms_of_several_methods_share_their_bins(methods: list[mg.Results]) -> None:
    figure = plot.histogram(methods, names=NAMES)
    steps = [patch for patch in figure.axes[0].patches if isinstance(patch, StepPatch)]
    assert all(np.array_equal(step.get_data()[1], steps[0].get_data()[1]) for step in steps)
    assert [label.split(",")[0] for label in legend(figure)] == NAMES
    assert figure.axes[0].get_xlabel() == "PLD (1.5 m) of a frame"


def test_a_histogram_of_equal_values_has_one_bin(nothing: mg.Results) -> None:
    with pytest.raises(mg.InvalidInput, match="value 'pld' not found; available: predictions, truth"):
        plot.histogram(nothing)
    drawn = plot.histogram(nothing, value="truth")
    steps = [patch for patch in drawn.axes[0].patches if isinstance(patch, StepPatch)]
    counts, edges, _ = steps[0].get_data()
    assert counts.sum() == 1
    assert edges[0] <= 0 < edges[-1]


def test_names_come_from_the_files_of_predictions(methods: list[mg.Results]) -> None:
    assert [line.get_label() for line in plot.ranges(methods).axes[0].get_lines()] == ["demo-good", "demo-poor"]


def test_names_are_shown_as_they_stand(methods: list[mg.Results], studies: list[mg.Sweep]) -> None:
    odd = ["_hidden", "a$b_{$"]
    drawings = [draw(methods, names=odd) for draw in (plot.parts, plot.ranges, plot.histogram, plot.precision_recall)]
    for figure in (*drawings, plot.cutoffs(studies, names=odd)):
        figure.draw_without_rendering()
        words = " ".join(text.get_text() for text in figure.findobj(Text) if isinstance(text, Text))
        assert all(name in words for name in odd)


def test_results_without_pld_are_refused(good: mg.Results) -> None:
    lacking = replace(good, metrics=("ap_chamfer",))
    for draw in (plot.parts, plot.ranges):
        with pytest.raises(mg.InvalidInput, match="demo-good: pld not found in these results"):
            draw(lacking)
    with pytest.raises(mg.InvalidInput, match="pld not found in these results"):
        plot.cutoffs(mg.Sweep((lacking,)))
    with pytest.raises(mg.InvalidInput, match="demo-good: value 'pld' not found"):
        plot.histogram(lacking)


@pytest.mark.needs_feature("raster", "tracks")
def test_precision_and_recall_of_a_metric_without_them_names_those_of_features_too(good: mg.Results) -> None:
    with pytest.raises(
        mg.InvalidInput, match="must be one of ap_chamfer, ap_frechet, ap_sospa, raster_ap, c_map.*, got 'pld'"
    ):
        plot.precision_recall(good, metric="pld")


def test_what_no_metric_has_is_refused(good: mg.Results) -> None:
    with pytest.raises(mg.InvalidInput, match="must be one of ap_chamfer, ap_frechet, ap_sospa"):
        plot.precision_recall(good, metric="pld")
    with pytest.raises(mg.InvalidInput, match="demo-good: ap_sospa not found in these results"):
        plot.precision_recall(good, metric="ap_sospa")
    with pytest.raises(mg.InvalidInput, match=r"no threshold 0.7; available: 0.5"):
        plot.precision_recall(good, threshold=0.7)
    with pytest.raises(mg.InvalidInput, match="value 'colour' not found"):
        plot.histogram(good, value="colour")
    with pytest.raises(mg.InvalidInput, match="value 'scene' not found"):
        plot.histogram(good, value="scene")


def test_results_without_ranges_are_refused(good: mg.Results) -> None:
    with pytest.raises(mg.InvalidInput, match="these results have no ranges. Evaluate with ranges="):
        plot.ranges(replace(good, ranges=()))


def test_orders_without_parts_are_refused() -> None:
    truth = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}})
    settings = mg.protocol("paper-60x30", classes=["divider"], order=2)
    results = mg.evaluate(truth.with_confidence(1), truth, settings)
    with pytest.raises(mg.InvalidInput, match="does not split into parts"):
        plot.parts(results)
    with pytest.raises(mg.InvalidInput, match="value 'missed' not found"):
        plot.histogram(results, value="missed")


def test_results_with_nothing_in_them_are_refused(nothing: mg.Results) -> None:
    with pytest.raises(mg.InvalidInput, match="neither predictions nor truth"):
        plot.parts(nothing)
    with pytest.raises(mg.InvalidInput, match="neither predictions nor truth"):
        plot.cutoffs(mg.Sweep((nothing,)))
    with pytest.raises(mg.InvalidInput, match="neither predictions nor truth"):
        plot.ranges(nothing)
    with pytest.raises(mg.InvalidInput, match="neither predictions nor truth"):
        plot.precision_recall(nothing)


def test_nothing_and_other_things_are_refused(good: mg.Results) -> None:
    for draw in (plot.parts, plot.ranges, plot.histogram, plot.precision_recall):
        with pytest.raises(mg.InvalidInput, match="results: expected at least one, got none"):
            draw([])
        with pytest.raises(mg.InvalidInput, match="results 1: expected Results from evaluate\\(\\), got int"):
            draw([good, 3])  # type: ignore[list-item]
        with pytest.raises(mg.InvalidInput, match="names must be 1 different strings"):
            draw(good, names=NAMES)
    for sweep in ([], [mg.Sweep(())]):
        with pytest.raises(mg.InvalidInput, match="sweep: expected at least one result, got none"):
            plot.cutoffs(sweep)
    with pytest.raises(mg.InvalidInput, match="expected a Sweep from mapgauge.sweep\\(\\), got int"):
        plot.cutoffs([3])  # type: ignore[list-item]


LONG = ["StreamMapNet-baseline-epoch24-nuscenes-newsplit", "MapTRv2_r50_110ep_with_centerline_aux", "MapTracker" * 12]
CHARTS = ["parts", "causes", "cutoffs", "ranges", "histogram", "precision_recall"]
# These are figures of a feature, which may have been deleted.
CHARTS_OF_CONFIDENCE = [
    pytest.param(name, marks=pytest.mark.needs_feature("confidence")) for name in ("calibration", "confidence")
]


# The title and the legend are laid out alike in all figures, and the larger texts of slides need the most room.
@pytest.mark.parametrize(
    ("chart", "style"),
    [
        ("parts", "paper"),
        ("parts", "slides"),
        ("causes", "slides"),
        ("cutoffs", "paper"),
        ("ranges", "slides"),
        ("histogram", "paper"),
        ("precision_recall", "slides"),
        pytest.param("calibration", "paper", marks=pytest.mark.needs_feature("confidence")),
        pytest.param("confidence", "slides", marks=pytest.mark.needs_feature("confidence")),
    ],
)
def test_three_long_names_and_a_long_title_fit_on_the_page(methods: list[mg.Results], chart: str, style: str) -> None:
    three = [*methods, methods[0]]
    figure = getattr(plot, chart)(three, names=LONG, title="A long title of many words " * 9, style=style)
    figure.draw_without_rendering()
    legends = [*figure.legends, *(found for axes in figure.axes if (found := axes.get_legend()))]
    texts = [*figure.texts, *(text for found in legends for text in found.get_texts())]
    for axes in figure.axes:
        texts += [axes.title, axes.xaxis.label, axes.yaxis.label]
        texts += axes.get_yticklabels() if chart == "parts" else []  # others may have labels outside their limits
    assert figure.get_suptitle()
    texts = [text for text in texts if text.get_text().strip()]
    boxes = [text.get_window_extent() for text in texts]
    for text, box in zip(texts, boxes, strict=True):
        assert box.x0 >= -1, text
        assert box.x1 <= figure.bbox.x1 + 1, text
        assert box.y0 >= -1, text
        assert box.y1 <= figure.bbox.y1 + 1, text
    inner = [box.padded(-0.2 * box.height) for box in boxes]
    lapping = [
        (texts[k].get_text(), texts[j].get_text())
        for k, a in enumerate(inner)
        for j, b in enumerate(inner[:k])
        if a.overlaps(b) and texts[k].get_text() != texts[j].get_text()
    ]
    assert not lapping


@pytest.mark.parametrize("chart", [*CHARTS, *CHARTS_OF_CONFIDENCE])
def test_charts_are_drawn_into_axes_of_the_caller(methods: list[mg.Results], chart: str) -> None:
    mine = Figure()
    count = {"precision_recall": 3, "calibration": 3, "confidence": 4}.get(chart, 1)
    axes = mine.subplots(1, count + 1)
    size = mine.get_size_inches().tolist()
    given = axes[0] if count == 1 else axes[:count]
    assert getattr(plot, chart)(methods, ax=given, title="mine") is mine
    assert axes[0].get_title() == "mine"
    assert axes[0].has_data()
    assert not axes[-1].has_data()
    assert not mine.legends
    assert mine.get_size_inches().tolist() == size
    with pytest.raises(mg.InvalidInput, match=f"ax: this figure has {count} panels, got {count + 1} axes"):
        getattr(plot, chart)(methods, ax=axes)
    with pytest.raises(mg.InvalidInput, match="ax: expected matplotlib Axes, got str"):
        getattr(plot, chart)(methods, ax=["axes"])


def test_slides_have_larger_text_and_lines(good: mg.Results) -> None:
    paper, slides = (plot.ranges(good, style=style) for style in ("paper", "slides"))
    for of in (
        lambda figure: figure.get_figwidth(),
        lambda figure: figure.axes[0].xaxis.label.get_fontsize(),
        lambda figure: figure.axes[0].get_lines()[0].get_linewidth(),
        lambda figure: figure.legends[0].get_texts()[0].get_fontsize(),
    ):
        assert of(slides) > 1.5 * of(paper)
    with pytest.raises(mg.InvalidInput, match=r"style must be .*got 'poster'"):
        plot.ranges(good, style="poster")  # type: ignore[arg-type]
    assert plot.ranges(good).get_figwidth() == paper.get_figwidth()


def test_figures_show_themselves_in_a_notebook(good: mg.Results) -> None:
    figure = plot.parts(good)
    assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]


def test_a_class_without_hits_has_an_average_precision_and_no_curve() -> None:
    lines = {"divider": [[[0, 0], [9, 0]]], "boundary": [[[0, 9], [9, 9]]]}
    truth = mg.MapFrames.of({"a": lines})
    far = mg.MapFrames.of(
        {"a": lines | {"boundary": [[[0, -9], [9, -9]]]}}, confidence={"a": {"divider": [0.9], "boundary": [0.8]}}
    )
    results = mg.evaluate(far, truth, mg.protocol("paper-60x30", classes=["divider", "boundary"]))
    (axes,) = plot.precision_recall(results, threshold=0.5).axes
    assert [len(line.get_xdata()) for line in axes.lines] == [2, 0]  # type: ignore[arg-type]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [  # type: ignore[union-attr]
        "divider 1.000",
        "boundary 0.000",
    ]


@pytest.fixture(scope="module")
def lanes() -> list[mg.Results]:
    """Lanes and traffic elements by two submissions. The first frame has no truth."""
    predictions, truth = both(world(7, "1.1", 8))
    return [mg.evaluate(one, truth, "openlanev2-v1.1") for one in (predictions, predictions.filter(0.5))]


@pytest.mark.needs_feature("openlane", "confidence")
def test_figures_of_hits_have_only_the_classes_of_the_metric(lanes: list[mg.Results]) -> None:
    one = lanes[0]
    axes = plot.precision_recall(one, metric="det_l").axes
    shown = [text.get_text() for text in axes[0].get_legend().get_texts()]  # type: ignore[union-attr]
    assert shown == [f"centerline {one.classes['centerline']['det_l@1.0']:.3f}"]
    assert legend(plot.calibration(one, metric="det_l", threshold=1.0)) == [
        "centerline",
        "band: 95 % at each point, over 8 frames",
        "calibrated",
    ]
    (alone,) = plot.calibration(one, metric="det_l", threshold=1.0).axes
    (pooled,) = plot.calibration(lanes, metric="det_l", threshold=1.0, names=NAMES).axes
    assert len(alone.lines) == 2  # the diagonal and the lanes
    assert pooled.lines[1].get_ydata() == pytest.approx(alone.lines[1].get_ydata())  # boxes are no misses of det_l
    for draw in (plot.precision_recall, plot.calibration):
        assert draw(one).axes[0].get_title() == "DET_l@1.0 m"  # the first of the results


@pytest.mark.needs_feature("openlane")
def test_a_histogram_leaves_out_frames_without_a_value(lanes: list[mg.Results]) -> None:
    rows = [row["top_ll"] for row in lanes[0].frames()]
    there = [value for value in rows if value is not None]
    assert 0 < len(there) < len(rows)
    (text,) = legend(plot.histogram(lanes[0], value="top_ll", names=["one"]))
    assert text == f"one, median {np.median(there):.3g} of {len(there)} frames"
    (axes,) = plot.histogram(lanes[0], value="top_ll").axes
    assert axes.patches[0].get_data().values.sum() == len(there)  # type: ignore[attr-defined]


@pytest.mark.needs_feature("confidence")
def test_the_legend_of_given_axes_is_below_their_label(methods: list[mg.Results]) -> None:
    draws: list[tuple[Any, float]] = [
        (partial(plot.parts, methods[0]), 2.0),
        (partial(plot.histogram, methods, names=NAMES), 7.0),
        (partial(plot.calibration, methods[0], threshold=1.0), 7.0),
        (partial(plot.precision_recall, methods, names=NAMES, threshold=1.0), 2.0),
    ]
    for draw, height in draws:
        figure = Figure(figsize=(5, height), layout="constrained")
        axes = figure.subplots()
        draw(ax=axes)
        FigureCanvasAgg(figure).draw()
        listed = axes.get_legend()
        assert listed is not None
        label, below = axes.xaxis.label.get_window_extent(), listed.get_window_extent()
        assert 0 <= below.y0 < below.y1 <= label.y0 + 1
        names = [text.get_text() for text in listed.get_texts()]
    assert names[-3:-1] == NAMES  # what the line styles mean
