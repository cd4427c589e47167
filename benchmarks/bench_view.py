"""Measures ``mapgauge view``: from the start of the command to the first screen and the first drawing, and its memory.

Run it with ``make bench-view``. It needs Chromium and prints a table in GitHub markdown. The browser runs already, as
on the machine of a user. The first screen has the list of all frames, the histogram and the timeline. The first drawing
is that of a frame that was read alone. After it all frames are read and checked.
``python -m benchmarks.bench_view large`` adds a data set of 54,171 frames.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from benchmarks.tables import heading, machine, row
from playwright.sync_api import Browser, sync_playwright

import mapgauge as mg
from mapgauge.demo import demo_world

SIZES = ((6_019, 75, 1), (6_019, 75, 2))  # frames, predictions in each, and methods
LARGE = (54_171, 40, 1)
RUNS = 3


def prepare(folder: Path, frames: int, predictions: int, methods: int) -> list[str]:
    """Write predictions, truth and results of each method. Return the names of the results."""
    names = []
    qualities: tuple[Literal["good", "poor"], ...] = ("good", "poor")
    for quality in qualities[:methods]:
        found, truth = demo_world(frames, predictions=predictions, quality=quality)
        mg.write(found, folder / f"{quality}.parquet")
        mg.write(truth, folder / "truth.parquet")
        mg.evaluate(mg.read(folder / f"{quality}.parquet"), mg.read(folder / "truth.parquet")).save(
            folder / f"{quality}.mg"
        )
        names.append(f"{quality}.mg")
    return names


def memory(process: int, key: str) -> int:
    """A line of the status of a process, in MB."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return int(next(line for line in lines if line.startswith(key)).split()[1]) // 1024


class Measured(NamedTuple):
    """Seconds from the start of the command, and MB."""

    screen: float
    drawing: float
    read: float  # until all frames are read and checked
    held: int  # memory after that
    most: int  # highest memory until then


def measure(browser: Browser, folder: Path, results: list[str]) -> Measured:
    """Open the page once."""
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    begun = time.perf_counter()
    command = [sys.executable, "-m", "mapgauge", "view", *results, "--no-browser", "--quiet"]
    server = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    try:
        assert server.stdout is not None
        page.goto(server.stdout.readline().strip())
        page.wait_for_selector("body[data-ready]")
        screen = time.perf_counter() - begun
        page.wait_for_selector(".panel .instance", state="attached", timeout=120_000)
        drawing = time.perf_counter() - begun
        page.wait_for_function("() => document.getElementById('status').textContent === ''", timeout=120_000)
        read = time.perf_counter() - begun
        return Measured(screen, drawing, read, held=memory(server.pid, "VmRSS"), most=memory(server.pid, "VmHWM"))
    finally:
        page.close()
        server.terminate()
        server.communicate()


def main(sizes: Sequence[tuple[int, int, int]]) -> None:
    """Print the table."""
    machine()
    columns = ("frames", "first screen", "first drawing", "all read", "memory", "highest memory")
    heading("The first page of the view", *columns)
    with sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for frames, predictions, methods in sizes:
            with tempfile.TemporaryDirectory() as folder:
                results = prepare(Path(folder), frames, predictions, methods)
                runs = [measure(browser, Path(folder), results) for _ in range(RUNS)]
            seconds = [min(run[k] for run in runs) for k in range(3)]
            held = max(run.held for run in runs)
            most = max(run.most for run in runs)
            times = [f"{seconds[0]:.2f} s", *(f"{value:.1f} s" for value in seconds[1:])]
            named = f"{frames:,} with {predictions} predictions"
            if methods > 1:
                named += f", {methods} methods"
            row(named, *times, f"{held:,} MB", f"{most:,} MB")
        browser.close()


if __name__ == "__main__":
    main((*SIZES, LARGE) if "large" in sys.argv else SIZES)
