"""The pictures that need matplotlib and a browser: ``python docs/figures.py`` writes them to ``docs/images/``.

The figure and the report are those of ``mapgauge demo``. The system's Chromium takes the screenshot.
"""

import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from PIL import Image, ImageDraw
from playwright.sync_api import sync_playwright
from tests.cameras import rigs

import mapgauge as mg
from mapgauge import plot
from mapgauge.cameras.opening import open_rig
from mapgauge.cameras.projection import ground_lines, project, vehicle_from_frame
from mapgauge.demo import demo_world
from mapgauge.report import write_report
from mapgauge.views.report.drawings import least_confidence

IMAGES = Path(__file__).parent / "images"
TOKEN = "scene-0003-2"
SCENE = "scene-0003"
CAUSE = "due_to_fragment"


def values_of(results: mg.Results, token: str) -> dict[str, float]:
    """The numbers above the drawing of a frame: its pooled PLD, and its AP as the mean over classes."""
    of_frame = results.by(lambda name: name == token)[True]
    (row,) = (row for row in results.frames() if row["token"] == token)
    keys = ("ap_chamfer", "ap_frechet")
    return {"pld": row["pld"]} | {key: value for key in keys if (value := of_frame.mean[key]) is not None}


def least_of(results: mg.Results) -> float:
    """The least confidence of a prediction that ``mapgauge show`` draws."""
    return least_confidence(results.scores.confidence, int(results.scores.true.sum()))


def draw_frame() -> None:
    """One frame with its matches, as ``mapgauge show`` draws it."""
    predictions, truth = demo_world(40, predictions=25)
    results = mg.evaluate(predictions, truth)
    values = values_of(results, TOKEN)
    figure = plot.frame(results.assignment(TOKEN), region=(60, 30), values=values, confidence=least_of(results))
    plot.save(figure, IMAGES / "frame.svg")


def draw_worst() -> None:
    """The worst frame of the tutorial, as ``mapgauge show`` draws it, at a low resolution."""
    results = mg.evaluate(*demo_world(80))
    token = results.frames(count=1)[0]["token"]
    values = values_of(results, token)
    figure = plot.frame(
        results.assignment(token), region=(60, 30), values=values, title=token, confidence=least_of(results)
    )
    figure.savefig(IMAGES / "worst.png", dpi=130, metadata={"Software": None})


def draw_errors() -> None:
    """Where on the map two detectors fail, as ``mapgauge errors --figure`` draws it, at a low resolution."""
    methods = [mg.evaluate(*demo_world(80, quality=quality)) for quality in ("good", "poor")]
    figure = plot.errors(methods, names=("good", "poor"), areas=6)
    figure.savefig(IMAGES / "errors.png", dpi=150, metadata={"Software": None})


def draw_thresholds() -> None:
    """PLD and other values over the threshold, and calibration, as ``mapgauge confidence --figure`` draws them."""
    plot.save(plot.confidence(mg.evaluate(*demo_world(80))), IMAGES / "thresholds.svg")


def draw_gallery() -> None:
    """The figures of the page that shows all of them, drawn by the commands of the page."""
    page = (IMAGES.parent / "gallery.md").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        for command in gallery_commands(page):
            words = [sys.executable, "-m", "mapgauge", *shlex.split(command)]
            subprocess.run(words, cwd=folder, check=True, capture_output=True)
            name = words[-1]
            if f"gallery-{name}" in page:
                shrink(Path(folder) / name, IMAGES / f"gallery-{name}")


def gallery_commands(page: str) -> list[str]:
    """The commands of a page that end by themselves."""
    blocks = re.findall(r"^```sh\n(.+?)^```$", page, re.M | re.S)
    commands = [line.removeprefix("mapgauge ") for block in blocks for line in block.splitlines()]
    return [command for command in commands if not command.startswith("view ")]


def shrink(source: Path, target: Path) -> None:
    """Copy a figure with fewer pixels and colours, or with fewer digits of coordinates."""
    if source.suffix == ".png":
        picture = Image.open(source).convert("RGB")
        picture.thumbnail((1200, 1200))
        # The default method would merge colours that few pixels have, such as those of a class.
        picture.quantize(256, method=Image.Quantize.MAXCOVERAGE).save(target, optimize=True)
        return
    text = source.read_text(encoding="utf-8")
    target.write_text(re.sub(r"(-?\d+\.\d\d)\d+", r"\1", text), encoding="utf-8")


def draw_terminal() -> None:
    """The answer in a terminal: what ``mapgauge evaluate`` prints about the files of the demo, as text."""
    words = ["evaluate", "demo/good.json", "demo/poor.json", "demo/truth.geojson"]
    with tempfile.TemporaryDirectory() as folder:
        start = [sys.executable, "-m", "mapgauge"]
        subprocess.run([*start, "demo"], cwd=folder, check=True, capture_output=True)
        ran = subprocess.run([*start, *words], cwd=folder, check=True, capture_output=True, text=True, encoding="utf-8")
    lines = [f"$ mapgauge {' '.join(words)}", *ran.stdout.rstrip().splitlines()]
    size = (40 + 8 * max(len(line) for line in lines), 40 + 18 * len(lines))
    root = ElementTree.Element("svg", xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {size[0]} {size[1]}")
    ElementTree.SubElement(root, "rect", width=str(size[0]), height=str(size[1]), rx="8", fill="#0d1117")
    for k, line in enumerate(lines):
        style = {"font-family": "DejaVu Sans Mono, Menlo, Consolas, monospace", "font-size": "13", "fill": "#e6edf3"}
        text = ElementTree.SubElement(
            root, "text", {"x": "20", "y": str(34 + 18 * k), "xml:space": "preserve", **style}
        )
        text.text = line
    ElementTree.ElementTree(root).write(IMAGES / "terminal.svg", encoding="utf-8")


def photograph_report() -> None:
    """The explorer of a report on two methods, and the lines of a cause in it."""
    methods = []
    for quality in ("good", "poor"):
        predictions, truth = demo_world(80, quality=quality)
        methods.append(mg.evaluate(predictions, truth))
    photograph(methods, ["good", "poor"], "", "report.png")
    photograph(methods[:1], ["good"], "", "report-one.png")
    photograph(methods, ["good", "poor"], "#pane=grid&sort=-pld", "report-grid.png")
    photograph(methods, ["good", "poor"], "", "report-phone.png", size=(390, 844))
    for count in (40, 30, 20):
        methods.append(mg.evaluate(*demo_world(80, predictions=count)))
    names = ["good", "poor", "40 predictions", "30 predictions", "20 predictions"]
    photograph(methods, names, "", "report-five.png")
    methods = methods[:2]
    photograph(methods, ["good", "poor"], f"#sort=-{CAUSE}&cause={CAUSE}", "causes-report.png")


def photograph(
    methods: list[mg.Results], names: list[str], address: str, name: str, size: tuple[int, int] = (1366, 900)
) -> None:
    """A screenshot of a report, at an address within it."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as tools:
        page_file = Path(folder) / "report.html"
        write_report(methods, page_file, names=names)
        browser = tools.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": size[0], "height": size[1]})
        page.goto(f"{page_file.as_uri()}{address}")
        page.wait_for_selector("body[data-ready]")
        page.wait_for_selector("#examples .thumb path", state="attached")
        page.screenshot(path=IMAGES / name)
        browser.close()


def photograph_history() -> None:
    """The page of a history with a step, from the nights of its documentation."""
    (script,) = re.findall(
        r"```pycon\n(.+?)```", (IMAGES.parent / "how-to" / "history.md").read_text(encoding="utf-8"), re.S
    )[:1]
    lines = [line[4:] for line in script.splitlines() if line.startswith((">>> ", "... "))]
    names: dict[str, Any] = {}
    exec("\n".join(lines), names)  # makes the nights
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as tools:
        page_file = Path(folder) / "history.html"
        mg.history(names["folder"] / "nights").save(page_file)
        browser = tools.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 640})
        page.goto(page_file.as_uri())
        page.wait_for_selector("#charts .level", state="attached")
        page.screenshot(path=IMAGES / "history.png")
        browser.close()


def tracked() -> mg.Results:
    """The good detector of the demo with ids from ``mapgauge track``, and its T-PLD."""
    predictions, truth = demo_world(80)
    settings = mg.protocol("paper-60x30", settings={"track_pld": {"switch_cost": 0.5}})
    return mg.evaluate(mg.track(predictions, poses=truth), truth, settings, metrics=["pld", "track_pld"])


def draw_scene() -> None:
    """A scene over time, as ``mapgauge show --scene`` and ``mapgauge plot strip`` draw it, and the report."""
    results = tracked()
    figure = plot.scene(results, SCENE, count=6, region=(60, 30), confidence=0.2)
    figure.savefig(IMAGES / "scene.png", dpi=130, metadata={"Software": None})
    plot.save(plot.strip(results, scene=SCENE, classes=["divider", "boundary"]), IMAGES / "strip.svg")
    photograph([results], ["good"], f"#frame={SCENE}-3&pane=time", "strip-report.png")


CAMERAS = {
    "FRONT_LEFT": 55.0,
    "FRONT": 0.0,
    "FRONT_RIGHT": -55.0,
    "BACK_LEFT": 110.0,
    "BACK_RIGHT": -110.0,
    "BACK": 180.0,
}


def draw_images(root: Path, frames: mg.MapFrames) -> None:
    """Write images of six made-up cameras in the layout of nuScenes: a road with the lines of the truth."""
    rigs.SIZE, rigs.FOCAL = (640, 360), 380.0
    rigs.INTRINSICS = [[rigs.FOCAL, 0.0, 320.0], [0.0, rigs.FOCAL, 180.0], [0.0, 0.0, 1.0]]
    rigs.CAMERAS = {f"CAM_{name}": turn for name, turn in CAMERAS.items()}
    rigs.nuscenes_rig(root, frames)
    rig = open_rig(root, frames.tokens)
    for k, token in enumerate(frames.tokens):
        rig_frame = rig.frame(token)
        assert rig_frame is not None
        one = frames.at([k])
        assert one.poses is not None
        ground = ground_lines(one.polylines, vehicle_from_frame(rig_frame, one.poses[0], one.forward))
        for image in rig_frame.images:
            picture = Image.new("RGB", rigs.SIZE, (186, 205, 222))
            drawing = ImageDraw.Draw(picture)
            drawing.rectangle((0, 180, *rigs.SIZE), fill=(104, 106, 110))
            seen = project(ground, rig_frame, image)
            for start, stop in zip(seen.offsets[:-1], seen.offsets[1:], strict=True):
                drawing.line([tuple(point) for point in seen.points[start:stop]], fill=(225, 225, 220), width=3)
            picture.save(rig.path(image), quality=88)


def photograph_view() -> None:
    """``mapgauge view`` with cameras, over time, and the map of all frames."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as tools:
        root = Path(folder)
        for quality in ("good", "poor"):
            predictions, truth = demo_world(400, quality=quality)
            for name, side in ((quality, predictions), ("truth", truth)):
                mg.write(side, root / f"{name}.parquet")
            read, of = (mg.read(root / f"{name}.parquet") for name in (quality, "truth"))
            mg.evaluate(read, of).save(root / f"{quality}.mg")
        draw_images(root / "images", truth.at([k for k, scene in enumerate(truth.scenes or ()) if scene == SCENE]))
        browser = tools.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1366, "height": 940})
        words = ["good.mg", "poor.mg", "--images", "images", "--no-browser"]
        command = [sys.executable, "-m", "mapgauge", "view", *words]
        server = subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True, encoding="utf-8")
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            for state, ready, name in (
                (f"#frame={TOKEN}", ".camera .instance", "view.png"),
                (f"#frame={SCENE}-8&space=world&trail=10&pane=place", ".trail", "view-place.png"),
            ):
                page.goto("about:blank")
                page.goto(address + state)
                page.wait_for_selector(ready, state="attached")
                page.wait_for_selector(".panel svg:not(.waiting) .instance", state="attached")
                page.wait_for_function("() => [...document.images].every((image) => image.naturalWidth)")
                page.screenshot(path=IMAGES / name)
        finally:
            server.terminate()
            server.communicate()
        browser.close()


if __name__ == "__main__":
    draw_frame()
    draw_worst()
    draw_errors()
    draw_thresholds()
    draw_gallery()
    draw_terminal()
    photograph_report()
    photograph_history()
    draw_scene()
    photograph_view()
