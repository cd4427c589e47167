"""The map of all frames, frames that are alike, and pictures, in a real browser."""

import os
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.features.view.conftest import Open, drawn, serving

import mapgauge as mg
from mapgauge.features.view.server import Server

if TYPE_CHECKING:
    from playwright.sync_api import Download, Page


def test_the_map_has_the_means_of_squares_and_opens_the_worst_frame(look: Open, server: Server, files: Path) -> None:
    page = look(f"{server.address}#pane=place")
    page.wait_for_selector("#place-worst button")
    truth, results = mg.read(files / "truth.parquet"), mg.load_results(files / "good.mg")
    assert truth.poses is not None
    values: dict[tuple[int, int], list[tuple[float, str]]] = {}
    for row in results.frames():
        x, y = np.floor(truth.poses[truth.index[row["token"]]][:2, 3] / 20).astype(int).tolist()
        values.setdefault((x, y), []).append((row["pld"], row["token"]))
    (i, j), worst = max(values.items(), key=lambda item: np.mean([value for value, _ in item[1]]))
    button = page.locator("#place-worst button").first
    mean = np.mean([value for value, _ in worst])
    assert button.inner_text() == f"{mean:.3f} at {20 * i + 10}, {20 * j + 10} m"
    assert f"mean in {len(values)} squares of 20 m" in page.locator("#place-about").inner_text()
    button.click()
    assert page.locator("#chosen").inner_text().startswith(max(worst)[1])


def test_a_click_on_the_map_opens_a_frame_there(look: Open, server: Server) -> None:
    page = look(f"{server.address}#pane=place&frame=scene-0000-0&scene=scene-0002")
    page.wait_for_selector("#place-worst button")
    drawn(page)  # then nothing moves any more
    first = page.locator("#place-worst button").first
    token = (first.get_attribute("title") or "").split("worst: ")[1].split(",")[0]
    x, y = map(int, re.findall(r"-?\d+(?=,| m)", first.inner_text())[-2:])
    place = page.evaluate("""() => document.getElementById("place-map").getBoundingClientRect().toJSON()""")
    # The whole map shows all squares of the list with a margin of 4 % on all sides.
    squares = [
        tuple(map(int, re.findall(r"-?\d+(?=,| m)", text)[-2:]))
        for text in page.locator("#place-worst button").all_inner_texts()
    ]
    west, east = min(s[0] for s in squares) - 10, max(s[0] for s in squares) + 10
    south, north = min(s[1] for s in squares) - 10, max(s[1] for s in squares) + 10
    unit = max(1.08 * (east - west) / place["width"], 1.08 * (north - south) / place["height"])
    at = (
        place["x"] + place["width"] / 2 + (x - (west + east) / 2) / unit,
        place["y"] + place["height"] / 2 - (y - (south + north) / 2) / unit,
    )
    bar = page.locator("#place-bar")
    width = bar.evaluate("node => node.getBoundingClientRect().width")
    assert width == pytest.approx(float(bar.inner_text().removesuffix(" m")) / unit, rel=0.01)
    page.mouse.move(*at)
    page.wait_for_selector("#place-tip:visible")
    assert token in page.locator("#place-tip").inner_text()
    page.mouse.click(*at)
    assert page.locator("#chosen").inner_text().startswith(token)


def test_scenes_far_apart_are_tiles_of_the_map(look: Open, server: Server) -> None:
    page = look(f"{server.address}#pane=place")  # the scenes are kilometres apart
    page.wait_for_selector("#place-worst button")
    assert page.locator("#place-about").inner_text().endswith("3 areas as tiles")
    assert float(page.locator("#place-bar").inner_text().removesuffix(" m")) <= 100


def test_the_world_frame_fits_the_frames_near_the_chosen_one(show: Open, files: Path, tmp_path: Path) -> None:
    truth = replace(mg.read(files / "truth.parquet"), scenes=None)  # all frames are one drive
    mg.evaluate(mg.read(files / "good.parquet"), truth).save(tmp_path / "drive.mg", geometry="original")
    with serving(tmp_path / "drive.mg") as server:
        page = show(f"{server.address}#space=world")
        drawn(page)
        _, _, width, height = map(float, (page.locator(".panel svg").first.get_attribute("viewBox") or "").split())
        assert 30 < width < 500
        assert 30 < height < 500


@pytest.mark.needs_feature("splits")
def test_frames_that_are_alike_are_listed_the_nearest_first(look: Open, server: Server, files: Path) -> None:
    page = look(f"{server.address}#frame=scene-0001-4")
    page.click("#more-like")
    page.wait_for_selector("#similar-list tbody tr")
    near = mg.neighbours(files / "truth.parquet", tokens=["scene-0001-4"], count=29)
    order = [near.among[k] for k in near.nearest[0]]
    assert page.locator("#similar-list tbody th").all_inner_texts() == order
    shown = page.locator("#similar-list tbody td:nth-child(3)").all_inner_texts()
    assert shown == [f"{distance:.3f}" for distance in near.distance[0]]
    page.locator("#similar-list tbody button").nth(2).click()
    assert page.locator("#chosen").inner_text().startswith(order[2])
    page.locator("#panels").click(position={"x": 2, "y": 2})
    page.keyboard.press("k")
    assert page.locator("#chosen").inner_text().startswith(order[1])
    page.wait_for_url(re.compile(f"frame={order[1]}"))  # the address follows a moment later
    address = page.url
    look(server.address)
    again = look(address)
    again.wait_for_selector("#similar-list tbody tr")
    assert "scene-0001-4" in again.locator("#similar-about").inner_text()


def test_poses_that_any_evaluation_was_given_are_not_needed_again(
    show: Open, bare: Path, files: Path, tmp_path: Path
) -> None:
    truth = mg.with_poses(mg.read(bare / "truth.json"), files / "truth.parquet")
    mg.evaluate(mg.read(bare / "good.json"), truth).save(tmp_path / "posed.mg")
    with serving(bare / "poor.mg", tmp_path / "posed.mg") as server:
        page = show(f"{server.address}#frame=scene-0001-4&space=world&pane=place")
        page.wait_for_selector(".panel g[transform] .ego", state="attached")
        page.wait_for_selector("#place-worst button")
        assert not page.locator("#place-absent").is_visible()
        assert page.locator("#status").inner_text() == ""


def test_what_is_wrong_with_poses_is_said_and_frames_are_drawn(show: Open, bare: Path, tmp_path: Path) -> None:
    with serving(bare / "good.mg", poses=tmp_path / "lost.parquet") as server:
        page = show(server.address)
        page.wait_for_selector(".panel .instance", state="attached")
        assert "There are no poses" in page.locator("#status").inner_text()
        assert "lost.parquet" in page.locator("#status").inner_text()
        assert page.locator("#space").is_disabled()


def saved(page: "Page", selector: str, path: Path) -> bytes:
    with page.expect_download() as download:
        page.locator(selector).first.click()
    download.value.save_as(path)
    return path.read_bytes()


def size_of(picture: bytes) -> tuple[int, int]:
    """The width and the height of a PNG."""
    return int.from_bytes(picture[16:20], "big"), int.from_bytes(picture[20:24], "big")


def test_a_drawing_is_saved_as_png(look: Open, server: Server, tmp_path: Path) -> None:
    page = look(f"{server.address}#frame=scene-0001-4")
    page.wait_for_selector(".panel .instance", state="attached")
    picture = saved(page, ".panel .png", tmp_path / "frame.png")
    assert picture.startswith(b"\x89PNG")
    width, height = size_of(picture)
    assert width > 300
    assert (width % 2, height % 2) == (0, 0)
    assert len(picture) > 5_000  # not an empty sheet


COUNT = 3  # frames that are saved: each takes the browser a fifth of a second, twice
# Stands for ffmpeg: writes how many pictures came, how many of them differ, and its arguments.
FFMPEG = """#!{python}
import sys
pictures = sys.stdin.buffer.read().split(b"\\x89PNG\\r\\n")[1:]
print(len(pictures), len(set(pictures)), *sys.argv)
"""


def test_a_scene_is_saved_as_pictures_in_the_order_of_time_and_as_a_video(
    show: Open, files: Path, rig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ffmpeg").write_text(FFMPEG.format(python=sys.executable), encoding="utf-8")
    (tmp_path / "ffmpeg").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    truth = mg.read(files / "truth.parquet").at(range(COUNT))
    for name in ("good", "poor"):
        results = mg.evaluate(mg.read(files / f"{name}.parquet").at(range(COUNT)), truth)
        results.save(tmp_path / f"{name}.mg", geometry="original")
    with serving(tmp_path / "good.mg", tmp_path / "poor.mg", images=rig / "images") as server:
        page = show(f"{server.address}#frame=scene-0000-2")
        page.wait_for_function("() => document.getElementById('moment').textContent.endsWith(' s')")
        # A browser without a window cannot ask for a folder.
        page.evaluate("() => delete window.showDirectoryPicker && delete Window.prototype.showDirectoryPicker")
        downloads: list[Download] = []
        page.on("download", lambda download: downloads.append(download))
        page.click("#save-scene")
        page.locator("#told", has_text=f"{COUNT} frames saved.").wait_for()
        while len(downloads) < COUNT:
            page.wait_for_event("download")
        expected = [f"scene-0000-{k:04d}.png" for k in range(1, COUNT + 1)]
        assert [each.suggested_filename for each in downloads] == expected
        downloads[0].save_as(tmp_path / "first.png")
        assert size_of((tmp_path / "first.png").read_bytes()) == (1920, 1080)
        page.select_option("#speed", "4")
        with page.expect_download() as video:
            page.click("#save-video")
        video.value.save_as(tmp_path / "scene.mp4")
    assert video.value.suggested_filename == "scene-0000.mp4"
    count, distinct, _, *words = (tmp_path / "scene.mp4").read_text(encoding="utf-8").split()
    assert (count, distinct) == (str(COUNT), str(COUNT))
    assert words[words.index("-framerate") + 1] == "8"  # a frame every half second, four times as fast
    assert words[words.index("-protocol_whitelist") + 1] == "pipe"
