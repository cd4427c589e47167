"""Writes ``signatures.json``: the kernels that usual work calls, and the types of their arguments.

Each kind of work runs in a process of its own on a few synthetic frames. Run it after a change of a kernel's arguments:

    python -m tools.kernel_signatures
"""

import json
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import mapgauge as mg
from mapgauge.kernels import compiling
from mapgauge.kernels._jit import Kernel
from mapgauge.kernels._stored import in_words


def _files(folder: Path) -> tuple[Path, Path]:
    from mapgauge.demo import demo_world

    predictions, truth = demo_world(20, seed=0, quality="good")
    mg.write(predictions, folder / "predictions.json", "streammapnet")
    mg.write(truth, folder / "truth.geojson")
    return folder / "predictions.json", folder / "truth.geojson"


def _read(folder: Path) -> None:
    for path in _files(folder):
        mg.read(path)


def _pickles(folder: Path) -> None:
    from mapgauge.demo import demo_world

    mg.write(demo_world(20, seed=0, quality="good")[1], folder / "truth.pkl", "streammapnet-truth")
    mg.read(folder / "truth.pkl")
    for points in (np.eye(2, 3, dtype=np.float32), [[0.0, 0.0, 0.0], [1.0, 1.0, 0.5]]):
        lanes = [{"id": np.int64(k), "points": points, "confidence": 0.5} for k in range(2)]
        frame = {"lane_centerline": lanes, "topology_lclc": np.eye(2, dtype=np.float32)}
        document = {"method": "", "results": {("val", "0", "0"): {"predictions": frame}}}
        (folder / "result.pkl").write_bytes(pickle.dumps(document))
        mg.read(folder / "result.pkl")


def _evaluate(metric: str) -> Callable[[Path], None]:
    def work(folder: Path) -> None:
        from mapgauge.demo import demo_world

        predictions, truth = demo_world(20, seed=0, quality="good")
        settings = mg.protocol("paper-60x30", settings={"ap_sospa": {"thresholds": (0.5,)}})
        mg.evaluate(predictions, truth, settings, metrics=[metric])

    return work


def _words(folder: Path) -> None:
    predictions, truth = map(mg.read, _files(folder))
    mg.answer(mg.evaluate(predictions, truth), workers=1)


def _thresholds(folder: Path) -> None:
    from mapgauge.demo import demo_world

    mg.confidence(mg.evaluate(*demo_world(20)), workers=1)


def _report(folder: Path) -> None:
    from mapgauge.demo import demo_world
    from mapgauge.report import write_report

    results = [
        mg.evaluate(*demo_world(20, seed=0, quality=quality), ranges=(0, 10, 20)) for quality in ("good", "poor")
    ]
    mg.compare(results)
    write_report(results, folder / "report.html")


def _distances(folder: Path) -> None:
    line = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]])
    mg.sospa(line, line + 0.1, cutoff=1.0)
    mg.sospa_matrix([line], [line], cutoff=1.0)
    mg.chamfer(line, line)
    mg.frechet(line, line)


WORK: dict[str, Callable[[Path], None]] = {
    "read": _read,
    **{name: _evaluate(name) for name in ("pld", "ap_chamfer", "ap_frechet", "ap_sospa", "completeness", "causes")},
    "words": _words,
    "report": _report,
    "thresholds": _thresholds,
    "distances": _distances,
    "pickles": _pickles,
}


def _called() -> list[list[str]]:
    """Return the kernels that this process called from Python, with the types of their arguments."""
    found = []
    for name in sorted(name for name in sys.modules if name.startswith("mapgauge.")):
        for kernel in vars(sys.modules[name]).values():
            if isinstance(kernel, Kernel) and kernel.__module__ == name:
                found += [[kernel.name, *map(in_words, types)] for types in kernel.entry.signatures]
    return found


def main() -> None:
    """Write the file, or print the kernels of one kind of work if it is named."""
    if len(sys.argv) > 1:
        with tempfile.TemporaryDirectory() as folder:
            WORK[sys.argv[1]](Path(folder))
        sys.stdout.write("\n" + json.dumps(_called()))
        return
    rows = {}
    for name in WORK:
        command = [sys.executable, "-m", "tools.kernel_signatures", name]
        environment = os.environ | {"MAPGAUGE_INTERPRET": "0"}  # kernels that are interpreted are not listed
        run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, encoding="utf-8")
        rows[name] = json.loads(run.stdout.splitlines()[-1])
        sys.stderr.write(f"{name}: {len(rows[name])} kernels\n")
    compiling.FILE.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
