"""Results that are unusual: with an error, without truth, without predictions, with one frame or with five methods."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.features.view.conftest import Open, drawn, serving

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.features.view.server import Server

FRAMES = 3


def saved(folder: Path, name: str, predictions: mg.MapFrames, truth: mg.MapFrames) -> Path:
    mg.write(predictions, folder / f"{name}-x.geojson")
    mg.write(truth, folder / f"{name}-y.geojson")
    path = folder / f"{name}.mg"
    mg.evaluate(mg.read(folder / f"{name}-x.geojson"), mg.read(folder / f"{name}-y.geojson")).save(path)
    return path


def test_an_error_is_said_above_the_list_with_the_name_of_its_method(show: Open, tmp_path: Path) -> None:
    predictions, truth = demo_world(FRAMES)
    good = saved(tmp_path, "good", predictions, truth)
    turned = saved(tmp_path, "turned", predictions.rotate(90), truth)
    with serving(good, turned) as server:
        page = show(server.address)
        drawn(page)
        (said,) = page.locator(".finding.error").all_inner_texts()
        assert said.startswith("turned: do not trust the numbers: the predictions are turned by 90 degrees")


def test_without_truth_the_predictions_are_seen(show: Open, tmp_path: Path) -> None:
    predictions, truth = demo_world(FRAMES)
    nothing = mg.MapFrames.of({token: {} for token in truth.tokens}, classes=truth.classes)
    with serving(saved(tmp_path, "alone", predictions, nothing)) as server:
        page = show(server.address)
        drawn(page)
        assert page.locator("#least-value").inner_text() == "0.00"
        assert page.locator(".panel .predictions:visible").count() > 0


def test_without_predictions_the_truth_is_seen(show: Open, tmp_path: Path) -> None:
    _, truth = demo_world(FRAMES)
    nothing = mg.MapFrames.of({token: {} for token in truth.tokens}, classes=truth.classes).with_confidence(1)
    with serving(saved(tmp_path, "empty", nothing, truth)) as server:
        page = show(server.address)
        drawn(page)
        assert page.locator(".panel .truth:visible").count() > 0
        page.locator("#answer", has_text="Predicts no length with a confidence above 0.").wait_for()


def test_one_frame_has_a_mark_on_each_curve(show: Open, tmp_path: Path) -> None:
    predictions, truth = demo_world(FRAMES)
    token = truth.tokens[2]
    one = saved(tmp_path, "one", predictions.at([predictions.index[token]]), truth.at([2]))
    with serving(one) as server:
        page = show(server.address)
        drawn(page)
        lengths = page.locator("#curves .curve").evaluate_all("nodes => nodes.map(node => node.getTotalLength())")
        assert lengths
        assert min(lengths) > 0


@pytest.fixture(scope="module")
def five(rig: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of five methods, each with fewer predictions, and of images."""
    folder = tmp_path_factory.mktemp("five")
    predictions, truth = demo_world(2)
    methods = [saved(folder, f"m{k}", predictions.filter(0.1 * k), truth) for k in range(5)]
    with serving(*methods, images=rig / "images") as running:
        yield running


def test_the_values_of_five_methods_do_not_cover_the_curves(look: Open, five: Server) -> None:
    page = look(five.address)
    page.set_viewport_size({"width": 1400, "height": 900})
    assert page.locator("#panels .panel").count() == 5
    ends = page.locator("#curves .now").evaluate_all("nodes => nodes.map(n => n.getBBox().x + n.getBBox().width)")
    begin = page.locator("#curves .field").first.evaluate("node => node.getBBox().x")
    assert max(ends) <= begin
    for width in (1400, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function("() => document.documentElement.scrollWidth <= innerWidth")


def test_the_two_methods_that_are_drawn_of_five_are_saved_as_pictures(look: Open, five: Server, tmp_path: Path) -> None:
    page = look(f"{five.address}#frame=scene-0000-1&shown=1+2")
    page.evaluate("() => delete window.showDirectoryPicker && delete Window.prototype.showDirectoryPicker")
    with page.expect_download() as picture:
        page.click("#save-scene")
    picture.value.save_as(tmp_path / "first.png")
    page.locator("#told", has_text="2 frames saved.").wait_for()
    assert (tmp_path / "first.png").read_bytes().startswith(b"\x89PNG")


def test_images_have_the_lines_of_a_method_that_is_drawn(look: Open, five: Server) -> None:
    page = look(f"{five.address}#frame=scene-0000-1&shown=1+2")
    page.wait_for_selector(".camera .instance", state="attached")
    assert page.locator("#cameras-note").inner_text().startswith("Lines of m1.")
