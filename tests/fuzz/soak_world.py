"""The inputs and targets of the soak: two versions of each input, and what targets may hold."""

import hashlib
import os
import shutil
import xml.etree.ElementTree
from pathlib import Path

import numpy as np
from tests.truth.nuscenes_city import MINI, town

import mapgauge as mg
from mapgauge import plot
from mapgauge.demo import demo_world
from mapgauge.evaluation.streaming import plan
from mapgauge.frames.content import content_hash
from mapgauge.io import dataset as dataset_write
from mapgauge.io import parquet
from mapgauge.report import write_report

FRAMES = 12
GROUP = 80  # rows of a row group, so that there are many chunks
METRICS = "pld,ap_chamfer"
SOURCES = ("p.json", "q.json", "t.geojson", "p.parquet", "P", "T")  # inputs of which there are two versions


class World:
    """A folder of inputs and targets."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.inputs = SOURCES
        parquet.GROUP_ROWS, plan.ROWS, dataset_write.FILE_ROWS = GROUP, 2 * GROUP, 4 * GROUP
        self.versions = folder / "versions"
        predictions, truth = demo_world(FRAMES, seed=3)
        other = predictions.with_confidence(np.linspace(0.1, 1, len(predictions.polylines)))
        rough, _ = demo_world(FRAMES, seed=3, quality="poor")
        sides = {
            "a": (predictions, rough, truth),
            "b": (other, rough.with_confidence(0.5), truth.keep(truth.frame != 3)),
        }
        self.frames: dict[str, str] = {}  # names of the contents of frames
        self.means: set[str] = set()
        for version, (x, q, y) in sides.items():
            self._write(self.versions / version, x, q, y)
            for name, side in (("x", x), ("q", q), ("y", y)):
                self.frames[str(content_hash(side))] = f"frames {name}"
            mg.write(y, self.versions / version / "t.pkl", "streammapnet-truth")  # which has no tracks
            self.frames[str(content_hash(mg.read(self.versions / version / "t.pkl")))] = "frames y"
        for x, q, _ in sides.values():
            for _, _, y in sides.values():
                for side in (x, q):
                    self.means.add(mean_of(mg.evaluate(side, y, metrics=METRICS.split(","), workers=1)))
        results = mg.evaluate(predictions, truth, workers=1, metrics=METRICS.split(","))
        results.save(folder / "one.mg")
        mg.evaluate(rough, truth, workers=1, metrics=METRICS.split(",")).save(folder / "two.mg")
        write_report([results], folder / "page.html")
        plot.save(plot.parts([results]), folder / "figure.svg")  # everything that commands use is imported now
        (folder / "figure.svg").unlink()
        town().write(folder / "town")
        cut = mg.truth.nuscenes(folder / "town", version=MINI, split="mini-val", workers=1)
        self.frames[str(content_hash(cut))] = "frames town"
        self.restore(np.random.default_rng(0))

    def _write(self, folder: Path, x: mg.MapFrames, q: mg.MapFrames, y: mg.MapFrames) -> None:
        folder.mkdir(parents=True)
        mg.write(x, folder / "p.json", "streammapnet")
        mg.write(q, folder / "q.json", "streammapnet")
        mg.write(y, folder / "t.geojson")
        mg.write(x, folder / "p.parquet")
        for name, side in (("P", x), ("T", y)):
            writer = dataset_write.DatasetWriter(folder / name)
            writer.add(side)
            writer.finish()

    # -- inputs

    def restore(self, rng: np.random.Generator) -> None:
        """Put complete inputs in place, each in either version."""
        for name in SOURCES:
            self.change(name, rng)

    def change(self, name: str, rng: np.random.Generator) -> None:
        """Replace an input atomically: a file, or the files of a data set one by one."""
        source = self.versions / str(rng.choice(["a", "b"])) / name
        target = self.folder / name
        if source.is_file():
            self._replace(source, target)
            return
        shutil.rmtree(target, ignore_errors=True)  # a data set may have another number of files
        target.mkdir(exist_ok=True)
        for file in source.iterdir():
            self._replace(file, target / file.name)

    def _replace(self, source: Path, target: Path) -> None:
        staged = self.folder / f"{target.name}.staged"
        shutil.copyfile(source, staged)
        staged.replace(target)

    def truncate(self, name: str, rng: np.random.Generator) -> None:
        """Cut off the end of an input, or of one file of a data set."""
        path = self.folder / name
        file = path if path.is_file() else next(iter(sorted(path.glob("*.parquet"))), None)
        if file is not None:
            os.truncate(file, int(file.stat().st_size * rng.random()))

    # -- commands

    def line(self, rng: np.random.Generator, disk: Path | None = None) -> list[str]:
        """A valid command."""
        where = "" if disk is None else f"{disk.name}/"
        p, t = str(rng.choice(["p.json", "q.json", "p.parquet"])), "t.geojson"
        some, cut = ["--metrics", METRICS], ["--release", MINI, "--split", "mini-val", "--workers", "1"]
        lines = [
            (2.0, ["evaluate", p, t, *some, "-o", f"{where}memory.mg"]),
            (1.5, ["evaluate", "P", "T", *some, "--workers", str(rng.integers(1, 3)), "-o", f"{where}stream.mg"]),
            (1.0, ["evaluate", p, t, *some, "-o", f"{where}memory.mg", "--report", f"{where}page.html"]),
            (1.0, ["evaluate", "p.json", "q.json", t, *some, "--workers", "1", "-o", f"{where}both"]),
            (1.0, ["report", "one.mg", "two.mg", "-o", f"{where}page.html"]),
            (0.8, ["sweep", p, t, "--cutoff", "0.5,1.5", "--metrics", "pld", "--figure", f"{where}figure.svg"]),
            (0.3, ["show", p, t, "-o", f"{where}figure.svg"]),
            (1.0, ["convert", p, f"{where}converted.parquet"]),
            (1.0, ["convert", p, f"{where}converted.geojson.gz"]),
            (0.5, ["convert", t, "--to", "streammapnet-truth", f"{where}converted.pkl"]),
            (1.0, ["convert", p, f"{where}set-{rng.integers(10**9)}/"]),
            (0.3, ["compare", "one.mg", "two.mg", "--samples", "100"]),
            (0.3, ["inspect", p]),
            (0.6, ["truth", "nuscenes", "town", *cut, "-o", f"{where}town.parquet"]),
        ]
        share = np.array([weight for weight, _ in lines])
        return lines[rng.choice(len(lines), p=share / share.sum())][1]

    # -- targets

    def targets(self) -> dict[str, str]:
        """A digest of every target. A data set is one target; its files are read together."""
        found = {}
        for path in [*self.folder.iterdir(), *(self.folder / "disk").iterdir(), *(self.folder / "both").glob("*")]:
            name = str(path.relative_to(self.folder))
            if path.suffix in (".mg", ".html", ".svg", ".pkl", ".gz", ".parquet") and name not in SOURCES:
                found[name] = hashlib.blake2b(path.read_bytes()).hexdigest() if not path.name.startswith(".") else ""
            elif path.name.startswith("set-") and any(path.glob("*.parquet")):
                found[name] = " ".join(sorted(file.name for file in path.iterdir()))
        return {name: digest for name, digest in found.items() if digest}

    def allowed(self, name: str) -> set[str]:
        """What ``content_of`` may say about a target."""
        if name.endswith(".mg"):
            return {"results"}
        if name.endswith(".html"):
            return {"page"}
        if name.endswith(".svg"):
            return {"figure"}
        return {"frames town"} if "town" in name else {"frames x", "frames q", "frames y"}


def content_of(world: World, path: Path) -> str:
    """Say what a target holds. Anything but the content of one version of the inputs is said as it is."""
    if path.suffix == ".mg":
        results = mg.load_results(path)
        return "results" if mean_of(results) in world.means else f"other results: {results.mean}"
    if path.suffix == ".html":
        text = path.read_text(encoding="utf-8").strip()
        return "page" if text.startswith("<!") and text.endswith("</html>") else f"half a page: {text[-50:]}"
    if path.suffix == ".svg":
        xml.etree.ElementTree.parse(path)
        return "figure"
    if path.is_dir():
        from mapgauge.io.dataset import open_dataset

        frames = open_dataset(path).read()
    else:
        frames = mg.read(path)
    return world.frames.get(str(content_hash(frames)), f"other frames: {frames}")


def mean_of(results: mg.Results) -> str:
    """The means of the metrics that all commands compute, to the last bit."""
    return " ".join(float(results.mean[name] or 0).hex() for name in METRICS.split(","))
