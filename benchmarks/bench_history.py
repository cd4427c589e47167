"""Measures ``mapgauge.history`` on a year of nights with as many frames as the validation set of nuScenes has.

Run it with ``make bench-history``. It prints a table in GitHub markdown.
"""

import shutil
import tempfile
import time
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np
from benchmarks.tables import at_most, heading, machine, peak_memory, race, row

import mapgauge as mg
from mapgauge.demo import demo_world

FRAMES = 6019
NIGHTS = 365
MODELS = 8  # different results; a year of evaluations would take hours
MOST = 5.0  # seconds for the page


def write_nights(folder: Path) -> int:
    """Write a file for each night, each with one of a few results, and return the bytes of all of them."""
    predictions, truth = demo_world(FRAMES, predictions=30)
    rng = np.random.default_rng(0)
    usual = np.asarray(predictions.confidence, np.float64)
    models = []
    for _ in range(MODELS):
        confidence = np.clip(usual + rng.normal(0, 0.01, len(predictions.label)), 0, 1)
        models.append(mg.evaluate(predictions.with_confidence(confidence), truth))
    first = date(2026, 1, 1)
    files: dict[int, Path] = {}
    for night in range(NIGHTS):
        day = first + timedelta(night)
        place = int(rng.integers(MODELS))
        path = folder / f"{day}.mg"
        if place not in files:
            models[place].save(path)
            files[place] = path
            continue
        # Only the summary differs from night to night; the rows are those of the model.
        noted = replace(models[place], date=f"{day}T02:00:00Z", metadata={"commit": f"{night:04x}"})
        noted.save(path)
    return sum(path.stat().st_size for path in folder.iterdir())


def main() -> None:
    """Print processor seconds, which depend less on other load than the time on the clock."""
    machine("numpy", "msgspec")
    folder = Path(tempfile.mkdtemp())
    try:
        (folder / "nights").mkdir()
        size = write_nights(folder / "nights")
        before = peak_memory()
        page = folder / "history.html"
        found = mg.history(folder / "nights")
        jobs = {
            "read, fit and compare": lambda: mg.history(folder / "nights"),
            "write the page": lambda: found.save(page),
        }
        heading(f"{NIGHTS} nights of {FRAMES:,} frames, {size / 1e6:,.0f} MB", "what", "processor seconds")
        times = race(*jobs.values(), rounds=3, clock=time.process_time)
        for name, seconds in zip(jobs, times, strict=True):
            row(name, f"{seconds:.2f}")
        row("together", at_most(sum(times), MOST, f"{sum(times):.2f}"))
        row("the page, MB", f"{page.stat().st_size / 1e6:.1f}")
        row("memory that the history adds, MB", f"{max(peak_memory() - before, 0):.0f}")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
