"""Measures ``mapgauge view``: from the start of the command to the first screen and the first drawing, and its memory.

Run it with ``make bench-view``. It needs Chromium and prints a table in GitHub markdown. The browser runs already, as
on the machine of a user. The first screen has the list of all frames, the histogram and the timeline.
``python -m benchmarks.bench_view large`` adds a data set of 54,171 frames.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

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


def measure(browser: Browser, folder: Path, results: list[str]) -> tuple[float, float, int, int]:
    """Seconds to the first screen and to the first drawing, memory after that, and the highest memory."""
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
        return screen, drawing, memory(server.pid, "VmRSS"), memory(server.pid, "VmHWM")
    finally:
        page.close()
        server.terminate()
        server.communicate()


def main(sizes: Sequence[tuple[int, int, int]]) -> None:
    """Print the table."""
    machine()
    heading("The first page of the view", "frames", "first screen", "first drawing", "memory", "highest memory")
    with sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for frames, predictions, methods in sizes:
            with tempfile.TemporaryDirectory() as folder:
                results = prepare(Path(folder), frames, predictions, methods)
                runs = [measure(browser, Path(folder), results) for _ in range(RUNS)]
            screen, drawing = (min(run[k] for run in runs) for k in (0, 1))
            held, most = (max(run[k] for run in runs) for k in (2, 3))
            times = [f"{screen:.2f} s", f"{drawing:.1f} s"]
            named = f"{frames:,} with {predictions} predictions"
            if methods > 1:
                named += f", {methods} methods"
            row(named, *times, f"{held:,} MB", f"{most:,} MB")
        browser.close()


if __name__ == "__main__":
    main((*SIZES, LARGE) if "large" in sys.argv else SIZES)
