"""Results without scenes and poses, as those of StreamMapNet and MapTR are, in a real browser."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.features.view.conftest import Open, drawn, serving

import mapgauge as mg

if TYPE_CHECKING:
    from playwright.sync_api import Page

TOKEN = "scene-0001-4"


@pytest.fixture(params=["poses", "images"])
def placing(request: pytest.FixtureRequest, files: Path, rig: Path) -> dict[str, Any]:
    """What has the poses and the scenes of the frames."""
    return {"poses": files / "truth.parquet"} if request.param == "poses" else {"images": rig / "images"}


def moment(page: "Page") -> str:
    return page.locator("#moment").inner_text()


def test_frames_are_drawn_and_played_in_the_scenes_of_the_poses(
    show: Open, bare: Path, placing: dict[str, Any]
) -> None:
    with serving(bare / "good.mg", bare / "poor.mg", **placing) as server:
        page = show(f"{server.address}#frame={TOKEN}&speed=8")
        drawn(page)
        page.wait_for_selector("#time:visible")
        assert re.match(r"scene-0001: frame 5 of 10", moment(page))
        assert page.locator("#curves .curve").count() > 0
        page.click("#play")
        page.wait_for_function("() => document.getElementById('moment').textContent.includes('frame 10 of 10')")
        page.click("#scene-before")
        assert moment(page).startswith("scene-0000: frame 1 of 10")
        assert page.locator("#failure").inner_text() == ""
        page.close()


def test_the_first_screen_has_the_scenes_of_the_poses(show: Open, bare: Path, placing: dict[str, Any]) -> None:
    with serving(bare / "good.mg", **placing) as server:
        page = show(f"{server.address}#frame={TOKEN}")
        drawn(page)
        page.wait_for_selector("#scene-rows [data-scene^='scene-']")
        names = page.locator("#scene-rows li").evaluate_all("all => all.map((row) => row.dataset.scene)")
        assert sorted(names) == ["scene-0000", "scene-0001", "scene-0002"]
        assert page.locator("#scene-rows [data-scene='scene-0001'] .moment").count() == 1
        page.close()


def test_the_world_the_trail_and_the_map_are_there(show: Open, bare: Path, placing: dict[str, Any]) -> None:
    with serving(bare / "good.mg", **placing) as server:
        page = show(f"{server.address}#frame={TOKEN}&space=world&trail=3&pane=place")
        page.wait_for_selector(".panel g[transform] .ego", state="attached")
        page.wait_for_selector(".panel .trail", state="attached")
        page.wait_for_selector("#place-worst button")
        page.close()


def test_average_precisions_of_the_scene_are_curves(show: Open, bare: Path, placing: dict[str, Any]) -> None:
    with serving(bare / "good.mg", **placing) as server:
        page = show(f"{server.address}#frame={TOKEN}&curves=ap_chamfer")
        page.wait_for_selector("#time:visible")
        page.wait_for_function("() => /^[0-9.]+$/.test(document.querySelector('#curves .now')?.textContent ?? '')")
        page.close()  # before the server, so that no image is on its way


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


@pytest.mark.parametrize(
    "script", ["setTimeout(() => { throw new TypeError('no such thing'); })", "Promise.reject(new Error('lost'))"]
)
def test_an_error_of_a_script_is_said_on_the_page(show: Open, bare: Path, script: str) -> None:
    with serving(bare / "good.mg") as server:
        page = show(server.address, quiet=False)
        page.evaluate(f"() => {{ {script}; }}")
        page.wait_for_selector("#failure:visible .finding.error:visible")
        said = page.locator("#failure").inner_text()
        assert "no such thing" in said or "lost" in said
