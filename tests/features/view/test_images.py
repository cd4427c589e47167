"""Camera images in ``mapgauge view``, with made-up rigs."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.cameras.rigs import SIZE, argoverse2_rig
from tests.features.view.conftest import Open, serving
from tests.features.view.test_server import ask, below, unpacked

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.features.view.server import Server


def test_images_have_the_lines_of_the_frame(look: Open, cameras: Server) -> None:
    page = look(f"{cameras.address}#frame=scene-0001-4&least=0")
    page.wait_for_selector(".camera img")
    page.wait_for_function("() => [...document.querySelectorAll('.camera img')].every((image) => image.naturalWidth)")
    assert page.locator(".camera .larger").all_inner_texts() == ["CAM_FRONT_LEFT", "CAM_FRONT", "CAM_BACK"]
    front = page.locator('.camera[data-camera="CAM_FRONT"]')
    assert front.locator("svg").get_attribute("viewBox") == f"0 0 {SIZE[0]} {SIZE[1]}"
    assert front.locator(".instance.truth").count() > 2
    assert front.locator(".instance.predictions").count() > 2
    paths = front.locator(".instance.truth .stroke").evaluate_all("all => all.map((node) => node.getAttribute('d'))")
    highest = min(float(number) for path in paths for number in re.findall(r" ([\d.]+)", path))
    assert highest > SIZE[1] / 2  # the ground is below the horizon


def test_a_click_on_a_line_marks_it_in_all_views(look: Open, cameras: Server) -> None:
    page = look(f"{cameras.address}#frame=scene-0001-4")
    page.wait_for_selector('.camera[data-camera="CAM_FRONT"] .instance', state="attached")
    line = page.locator('.camera[data-camera="CAM_FRONT"] .instance.truth').first
    line.dispatch_event("click")
    label = (line.locator("title").text_content() or "").splitlines()[0]
    for panel in page.locator("#panels .panel").all():
        marked = panel.locator(".instance.truth.looked")
        assert marked.count() == 1
        assert (marked.get_attribute("aria-label") or "").startswith(label)
    page.mouse.move(5, 5)
    assert page.locator(".camera .instance.looked").count() > 0  # it stays
    drawn = page.locator("#panels .panel:first-child .instance.truth:not(.looked)").first
    drawn.dispatch_event("click")
    seen = (drawn.get_attribute("aria-label") or "").split(", partner")[0].split(", unmatched")[0]
    assert page.locator("#panels .panel:first-child .instance.truth.looked").count() == 1
    assert seen.startswith("truth")
    page.locator("#panels .panel svg").first.dispatch_event("click")
    assert page.locator(".looked").count() == 0


def test_layers_and_classes_apply_to_images(look: Open, cameras: Server) -> None:
    page = look(f"{cameras.address}#frame=scene-0001-4")
    page.wait_for_selector(".camera .instance", state="attached")
    page.locator('[data-layer="predictions"]').uncheck()
    hidden = "() => [...document.querySelectorAll('.camera .predictions')].every((n) => n.style.display === 'none')"
    assert page.evaluate(hidden)
    page.get_by_label("boundary", exact=True).first.check()
    assert page.locator(".camera .instance:visible").count() < page.locator(".camera .instance").count()


def test_an_image_can_be_larger(look: Open, cameras: Server) -> None:
    page = look(f"{cameras.address}#frame=scene-0001-4")
    page.wait_for_selector(".camera img")
    button = page.locator(".camera .larger").nth(1)
    button.click()
    assert page.locator(".camera.large").get_attribute("data-camera") == "CAM_FRONT"
    page.wait_for_function("() => location.hash.includes('camera=CAM_FRONT')")
    page.locator(".camera.large .larger").click()
    assert page.locator(".camera.large").count() == 0


def test_images_change_while_the_scene_plays(look: Open, cameras: Server) -> None:
    page = look(f"{cameras.address}#frame=scene-0001-7&speed=4")
    page.wait_for_selector(".camera img")
    first = page.locator(".camera img").first.get_attribute("src")
    page.click("#play")
    page.wait_for_function("() => document.getElementById('moment').textContent.includes('frame 10 of 10')")
    page.wait_for_function("first => document.querySelector('.camera img').getAttribute('src') !== first", arg=first)
    page.wait_for_selector(".camera .instance", state="attached")


def test_an_image_that_vanishes_is_named_and_the_others_stay(show: Open, rig: Path, cameras: Server) -> None:
    lost = next((rig / "images" / "samples" / "CAM_FRONT").glob("scene-0002-1__*"))
    kept = lost.read_bytes()
    lost.unlink()
    try:
        page = show(f"{cameras.address}#frame=scene-0002-1", quiet=False)  # the browser reports it
        page.wait_for_selector('.camera[data-camera="CAM_FRONT"] .none:visible')
        assert "no such image of CAM_FRONT" in page.locator(".camera .none:visible").inner_text()
        assert page.locator(".camera .none:visible").count() == 1
    finally:
        lost.write_bytes(kept)


@pytest.mark.parametrize(
    "path", ["image/0/99", "image/0/-1", "image/0/..%2f..%2fetc%2fpasswd", "image/0", "image/0/1/2"]
)
def test_only_images_of_frames_are_served(cameras: Server, path: str) -> None:
    answer, body = ask(cameras, below(cameras, path))
    assert answer.status in (404, 422)
    assert b"root:" not in body


def served(server: Server, frame: int, camera: int) -> tuple[int, str, bytes]:
    answer, body = ask(server, below(server, f"image/{frame}/{camera}"))
    return answer.status, answer.headers["Content-Type"], body


def test_links_out_of_the_folder_are_refused(rig: Path, cameras: Server, tmp_path: Path) -> None:
    status, kind, picture = served(cameras, 3, 0)
    assert (status, kind) == (200, "image/jpeg")
    assert picture.startswith(b"\xff\xd8")
    (image,) = (rig / "images" / "samples" / "CAM_BACK").glob("scene-0000-3__*")
    secret = tmp_path / "secret.jpg"
    secret.write_bytes(b"secret")
    kept = image.read_bytes()
    image.unlink()
    image.symlink_to(secret)
    try:
        status, _, body = served(cameras, 3, 0)
        assert status == 422
        assert b"secret\n" not in body
        assert b"expected an image inside" in body
    finally:
        image.unlink()
        image.write_bytes(kept)


def test_tables_cannot_name_a_file_outside_or_of_another_kind(rig: Path, files: Path, tmp_path: Path) -> None:
    folder = tmp_path / "images"
    (folder / "v1.0-mini").mkdir(parents=True)
    (tmp_path / "secret.jpg").write_bytes(b"secret")
    (folder / "notes.txt").write_text("secret", encoding="utf-8")
    for table in (rig / "images" / "v1.0-mini").iterdir():
        text = table.read_text(encoding="utf-8")
        for name, wrong in (("CAM_BACK", "../secret.jpg"), ("CAM_FRONT", "notes.txt")):
            start = f'"samples/{name}/scene-0000-0__'
            if start in text:
                begin = text.index(start)
                text = text[:begin] + f'"{wrong}"' + text[text.index('"', begin + 1) + 1 :]
        (folder / "v1.0-mini" / table.name).write_text(text, encoding="utf-8")
    with serving(rig / "good.mg", images=folder) as server:
        for camera in (0, 1):
            status, kind, body = served(server, 0, camera)
            assert status == 422
            assert kind.startswith("text/plain")
            assert b"secret\n" not in body
            assert body != b"secret"


def test_a_folder_without_the_frames_is_named_and_the_rest_works(show: Open, files: Path, tmp_path: Path) -> None:
    with serving(files / "good.mg", images=tmp_path) as server:
        page = show(server.address, quiet=False)  # the browser reports the answer
        page.wait_for_selector(".panel .instance", state="attached")
        page.wait_for_function(
            "n => document.getElementById('cameras-note').textContent.includes(n)", arg=str(tmp_path)
        )


LOG = "3b3570b4-7b0b-3268-a571-b0889dbf40b6"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of a log of Argoverse 2 with images."""
    folder = tmp_path_factory.mktemp("argoverse2")
    _, truth = demo_world(5)
    assert truth.poses is not None
    times = [315_966_070_000_000_000 + 500_000_000 * k for k in range(5)]
    frames = replace(truth, tokens=tuple(f"{LOG}_{time}" for time in times), scenes=(LOG,) * 5, timestamps=None)
    mg.evaluate(frames.with_confidence(1), frames).save(folder / "results.mg", geometry="original")
    argoverse2_rig(folder / "data", LOG, times, truth.poses)
    with serving(folder / "results.mg", images=folder / "data") as running:
        yield running


def test_argoverse_2_has_its_nearest_images(log: Server) -> None:
    answer, body = ask(log, below(log, "cameras/2"))
    assert answer.status == 200, body
    header, arrays = unpacked(body)
    assert [camera["name"] for camera in header["cameras"]] == ["ring_side_left", "ring_front_center"]  # type: ignore[attr-defined]
    assert served(log, 2, 0)[:2] == (200, "image/jpeg")
    points = arrays["0.truth.0.points"].reshape(-1, 2)
    assert len(points)
    assert np.all((points >= -0.01) & (points <= np.array(SIZE) + 0.01))


def test_a_log_of_argoverse_2_is_played_with_its_images(show: Open, log: Server) -> None:
    page = show(f"{log.address}#frame={LOG}_315966071000000000&speed=8")
    page.wait_for_selector(".camera .instance", state="attached")
    page.wait_for_function("() => [...document.querySelectorAll('.camera img')].every((image) => image.naturalWidth)")
    assert page.locator(".camera .larger").all_inner_texts() == ["ring_side_left", "ring_front_center"]
    assert page.locator("#chosen").inner_text() == f"{LOG}_315966071000000000"
    page.locator('.camera[data-camera="ring_front_center"] .instance.truth').first.dispatch_event("click")
    assert page.locator("#panels .instance.truth.looked").count() == 1
    page.click("#play")
    page.wait_for_function("() => document.getElementById('moment').textContent.includes('frame 5 of 5')")
    page.wait_for_function("() => document.querySelector('.camera img').getAttribute('src').startsWith('image/4/')")
    page.select_option("#space", "world")  # by the poses of the log
    page.wait_for_selector(".panel g[transform^=matrix]", state="attached")
