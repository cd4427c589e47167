"""Measures the report of two methods: how long it takes to write, and when Chromium paints and draws it first.

Run it with ``make bench-page``. It needs Chromium and prints a table in GitHub markdown. The baseline of writing is the
evaluation of the same methods. All frames can be drawn.
"""

import shutil
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.tables import heading, machine, row
from playwright.sync_api import Browser, sync_playwright

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.report import write_report

FRAMES = 6019
RUNS = 5
# Notes when the first instance is in the page. ``performance.now`` counts from the start of the navigation.
WATCH = """() => {
    const watch = new MutationObserver(() => {
        if (document.querySelector(".panel .instance")) {
            window.drawnAt = performance.now();
            watch.disconnect();
        }
    });
    watch.observe(document, { subtree: true, childList: true });
}"""
PAINTED = "() => performance.getEntriesByName('first-contentful-paint')[0].startTime"


def opened(browser: Browser, page_file: Path) -> tuple[float, float]:
    """Return the milliseconds until the first paint and until the first drawing."""
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.set_default_timeout(120_000)
    page.add_init_script(f"({WATCH})()")
    page.goto(page_file.as_uri())
    page.wait_for_function("() => window.drawnAt")
    times = page.evaluate(PAINTED), page.evaluate("() => window.drawnAt")
    page.close()
    return times


def main(frames: int) -> None:
    """Print the table."""
    machine("numpy", "numba")
    write_report(mg.evaluate(*demo_world(20)), Path(tempfile.mkdtemp()) / "small.html")  # compiles the kernels
    sides = [demo_world(frames, quality=quality) for quality in ("good", "poor")]
    begun = time.process_time()
    methods = [mg.evaluate(*side) for side in sides]
    evaluated = time.process_time() - begun
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as tools:
        page_file = Path(folder) / "report.html"
        begun = time.process_time()
        write_report(methods, page_file, names=["good", "poor"])
        written = time.process_time() - begun
        browser = tools.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        runs = [opened(browser, page_file) for _ in range(RUNS)]
        browser.close()
        size = page_file.stat().st_size / 1e6
    heading(f"Report of {frames:,} frames with two methods", "what", "value", "times the evaluation")
    row("evaluation of both, processor time", f"{evaluated:.1f} s", "1")
    row("writing the report, processor time", f"{written:.1f} s", f"{written / evaluated:.1f}")
    row("size", f"{size:.1f} MB", "")
    row("first paint", f"{min(run[0] for run in runs) / 1000:.2f} s", "")
    row("first drawing", f"{min(run[1] for run in runs) / 1000:.2f} s", "")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else FRAMES)
