"""Results without scenes and poses, as those of StreamMapNet and MapTR are, in a real browser."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.features.view.conftest import Open, drawn, serving

import mapgauge as mg
from mapgauge.features.view.server import Server

if TYPE_CHECKING:
    from playwright.sync_api import Page

TOKEN = "scene-0001-4"


@pytest.fixture(scope="module", params=["poses", "images"])
def placed(request: pytest.FixtureRequest, bare: Path, files: Path, rig: Path) -> Iterator[Server]:
    """A server of two methods, whose frames have their poses and scenes from a file or from the folder of images."""
    settings = {"poses": files / "truth.parquet"} if request.param == "poses" else {"images": rig / "images"}
    with serving(bare / "good.mg", bare / "poor.mg", **settings) as running:
        yield running


def moment(page: "Page") -> str:
    return page.locator("#moment").inner_text()


def test_frames_are_drawn_and_played_in_the_scenes_of_the_poses(look: Open, placed: Server) -> None:
    page = look(f"{placed.address}#frame={TOKEN}&speed=8")
    page.wait_for_selector("#time:visible")
    assert re.match(r"scene-0001: frame 5 of 10", moment(page))
    assert page.locator("#curves .curve").count() > 0
    page.click("#play")
    page.wait_for_function("() => document.getElementById('moment').textContent.includes('frame 10 of 10')")
    page.click("#scene-before")
    assert moment(page).startswith("scene-0000: frame 1 of 10")
    assert page.locator("#failure").inner_text() == ""


def test_the_first_screen_has_the_scenes_of_the_poses(look: Open, placed: Server) -> None:
    page = look(f"{placed.address}#frame={TOKEN}")
    page.wait_for_selector("#scene-rows [data-scene^='scene-']")
    names = page.locator("#scene-rows li").evaluate_all("all => all.map((row) => row.dataset.scene)")
    assert sorted(names) == ["scene-0000", "scene-0001", "scene-0002"]
    assert page.locator("#scene-rows [data-scene='scene-0001'] .moment").count() == 1


def test_the_world_the_trail_and_the_map_are_there(look: Open, placed: Server) -> None:
    page = look(f"{placed.address}#frame={TOKEN}&space=world&trail=3&pane=place")
    page.wait_for_selector(".panel g[transform] .ego", state="attached")
    page.wait_for_selector(".panel .trail", state="attached")
    page.wait_for_selector("#place-worst button")
    assert page.locator("#status").inner_text() == ""


def test_average_precisions_of_the_scene_are_curves(look: Open, placed: Server) -> None:
    page = look(f"{placed.address}#frame={TOKEN}&curves=ap_chamfer")
    page.wait_for_selector("#time:visible")
    values = "() => /^[0-9.]+ [|] [0-9.]+$/.test(document.querySelector('#curves .now')?.textContent ?? '')"
    page.wait_for_function(values)


def test_poses_without_scenes_are_one_drive(show: Open, bare: Path, files: Path, tmp_path: Path) -> None:
    truth = mg.read(files / "truth.parquet")
    assert truth.poses is not None
    named = mg.MapFrames.of({token: {} for token in truth.tokens})
    named = mg.with_poses(named, truth)
    object.__setattr__(named, "scenes", None)
    object.__setattr__(named, "timestamps", None)
    mg.write(named, tmp_path / "poses.parquet")
    with serving(bare / "good.mg", poses=tmp_path / "poses.parquet") as server:
        page = show(f"{server.address}#frame={TOKEN}")
        page.wait_for_selector("#time:visible")
        assert moment(page) == f"all frames: frame 15 of {len(truth)}"
        assert np.isfinite(truth.poses).all()


def test_frames_without_scenes_and_poses_have_no_timeline(show: Open, bare: Path) -> None:
    with serving(bare / "good.mg") as server:
        page = show(f"{server.address}#frame={TOKEN}&space=world&trail=3")
        drawn(page)
        assert not page.locator("#time").is_visible()


def test_errors_of_scripts_are_said_on_the_page(show: Open, server: Server) -> None:
    page = show(server.address, quiet=False)
    scripts = {
        "no such thing": "setTimeout(() => { throw new TypeError('no such thing'); })",
        "lost": "Promise.reject(new Error('lost'))",
    }
    for word, script in scripts.items():
        page.evaluate(f"() => {{ {script}; }}")
        page.locator("#failure:visible .finding.error:visible", has_text=word).wait_for()
