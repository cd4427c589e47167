"""A section of a plug-in has a pane in the page, and the server has its arrays of a scene."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.features.view.conftest import Open, drawn, serving
from tests.features.view.test_server import ask, below, unpacked

from mapgauge.features.view.server import Server
from mapgauge.hooks import similar
from mapgauge.views.report.sections import sections

SECTION = """
import numpy as np

from mapgauge.plugin import Section


class Lengths(Section):
    resource = "lengths"

    def has_scenes(self, methods):
        return True

    def scenes_meta(self, scenes):
        return {"lengths": {"unit": "m"}}

    def of_scene(self, methods, scene):
        _, truth = methods[0].need_data().all_sides
        frames = [k for k, name in enumerate(methods[0].scenes) if name == scene]
        return {"lengths.points": np.array([len(truth.at([k]).polylines.coords) for k in frames], np.int32)}


SECTION = Lengths()
"""
SCRIPT = """
extras.push({
  pane: ["lengths", "points of lines"],
  view: ["4", "points"],
  toggle: (now) => document.querySelector(".left").classList.toggle("on-lengths", now.pane === "lengths"),
  async show(now) {
    if (now.pane !== "lengths" || !source.scene) return;
    const answer = source.scene(meta.scenes[now.frame]);
    if (!answer) return;
    const { arrays } = await answer;
    document.getElementById("lengths").textContent = `${arrays["lengths.points"].join(" ")} ${meta.lengths.unit}`;
  },
});
"""


@pytest.fixture(scope="module")
def added(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with a section of a package outside, which has a script, a style and an element."""
    folder = tmp_path_factory.mktemp("section") / "our_lengths"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "section.py").write_text(SECTION, encoding="utf-8")
    (folder / "lengths.js").write_text(SCRIPT, encoding="utf-8")
    (folder / "lengths.css").write_text("#lengths { color: inherit; }\n", encoding="utf-8")
    (folder / "lengths.html").write_text('<p id="lengths"></p>\n', encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder.parent))
        from our_lengths.section import SECTION as section  # type: ignore[import-not-found]

        patch.setattr("mapgauge.features.view.explorer.sections", lambda: (*sections(), section))
        with serving(files / "good.mg") as running:
            yield running


def points_of(server: Server, scene: str) -> list[int]:
    answer, body = ask(server, below(server, f"scene/{scene}"))
    assert answer.status == 200, body
    points: list[int] = unpacked(body)[1]["lengths.points"].tolist()
    return points


def test_the_server_has_the_arrays_of_a_section(added: Server) -> None:
    ask(added, below(added, "unchecked/0"))
    while unpacked(ask(added, below(added, "geometry"))[1])[0]["state"] == "reading":
        pass
    points = points_of(added, "scene-0000")
    assert len(points) > 1
    assert min(points) > 0
    assert points != points_of(added, "scene-0001")


def test_the_script_of_a_section_has_a_pane_with_a_key(show: Open, added: Server) -> None:
    page = show(added.address)
    drawn(page)
    page.keyboard.press("4")
    page.wait_for_function("() => / m$/.test(document.getElementById('lengths').textContent)")
    assert page.locator('#views [data-view="lengths"]').inner_text() == "points 4"
    assert page.locator('#views [data-view="lengths"]').get_attribute("aria-pressed") == "true"
    scene = page.locator("#chosen").inner_text().split()[0].rpartition("-")[0]
    expected = np.array(points_of(added, scene))
    shown = page.locator("#lengths").inner_text().split()[:-1]
    assert np.array_equal(np.array(shown, int), expected)


def test_frames_that_are_alike_have_no_pane_where_no_feature_finds_them(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pane = b'id="similar"'
    with serving(files / "good.mg") as server:
        _, page = ask(server, below(server, ""))
        assert (pane in page) == (similar() is not None)
    monkeypatch.setattr("mapgauge.features.view.explorer.similar", lambda: None)
    with serving(files / "good.mg") as server:
        _, page = ask(server, below(server, ""))
        assert pane not in page
        assert b"more like this" not in page
