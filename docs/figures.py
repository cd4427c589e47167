"""The pictures that need matplotlib and a browser: ``python docs/figures.py`` writes them to ``docs/images/``.

The figure and the report are those of ``mapgauge demo``. The system's Chromium takes the screenshot.
"""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import mapgauge as mg
from mapgauge import plot
from mapgauge.demo import demo_world
from mapgauge.report import write_report

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


def draw_frame() -> None:
    """One frame with its matches, as ``mapgauge show`` draws it."""
    predictions, truth = demo_world(40, predictions=25)
    results = mg.evaluate(predictions, truth)
    figure = plot.frame(results.assignment(TOKEN), region=(60, 30), values=values_of(results, TOKEN))
    plot.save(figure, IMAGES / "frame.svg")


def draw_worst() -> None:
    """The worst frame of the tutorial, as ``mapgauge show`` draws it, at a low resolution."""
    results = mg.evaluate(*demo_world(80))
    token = results.frames(count=1)[0]["token"]
    figure = plot.frame(results.assignment(token), region=(60, 30), values=values_of(results, token), title=token)
    figure.savefig(IMAGES / "worst.png", dpi=130, metadata={"Software": None})


def draw_thresholds() -> None:
    """PLD and other values over the threshold, and calibration, as ``mapgauge confidence --figure`` draws them."""
    plot.save(plot.confidence(mg.evaluate(*demo_world(80))), IMAGES / "thresholds.svg")


def photograph_report() -> None:
    """The explorer of a report on two methods, and the lines of a cause in it."""
    methods = []
    for quality in ("good", "poor"):
        predictions, truth = demo_world(80, quality=quality)
        methods.append(mg.evaluate(predictions, truth))
    photograph(methods, ["good", "poor"], f"#frame={TOKEN}", "report.png")
    photograph(methods, ["good", "poor"], f"#sort=-{CAUSE}&cause={CAUSE}", "causes-report.png")


def photograph(methods: list[mg.Results], names: list[str], address: str, name: str) -> None:
    """A screenshot of a report, at an address within it."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as tools:
        page_file = Path(folder) / "report.html"
        write_report(methods, page_file, names=names)
        browser = tools.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1366, "height": 768})
        page.goto(f"{page_file.as_uri()}{address}")
        page.screenshot(path=IMAGES / name)
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


if __name__ == "__main__":
    draw_frame()
    draw_worst()
    draw_thresholds()
    photograph_report()
    draw_scene()
