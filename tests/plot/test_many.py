"""Figures of many methods, many classes, and names in any script can be read."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Annotation, Text

import mapgauge as mg
from mapgauge import plot
from mapgauge.demo import demo_world
from mapgauge.metrics.table import COLOURS
from mapgauge.views.figures.style import families

LONG = "a_very_long_name_of_a_run_with_seed_42_and_more_words_2026-11-18"
NAMES = ["StreamMapNet", "MapTRv2", LONG, "BeMapNet", "MapTracker"]
OF_CONFIDENCE = pytest.mark.needs_feature("confidence")
CHARTS = [
    "parts",
    "causes",
    "cutoffs",
    "ranges",
    "histogram",
    "precision_recall",
    pytest.param("calibration", marks=OF_CONFIDENCE),
    pytest.param("confidence", marks=OF_CONFIDENCE),
]


def draw(chart: str) -> Callable[..., Figure]:
    """Return the function of a figure by its name."""
    function: Callable[..., Figure] = getattr(plot, chart)
    return function


@pytest.fixture(scope="module")
def five(methods: list[mg.Results]) -> list[mg.Results]:
    """Five methods. The last three are the first with fewer predictions."""
    predictions, truth = demo_world(10, predictions=30)
    fewer = [predictions.filter(least) for least in (0.2, 0.4, 0.6)]
    return [*methods, *(mg.evaluate(one, truth, methods[0].protocol, ranges=(0, 10, 20, 30)) for one in fewer)]


@pytest.fixture(scope="module")
def sixty() -> list[mg.Results]:
    """Three methods on 60 classes; the last classes have the most true instances."""
    rng = np.random.default_rng(0)
    names = [f"class {k:02d}" for k in range(60)]
    protocol = mg.protocol("paper-60x30", classes=names, cutoffs=(1.5, 0.5))
    x = np.linspace(-20, 20, 9)

    def lines(noise: float) -> dict[str, list[Any]]:
        return {
            name: [
                np.stack([x, np.full(9, k % 30 - 15.0) + rng.normal(0, noise, 9)], 1) for _ in range(1 + (k >= 50) * 2)
            ]
            for k, name in enumerate(names)
        }

    truth = mg.MapFrames.of({"a": lines(0.0), "b": lines(0.0)})
    found = []
    for noise in (0.3, 0.6, 0.9):
        drawn = {"a": lines(noise), "b": lines(noise)}
        sure = {
            token: {name: rng.uniform(0.2, 1, len(some)) for name, some in each.items()}
            for token, each in drawn.items()
        }
        found.append(mg.evaluate(mg.MapFrames.of(drawn, confidence=sure), truth, protocol, ranges=(0, 10, 20, 30)))
    return found


def texts_of(figure: Figure) -> list[Text]:
    """All texts of a figure that are not numbers at the axes."""
    legends = [*figure.legends, *(found for axes in figure.axes if (found := axes.get_legend()))]
    texts = [*figure.texts, *(text for found in legends for text in found.get_texts())]
    for axes in figure.axes:
        texts += [axes.title, axes.xaxis.label, axes.yaxis.label, *axes.texts]
    return [text for text in texts if text.get_text().strip()]


def check_readable(figure: Figure) -> None:
    """Fail if a text is cut, or covers another one."""
    figure.draw_without_rendering()
    texts = texts_of(figure)
    boxes = [Text.get_window_extent(text) for text in texts]  # of annotations without their lines
    for text, box in zip(texts, boxes, strict=True):
        assert box.x0 >= -1, text
        assert box.x1 <= figure.bbox.x1 + 1, text
        assert box.y0 >= -1, text
        assert box.y1 <= figure.bbox.y1 + 1, text
    inner = [box.padded(-0.2 * box.height) for box in boxes]
    for k, a in enumerate(inner):
        for j, b in enumerate(inner[:k]):
            assert not a.overlaps(b), (texts[k], texts[j])


# Figures have one of two arrangements, for one or two methods and for more. Slides have larger texts, so that the most
# methods of each arrangement need the most room.
@pytest.mark.parametrize(("count", "style"), [(1, "paper"), (2, "slides"), (5, "slides")])
@pytest.mark.parametrize("chart", CHARTS)
def test_no_text_is_cut_or_covered(five: list[mg.Results], chart: str, count: int, style: str) -> None:
    names = [LONG] if count == 1 else NAMES[:count]
    check_readable(draw(chart)(five[:count], names=names, style=style))


# Each figure in its arrangements with the most names of classes. From two methods on, only the means have ranges.
@pytest.mark.parametrize(
    ("chart", "count"),
    [
        ("parts", 1),
        ("parts", 3),
        ("causes", 1),
        ("causes", 3),
        ("cutoffs", 3),
        ("ranges", 1),
        ("ranges", 3),
        ("histogram", 3),
        ("precision_recall", 2),
        ("precision_recall", 3),
        pytest.param("calibration", 1, marks=OF_CONFIDENCE),
        pytest.param("calibration", 3, marks=OF_CONFIDENCE),
        pytest.param("confidence", 1, marks=OF_CONFIDENCE),
    ],
)
def test_sixty_classes_are_not_a_page_of_legend(sixty: list[mg.Results], chart: str, count: int) -> None:
    figure = draw(chart)(sixty[:count], names=["A", "B", "C"][:count])
    check_readable(figure)
    legends = [*figure.legends, *(found for axes in figure.axes if (found := axes.get_legend()))]
    assert max(len(found.get_texts()) for found in legends or [figure.legend([])]) <= 14
    assert figure.get_figheight() < 9.5


def test_the_classes_that_are_drawn_have_the_most_truth_and_the_figure_says_so(sixty: list[mg.Results]) -> None:
    figure = plot.precision_recall(sixty, names=["A", "B", "C"])
    titles = [axes.get_title() for axes in figure.axes[:6]]
    assert titles == [f"class {k}" for k in range(50, 56)]
    said = [text.get_text() for text in figure.legends[0].get_texts()]
    shown = "6 of 60 classes: those with the most true instances"
    assert said == ["A", "B", "C", shown, "no band: 2 frames are too few"]
    two = plot.precision_recall(sixty[:2], names=["A", "B"])
    listed = [text.get_text() for text in two.axes[0].get_legend().get_texts()]  # type: ignore[union-attr]
    assert [words[:8] for words in listed[:9]] == [f"class {k}" for k in range(50, 59)]
    assert listed[9] == "51 other classes"
    assert "40 of 60 classes" in plot.parts(sixty[0]).axes[0].get_xlabel()


def test_from_three_methods_on_every_class_has_panels_and_every_curve_its_value(five: list[mg.Results]) -> None:
    figure = plot.precision_recall(five, names=NAMES)
    assert len(figure.axes) == 3 * 3
    assert [axes.get_title() for axes in figure.axes[:3]] == ["ped crossing", "divider", "boundary"]
    for k, axes in enumerate(figure.axes):
        row, column = divmod(k, 3)
        class_name = five[0].class_names[column]
        key = f"ap_chamfer@{(0.5, 1.0, 1.5)[row]}"
        lines = axes.get_lines()
        assert [line.get_color() for line in lines] == list(COLOURS[:5])
        assert {line.get_linestyle() for line in lines} == {"-"}
        ends = [text for text in axes.texts if isinstance(text, Annotation)]
        expected = {(COLOURS[m], f"{method.classes[class_name][key]:.3f}") for m, method in enumerate(five)}
        assert {(str(text.get_color()), text.get_text()) for text in ends} == expected


def test_a_method_has_the_same_colour_in_all_figures(five: list[mg.Results]) -> None:
    for chart in ("cutoffs", "ranges", "precision_recall"):
        lines = draw(chart)(five, names=NAMES).axes[0].get_lines()
        assert [line.get_color() for line in lines] == list(COLOURS[:5]), chart
    rows = plot.histogram(five, names=NAMES).axes[0]
    assert [str(text.get_color()) for text in rows.texts] == list(COLOURS[:5])
    assert [text.get_text() for text in rows.get_yticklabels()][0::4] == ["StreamMapNet", "MapTracker"]


def test_line_styles_differ_when_colours_begin_again(five: list[mg.Results]) -> None:
    figure = plot.precision_recall([five[0]] * 12, names=[f"run {k}" for k in range(12)], threshold=1)
    looks = [(line.get_color(), line.get_linestyle()) for line in figure.axes[0].get_lines()]
    assert len(set(looks)) == 12


def test_rows_of_a_histogram_have_all_frames_and_the_medians(five: list[mg.Results]) -> None:
    (axes,) = plot.histogram(five, names=NAMES).axes
    medians = [np.median([row["pld"] for row in method.frames()]) for method in five]
    assert [text.get_text() for text in axes.texts] == [f"median {middle:.3g}" for middle in medians]
    assert "the highest bar has" in axes.get_xlabel()


@pytest.mark.parametrize(
    ("family", "names"),
    [
        ("Noto Sans CJK", ["地图评估方法", "評価マップ", "지도 평가"]),
        ("DejaVu Sans", ["خريطة الطريق", "χάρτης", "карта"]),
    ],
)
@pytest.mark.parametrize("chart", ["parts", "histogram", "precision_recall"])  # beside bars, in rows and in legends
def test_names_in_other_scripts_have_their_letters(
    five: list[mg.Results], chart: str, family: str, names: list[str], tmp_path: Any
) -> None:
    if not any(there.startswith(family) for there in families()):
        pytest.skip(f"needs the typeface {family}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # matplotlib warns of a letter that no typeface has
        figure = draw(chart)(five[:3], names=names, title=names[0])
        check_readable(figure)
        if chart == "parts":  # all figures are saved in the same way
            for suffix in ("png", "svg", "pdf"):
                plot.save(figure, tmp_path / f"figure.{suffix}")


def test_one_cutoff_is_refused_with_the_line_to_type() -> None:
    predictions, truth = demo_world(2, predictions=9)
    one = mg.evaluate(predictions, truth, mg.protocol("paper-60x30", cutoffs=[1.5]))
    with pytest.raises(mg.InvalidInput, match=r"needs several cutoffs, and these results have one, 1\.5 m") as caught:
        plot.cutoffs(one, names=["A"])
    assert caught.value.remedy is not None
    assert "-p paper-60x30 -c 1.5,0.5,1,2 -o cutoffs.mg && mapgauge plot cutoffs" in caught.value.remedy.shell
    assert "cutoffs=[1.5, 0.5, 1, 2]" in caught.value.remedy.python
