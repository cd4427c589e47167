"""Measures ``mapgauge.history`` on a year of nights with as many frames as the validation set of nuScenes has.

Run it with ``make bench-history``. It prints a table in GitHub markdown.
"""

import shutil
import tempfile
import time
from datetime import date, timedelta
from pathlib import Path

import msgspec
import numpy as np
from benchmarks.tables import at_most, heading, machine, race, row

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.results.pooled import encoded, pooled
from mapgauge.results.saving import save_results

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
    for number in range(MODELS):
        confidence = np.clip(usual + rng.normal(0, 0.01, len(predictions.label)), 0, 1)
        if number >= MODELS // 2:
            confidence *= 0.95
        models.append(mg.evaluate(predictions.with_confidence(confidence), truth))
    summaries = [pooled(model) for model in models]
    first = date(2026, 1, 1)
    for night in range(NIGHTS):
        day = first + timedelta(night)
        # Noise from night to night, and a step of all classes in the middle of the year.
        place = int(rng.integers(MODELS // 2)) + MODELS // 2 * (night >= NIGHTS // 2)
        # The rows are those of the model. Only date and metadata differ.
        noted = {"commit": f"{night:04x}"}
        summary = msgspec.structs.replace(summaries[place], date=f"{day}T02:00:00Z", metadata=noted)
        model = models[place]
        save_results(model, model.rows, folder / f"{day}.mg", values=encoded(summary))
    return sum(path.stat().st_size for path in folder.iterdir())


def main() -> None:
    """Print processor seconds, which depend less on other load than the time on the clock."""
    machine("numpy", "msgspec")
    folder = Path(tempfile.mkdtemp())
    try:
        (folder / "nights").mkdir()
        size = write_nights(folder / "nights")
        page = folder / "history.html"
        found = mg.history(folder / "nights")
        jobs = {
            "read, fit and compare, processor time": lambda: mg.history(folder / "nights"),
            "write the page, processor time": lambda: found.save(page),
        }
        heading(f"History of {NIGHTS} nights of {FRAMES:,} frames", "what", "value")
        row("size of the files", f"{size / 1e6:,.0f} MB")
        times = race(*jobs.values(), rounds=3, clock=time.process_time)
        for name, seconds in zip(jobs, times, strict=True):
            row(name, f"{seconds:.2f} s")
        row("together", at_most(sum(times), MOST, f"{sum(times):.2f} s"))
        row("size of the page", f"{page.stat().st_size / 1e6:.1f} MB")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
