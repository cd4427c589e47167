"""Measures how the comparison of global maps grows with the length of the map: a made-up city as one scene.

Run it with ``make bench-global``. It prints a table in GitHub markdown.
"""

import resource
import time
from dataclasses import replace

import numpy as np
from benchmarks.tables import heading, machine, row

import mapgauge as mg

LENGTHS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # kilometres of roads
BLOCK, EVERY, POSES = 200.0, 4.0, 5.0  # metres: of a street between crossings, between points, and between poses
SIDES = (("boundary", 6.0), ("boundary", -6.0), ("divider", 0.0))


def city(kilometres: float) -> tuple[mg.MapFrames, mg.MapFrames, mg.MapFrames]:
    """Return predictions, truth and poses of a drive along all streets of a grid.

    Predicted lines wobble. They are broken at random, some are missing, and some are doubled.
    """
    rng = np.random.default_rng(0)
    size = int(np.ceil(np.sqrt(1000 * kilometres / BLOCK / 2)))
    ends = [
        street for i in range(size + 1) for j in range(size) for street in (((j, i), (j + 1, i)), ((i, j), (i, j + 1)))
    ][: round(1000 * kilometres / BLOCK)]
    true: dict[str, list[object]] = {"boundary": [], "divider": []}
    predicted: dict[str, list[object]] = {"boundary": [], "divider": []}
    scores: dict[str, list[float]] = {"boundary": [], "divider": []}
    poses = []
    for first, last in np.array(ends, np.float64) * BLOCK:
        ahead = (last - first) / BLOCK
        left = np.array([-ahead[1], ahead[0]])
        along = np.arange(8.0, BLOCK - 8.0, EVERY)
        for name, beside in SIDES:
            line = first + along[:, None] * ahead + beside * left
            wobble = 0.25 * np.sin(along / 17 + rng.uniform(0, 6)) + rng.normal(0, 0.05, len(along))
            moved = line + wobble[:, None] * left
            true[name].append(line)
            pieces = np.split(moved, np.sort(rng.choice(np.arange(5, len(along) - 5), rng.integers(0, 3), False)))
            kept = [piece for piece in pieces if len(piece) > 1 and rng.uniform() < 0.93]
            kept += [moved[:12] + 0.6 * left] * (rng.uniform() < 0.1)
            predicted[name] += kept
            scores[name] += rng.uniform(0.4, 1, len(kept)).tolist()
        for place in np.arange(0, BLOCK, POSES):
            pose = np.eye(4)
            pose[:2, 0], pose[:2, 1], pose[:2, 3] = ahead, left, first + place * ahead
            poses.append(pose)
    path = mg.MapFrames.of({f"pose-{k}": {} for k in range(len(poses))})
    return (
        mg.MapFrames.of({"city": predicted}, confidence={"city": scores}),
        mg.MapFrames.of({"city": true}),
        replace(path, poses=np.array(poses), scenes=("city",) * len(poses)),
    )


def main() -> None:
    """Print seconds and memory for each length."""
    machine("numpy", "numba", "shapely")
    x, y, path = city(LENGTHS[0])
    mg.global_map(x, y, poses=path)  # compiles the kernels
    heading(
        "A city as one scene, one worker",
        *("roads (km)", "lines", "poses", "time", "time per km", "memory so far"),
    )
    for length in LENGTHS:
        x, y, path = city(length)
        before = time.perf_counter()
        mg.global_map(x, y, poses=path, workers=1)
        spent = time.perf_counter() - before
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        lines = len(x.polylines) + len(y.polylines)
        row(f"{length:g}", f"{lines:,}", f"{len(path):,}", f"{spent:.2f} s", f"{spent / length:.2f} s", f"{memory} MB")


if __name__ == "__main__":
    main()
