"""The bird's-eye view shows every instance, every pair and every point without partner, where they are."""

import math
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

import mapgauge as mg
from mapgauge import plot
from mapgauge.demo import demo_world
from mapgauge.metrics.colours import FAR, FOUND, MISSED
from mapgauge.metrics.table import colours_of
from mapgauge.views.figures.panel import NUMBERED, THIN
from mapgauge.views.figures.style import PALE, wrapped

FIVE = [[float(x), 0.0] for x in range(5)]
MATCHED = mg.Match("divider", 0, 0, 0.1, np.array([[0, 0], [1, 1], [2, 2]]))


def assigned(matches: list[mg.Match] | None = None, *, moved: float = 0.0, dimension: int = 2) -> mg.Assignment:
    """Two predictions and two true instances: the first ones of both are matched up to their last two points."""
    at = np.zeros((5, dimension))
    at[:, :2] = FIVE
    side = at + np.eye(dimension)[1] * 3
    predictions = [mg.Instance("divider", at + np.eye(dimension)[1] * moved, 0.75), mg.Instance("boundary", side, 0.02)]
    truth = [mg.Instance("divider", at), mg.Instance("ped_crossing", -side)]
    return mg.Assignment(
        token="token", predictions=predictions, truth=truth, matches=[MATCHED] if matches is None else matches
    )


def named(axes: Axes, prefix: str) -> dict[str, Line2D]:
    lines = {str(line.get_gid()): line for line in axes.get_lines()}
    return {name: line for name, line in lines.items() if name.startswith(prefix)}


def pairs_in(axes: Axes) -> list[Patch]:
    return [patch for patch in axes.patches if str(patch.get_gid()).startswith("pairs")]


def texts(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_boxes_are_not_drawn_but_counted() -> None:
    frames = mg.MapFrames.of({"a": {"centerline": [FIVE], "red": [[[900, 100], [950, 180]]]}})
    truth = replace(frames, boxes=("red",))
    settings = mg.protocol("paper-60x30", classes=["red", "centerline"], boxes=["red"])
    found = mg.evaluate(truth.with_confidence(0.5), truth, settings).assignment("a")
    assert ([line.class_name for line in found.truth], found.boxes, len(found.matches)) == (["centerline"], (1, 1), 1)
    assert "2 boxes in the image are not drawn" in legend(plot.frame(found))
    assert not [label for label in legend(plot.frame(assigned())) if "boxes" in label]


def test_every_instance_is_a_line() -> None:
    (axes,) = plot.frame(assigned()).axes
    assert sorted(named(axes, "truth")) == ["truth-0-0", "truth-1-0"]
    assert sorted(named(axes, "prediction")) == ["prediction-0-0", "prediction-1-0"]


@pytest.mark.parametrize("dimension", [2, 3])
def test_forward_is_up_and_left_is_left(dimension: int) -> None:
    (axes,) = plot.frame(assigned(dimension=dimension)).axes
    line = named(axes, "prediction-1")["prediction-1-0"]
    np.testing.assert_array_equal(np.array(line.get_data()).T, [[3, x] for x in range(5)])
    left, right = axes.get_xlim()
    bottom, top = axes.get_ylim()
    assert left > right
    assert bottom < top
    assert axes.get_aspect() == 1
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("y to the left (m)", "x forward (m)")


def test_data_whose_y_points_forward_is_drawn_as_it_is() -> None:
    known = replace(assigned(), forward="y")
    (axes,) = plot.frame(known, region=(60, 30)).axes  # the length lies forward
    assert (axes.get_xlim(), axes.get_ylim()) == ((-15, 15), (-30, 30))
    assert plot.frame(known, forward="x").axes[0].get_ylabel() == "x forward (m)"
    (axes,) = plot.frame(assigned(), forward="y").axes
    line = named(axes, "prediction-1")["prediction-1-0"]
    np.testing.assert_array_equal(np.array(line.get_data()).T, [[x, 3] for x in range(5)])
    assert axes.get_xlim()[0] < axes.get_xlim()[1]
    assert axes.get_ylabel() == "y forward (m)"
    nose = max(axes.patches[-1].get_path().vertices.tolist(), key=lambda point: float(point[1]))  # type: ignore[union-attr]
    assert nose == [0, 2.2]


def test_confidence_is_width_and_not_opacity() -> None:
    lines = named(plot.frame(assigned()).axes[0], "prediction")
    assert {line.get_alpha() for line in lines.values()} == {None}
    assert lines["prediction-0-0"].get_linewidth() == pytest.approx(THIN * (1 + 2.2 * 0.75))
    assert lines["prediction-1-0"].get_linewidth() == pytest.approx(THIN * (1 + 2.2 * 0.02))


def test_found_truth_is_grey_and_missed_truth_has_a_red_rim_and_hatches() -> None:
    (axes,) = plot.frame(assigned()).axes
    lines = named(axes, "truth")
    assert lines["truth-0-0"].get_color() == FOUND
    rim = lines["truth-1-0"]
    assert rim.get_color() == MISSED
    over = [line for line in axes.get_lines() if np.array_equal(line.get_xdata(), rim.get_xdata()) and line is not rim]
    inner, hatch = (line for line in over if line.get_gid() is None)
    assert inner.get_color() == "white"
    assert inner.get_linewidth() < hatch.get_linewidth() < rim.get_linewidth()
    assert hatch.get_color() == MISSED
    assert hatch.is_dashed()


def test_predictions_are_coloured_piece_by_piece_by_their_distance_to_the_truth() -> None:
    at = np.array(FIVE)
    bent = at + np.array([[0, 0], [0, 0], [0, 1.4], [0, 1.4], [0, 9]])  # middles: 0, 0.7, 1.4 and 5.2 m from the truth
    predictions = [mg.Instance("divider", bent, 1.0), mg.Instance("divider", at + np.array([0, 0.6]), 1.0)]
    frame = mg.Assignment(
        token="t", predictions=predictions, truth=[mg.Instance("divider", at)], matches=[MATCHED], cutoff=1.5
    )
    lines = named(plot.frame(frame).axes[0], "prediction")
    parts = ["prediction-0-0", "prediction-0-0-1", "prediction-0-0-2", "prediction-0-0-3"]
    assert [lines[part].get_color() for part in parts] == [colours_of(["divider"])["divider"], *FAR]
    false = lines["prediction-1-0"]
    assert (false.get_color(), false.is_dashed()) == (FAR[0], True)
    assert not any(lines[part].is_dashed() for part in parts)
    said = legend(plot.frame(frame))
    assert {"truth matched by PLD within 1.5 m", "off by 0.5 to 1 m", "off by 1 to 1.5 m", "off by over 1.5 m"} <= set(
        said
    )


def test_truth_is_paler_if_its_prediction_is_not_drawn() -> None:
    both = [plot.frame(assigned(), confidence=least) for least in (0.0, 0.8)]
    assert [named(figure.axes[0], "truth")["truth-0-0"].get_color() for figure in both] == [FOUND, PALE]
    assert ["matched below 0.8" in legend(figure) for figure in both] == [False, True]


def test_matched_points_are_drawn_from_eight_pixels_per_metre() -> None:
    near = plot.frame(assigned(moved=0.5), region=(20, 20)).axes[0]
    far = plot.frame(assigned(moved=0.5), region=(120, 120)).axes[0]
    assert pairs_in(near)
    assert named(near, "unmatched")
    assert not pairs_in(far)
    assert not named(far, "unmatched")


def test_confidences_worth_reading_are_written_beside_their_predictions() -> None:
    (axes,) = plot.frame(assigned()).axes
    assert texts(axes) == ["0.75"]
    across, up = axes.texts[0].get_position()
    assert 0 < min(math.dist((across, up), (0, x)) for x in range(5)) < 1


def test_what_has_no_partner_is_dashed() -> None:
    (axes,) = plot.frame(assigned()).axes
    assert {name: line.is_dashed() for name, line in (named(axes, "truth") | named(axes, "prediction")).items()} == {
        "truth-0-0": False,
        "truth-1-0": False,  # it has hatches
        "prediction-0-0": False,
        "prediction-1-0": True,
    }


def test_matched_points_are_joined() -> None:
    (axes,) = plot.frame(assigned(moved=0.5)).axes
    ends = np.asarray(pairs_in(axes)[0].get_path().vertices)
    np.testing.assert_array_equal(ends.reshape(-1, 2, 2), [[[0.5, x], [0, x]] for x in range(3)])


def test_points_without_partner_are_hollow() -> None:
    marks = named(plot.frame(assigned(moved=0.5)).axes[0], "unmatched")
    assert {name: np.array(line.get_data()).T.tolist() for name, line in marks.items()} == {
        "unmatched-truth-0-0": [[0, 3], [0, 4]],
        "unmatched-prediction-0-0": [[0.5, 3], [0.5, 4]],
    }
    assert all(to_hex(line.get_markerfacecolor()) == "#ffffff" for line in marks.values())


def test_truth_and_predictions_of_a_class_differ_in_more_than_colour() -> None:
    lines = named(plot.frame(assigned()).axes[0], "")
    assert lines["truth-0-0"].get_linewidth() > 1.5 * lines["prediction-0-0"].get_linewidth()


def test_classes_keep_their_colour_whatever_else_is_in_the_frame() -> None:
    def colour(name: str, other: str) -> str:
        predictions = [mg.Instance(name, np.array(FIVE), 1.0), mg.Instance(other, np.array(FIVE), 1.0)]
        (axes,) = plot.frame(mg.Assignment(token="t", predictions=predictions, truth=[], matches=[])).axes
        return str(named(axes, "prediction-0")["prediction-0-0"].get_color())

    assert colour("divider", "boundary") == colour("divider", "kerb") != colour("kerb", "divider")


def test_the_legend_names_what_is_there() -> None:
    figure = plot.frame(assigned())
    signs = [
        "truth matched by PLD",
        "missed truth",
        "prediction (width: confidence)",
        "false prediction",
        "matched points",
        "unmatched point",
    ]
    assert set(legend(figure)) == {"ped crossing", "divider", "boundary", *signs, "ego"}
    everything = mg.Match("divider", 0, 0, 0.0, np.array([[k, k] for k in range(5)]))
    whole = assigned([everything])
    alone = mg.Assignment(token="t", predictions=whole.predictions[:1], truth=whole.truth[:1], matches=whole.matches)
    assert not {"missed truth", "false prediction", "boundary"} & set(legend(plot.frame(alone)))


def test_points_are_in_the_legend_exactly_if_they_are_drawn() -> None:
    """The legend of one frame in a column of a paper must know the width of its panel."""
    for region in ((60.0, 30.0), (600.0, 300.0)):
        figure = plot.frame(assigned(), region=region)
        (axes,) = figure.axes
        assert bool(pairs_in(axes)) == ("matched points" in legend(figure)) == (region[0] == 60)
        assert bool(named(axes, "unmatched")) == ("unmatched point" in legend(figure)) == (region[0] == 60)


def test_the_legend_says_how_many_predictions_are_hidden() -> None:
    assert "1 is hidden, below 0.1" in legend(plot.frame(assigned(), confidence=0.1))
    assert not any("hidden" in text for text in legend(plot.frame(assigned())))


def test_ignored_lines_are_dotted_and_in_the_legend() -> None:
    predictions, truth = demo_world(2)
    results = mg.evaluate(predictions, truth.with_ignore(np.arange(len(truth.polylines)) % 3 == 0))
    frame = results.assignment(truth.tokens[0])
    shown = [plot.frame(frame, side_by_side=side) for side in (False, True)]
    for figure in shown:
        dotted = [line for axes in figure.axes for line in axes.lines if line.get_zorder() == 1.5]
        assert len(dotted) == len(frame.ignored) > 0
        assert "ignored" in legend(figure)


def test_values_are_written_above_the_panel() -> None:
    figure = plot.frame(assigned(), values={"pld": 0.71234, "ap_chamfer@0.5": None}, names=["good"])
    (axes,) = figure.axes
    assert texts(axes)[0] == "PLD 0.712   Chamfer-AP@0.5 -"
    figure.draw_without_rendering()
    values, name, panel = axes.texts[0].get_window_extent(), axes.title.get_window_extent(), axes.get_window_extent()
    assert panel.y1 <= values.y0 < values.y1 <= name.y0 + 1


def test_faint_predictions_can_be_left_out() -> None:
    everything, few = plot.frame(assigned()), plot.frame(assigned(), confidence=0.1)
    assert sorted(named(everything.axes[0], "prediction")) == ["prediction-0-0", "prediction-1-0"]
    assert sorted(named(few.axes[0], "prediction")) == ["prediction-0-0"]
    assert len(pairs_in(few.axes[0])) == 1
    assert "1 is hidden, below 0.1" in legend(few)
    none = plot.frame(assigned(), confidence=0.8).axes[0]
    assert not named(none, "prediction")
    assert not named(none, "unmatched-prediction")
    assert not pairs_in(none)
    assert sorted(named(none, "truth")) == ["truth-0-0", "truth-1-0"]


def test_a_frame_is_drawn_into_axes_of_the_caller() -> None:
    mine = Figure()
    axes = mine.subplots(1, 2)
    assert plot.frame(assigned(), ax=axes[0], values={"pld": 0.5}, title="mine") is mine
    assert named(axes[0], "prediction")
    assert axes[0].get_title() == "mine"
    assert not axes[1].has_data()
    plot.frame([assigned(), assigned()], ax=axes)
    assert named(axes[1], "prediction")
    with pytest.raises(mg.InvalidInput, match="2 panels, got 1 axes"):
        plot.frame([assigned(), assigned()], ax=axes[0])


@pytest.mark.parametrize("style", ["paper", "slides"])
def test_long_tokens_and_names_fit_on_the_page(good: mg.Results, style: str) -> None:
    figure = plot.frame(
        [good.assignment(good.tokens[0])] * 3,
        title="0123456789abcdef-" * 12,
        names=["a_very_long_name_of_a_method_" * 3, "another_long_name_of_a_method_" * 3, "short"],
        values=[{"pld": 0.5, "ap_chamfer": 0.5, "ap_frechet": 0.5}] * 3,
        region=(60, 30),
        style=style,  # type: ignore[arg-type]
    )
    figure.draw_without_rendering()
    above = [figure.texts[0], *(axes.title for axes in figure.axes), *(axes.texts[0] for axes in figure.axes)]
    boxes = [text.get_window_extent() for text in above]
    for box in boxes:
        assert 0 <= box.x0 < box.x1 <= figure.bbox.x1
        assert box.y1 <= figure.bbox.y1
    assert not any(a.padded(-1).overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])


def test_several_methods_become_columns() -> None:
    figure = plot.frame(
        [assigned(), assigned(moved=0.5)], names=["good", "poor"], values=[{"pld": 0.1}, {"pld": 0.2}], title="a frame"
    )
    assert [axes.get_title() for axes in figure.axes] == ["good", "poor"]
    assert [texts(axes)[0] for axes in figure.axes] == ["PLD 0.100", "PLD 0.200"]
    assert figure.axes[0].get_xlim() == figure.axes[1].get_xlim()
    assert [text.get_text() for text in figure.texts] == ["a frame"]
    assert [axes.get_title() for axes in plot.frame([assigned(), assigned()]).axes] == ["method 0", "method 1"]


def test_side_by_side_truth_has_a_panel_of_its_own() -> None:
    figure = plot.frame([assigned(), assigned(moved=0.5)], side_by_side=True, names=["good", "poor"])
    assert [axes.get_title() for axes in figure.axes] == ["truth", "good", "poor"]
    assert [(len(named(axes, "truth")), len(named(axes, "prediction"))) for axes in figure.axes] == [
        (2, 0),
        (0, 2),
        (0, 2),
    ]
    assert not any(pairs_in(axes) for axes in figure.axes)
    assert not named(figure.axes[0], "unmatched")
    assert "matched points" not in legend(figure)


def test_side_by_side_with_one_method_marks_the_truth_too() -> None:
    figure = plot.frame(assigned(), side_by_side=True)
    assert [list(named(axes, "unmatched")) for axes in figure.axes] == [
        ["unmatched-truth-0-0"],
        ["unmatched-prediction-0-1"],
    ]
    assert named(figure.axes[0], "truth-1")["truth-1-0"].get_color() == MISSED


def test_the_region_limits_the_view() -> None:
    (axes,) = plot.frame(assigned(), region=(60, 30)).axes
    assert (axes.get_xlim(), axes.get_ylim()) == ((15, -15), (-30, 30))


def test_what_lies_outside_the_region_has_no_number() -> None:
    assert texts(plot.frame(assigned(), region=(-30, -15, -10, 15)).axes[0]) == []


def test_a_map_far_from_the_origin_fills_the_view_without_a_car() -> None:
    here = assigned()
    away = [line._replace(points=line.points + np.array([600.0, 2040.0])) for line in here.truth]
    (axes,) = plot.frame(replace(here, truth=away, predictions=[], matches=[]), region=(60, 30)).axes
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    assert 595 < left < 596 < 604 < right < 605  # x to the right, y up, a small margin
    assert 2036 < bottom < 2037 < 2040 < top < 2041
    assert (axes.get_xlabel(), axes.get_ylabel(), len(axes.patches)) == ("x (m)", "y (m)", 0)
    legend = axes.figure.legends[0]
    assert "ego" not in [text.get_text() for text in legend.get_texts()]


def test_polygons_are_closed_and_open_lines_are_not() -> None:
    corner = np.array([[0, 0], [4, 0], [4, 4], [0, 4], [0, 0]])
    ring = mg.resample(corner, spacing=0.5)[:-1]
    open_line = mg.resample(corner[:-1], spacing=0.5)
    both = [mg.Instance("ped_crossing", ring), mg.Instance("boundary", open_line)]
    lines = named(
        plot.frame(mg.Assignment(token="t", predictions=[], truth=both, matches=[], truth_closed=[True, False])).axes[
            0
        ],
        "truth",
    )
    assert [len(np.asarray(lines[f"truth-{k}-0"].get_xdata())) for k in range(2)] == [len(ring) + 1, len(open_line)]


def test_an_empty_frame_shows_the_car() -> None:
    (axes,) = plot.frame(mg.Assignment(token="t", predictions=[], truth=[], matches=[])).axes
    assert len(axes.patches) == 1
    assert axes.get_lines() == []


def test_numbers_do_not_cover_each_other(good: mg.Results) -> None:
    for token in good.tokens[:2]:
        figure = plot.frame(good.assignment(token), values={"pld": 0.5}, region=(60, 30))
        figure.draw_without_rendering()
        boxes = [text.get_window_extent().padded(-1) for text in figure.axes[0].texts]
        predictions = good.assignment(token).predictions
        assert len(boxes) <= 1 + sum((line.confidence or 0) >= NUMBERED for line in predictions)
        assert len(boxes) > 4
        assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])


def test_all_of_a_frame_lies_on_the_page(good: mg.Results) -> None:
    figure = plot.frame([good.assignment(good.tokens[0])] * 3, side_by_side=True, title="a frame")
    figure.draw_without_rendering()
    page = figure.bbox
    for item in (*figure.findobj(Text), *figure.legends):
        box = item.get_window_extent()
        inside = page.x0 <= box.x0 and page.y0 <= box.y0 and box.x1 <= page.x1 and box.y1 <= page.y1
        assert inside or not box.width, item


@pytest.mark.parametrize("region", [(2000, 2), (2, 2000), (1e6, 1e6), (0.01, 0.02)])
def test_regions_of_any_shape_can_be_drawn(region: tuple[float, float]) -> None:
    figure = plot.frame(assigned(), region=region, values={"pld": 0.5}, names=["a$b_{$"])
    figure.draw_without_rendering()
    assert max(figure.get_size_inches()) < 9
    assert 0 < len(figure.axes[0].get_yticks()) + len(figure.axes[0].get_xticks()) < 20


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"assignment": []}, "assignment: expected at least one, got none"),
        ({"assignment": ["token"]}, "expected an Assignment from Results.assignment\\(\\), got str"),
        ({"names": ["a", "b"]}, "names must be 1"),
        ({"names": "a"}, "names must be 1"),
        ({"values": [{}, {}]}, "values must be 1 mappings, one for each assignment, got 2"),
        ({"assignment": [assigned(), assigned()], "values": {"pld": 1.0}}, "values must be 2 mappings"),
        ({"region": (0, 5)}, "region must be"),
        ({"forward": "z"}, 'forward must be "x", "y", or None'),
        (
            {
                "assignment": [assigned(), mg.Assignment(token="other", predictions=[], truth=[], matches=[])],
                "side_by_side": True,
            },
            "needs assignments of one frame, got token, other",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(mg.InvalidInput, match=message):
        plot.frame(**({"assignment": assigned()} | change))  # type: ignore[arg-type]


def test_a_long_token_is_broken_between_its_parts() -> None:
    token = "7fab2350-7eaf-3b7e-a39d-6937a4c1bede_315966258772412943"
    lines = wrapped(token, 3.2)
    assert "".join(lines) == token
    assert len(lines) > 1
    assert all(line.endswith(("_", "-")) for line in lines[:-1])
    assert "".join(wrapped("x" * 60, 3.2)) == "x" * 60
