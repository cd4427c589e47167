"""Makes random command lines from the commands and options of the application, so that new ones are included."""

import contextlib
import os
import re
import stat
from pathlib import Path
from typing import Any

import numpy as np
import typer.main
from tests.truth.nuscenes_city import MINI, town

import mapgauge as mg
from mapgauge.cli.app import app
from mapgauge.demo import demo_world
from mapgauge.metrics.table import METRICS
from mapgauge.protocols import PROTOCOLS

WRITTEN = ("output", "page", "figure", "work", "target", "card")  # parameters that name what a command writes
NEVER: tuple[str, ...] = ()  # options that are not drawn
SLOW = {"demo": 0.1, "show": 0.4, "view": 0.0}  # the share of these commands; view serves until it is interrupted

# Texts for any option. The operating system gives bytes that are not UTF-8 as lone surrogates.
HOSTILE = (
    *("", " ", ",", ",,", "=", "a=", "=b", "a=b=c", "-", "--", "-1", "0", "-0.0", "nan", "inf", "-inf", "1e308"),
    *("1e-308", "1e400", "-1e9", "2147483648", "9223372036854775808", "1" * 5000, "0x10", "1_0", "1,5", "1;5"),
    *("é", "日本", "\u202e", "\U0001f600", "\udcff", "a\nb", "\t", "\x1b[31m", "x" * 300, "x" * 5000, "a/b", "../.."),
    *("NaN", "None", "true", "[]", "{}", "%s", "{0}", "$HOME", "*", "'", '"', "\\", "<b>", "http://", "s3://", "x://y"),
)
NUMBERS = ("0", "1", "2", "1.5", "0.1", "1e-9", "1e9", "1e-3", "100000")
VALID: dict[str, tuple[str, ...]] = {
    "METRES": ("0.5", "1.5", "2", "30"),
    "N": ("1", "2", "5", "20"),
    "DEGREES": ("0", "90", "-90", "0.5", "360"),
    "SHARE": ("0.5", "0.9", "0.99"),
    "LENGTHxWIDTH": ("60x30", "30x30", "100x50", "1x1"),
    "NAME=VALUE": ("spacing=0.5", "crop=true", "count=20", "ap_chamfer.thresholds=0.5,1", "track_pld.switch_cost=0.5"),
    "KEY=VALUE": ("commit=4f2a", "note=a = b", "date=2026-11-03"),
    "CONDITION": ("pld > +0.005", "ap_chamfer < 0.6", "pld>=0", "mean.pld > 1"),
    "TEXT": ("A title", "<i>"),
    "TOKEN|RANK|QUERY": ("worst", "best:2", "median", "scene-0000-0003", "worst:2 where pld > 0", "pld > 0.5"),
    "QUERY": ("pld > 0.5", "missed.divider >= 1 and scene != 'x'", "token in ('a', 'b')", "pld = none"),
    "N|QUERY": ("0", "3", "pld > 0.5"),
    "COLUMN": ("scene", "pld", "missed.divider"),
    "--protocol": tuple(PROTOCOLS),
    "--metrics": tuple(METRICS),
    "--classes": ("divider", "boundary", "ped_crossing", "all"),
    "--vary": ("spacing=0.5,1", "count=20", "region=60x30,30x30"),
    "--ranges": ("0,10,20", "0,10", "0,inf", "5,10,30"),
    "--rules": ("streammapnet", "maptr"),
    "--split": ("mini-val", "mini-train", "val"),
    "--release": (MINI,),
    "--scenes": ("scene-0103", "scene-0916"),
    "--correction": ("holm", "none"),
    "--to": ("geojson", "parquet", "streammapnet", "streammapnet-truth", "maptr-truth", "vectormapnet"),
    "--engine": ("threads",),  # processes and Dask take seconds to start; the soak has them
}
SUFFIXES = (".mg", ".html", ".json", ".parquet", ".geojson", ".png", ".svg", ".pdf", ".pkl", ".geojson.gz", ".zst", "")

# Commands by words, with their parameters. Typer publishes no type for its own objects.
Commands = dict[tuple[str, ...], list[Any]]


def commands() -> Commands:
    """All commands of the application, also those of groups."""
    found: Commands = {}

    def walk(command: Any, words: tuple[str, ...]) -> None:
        if hasattr(command, "commands"):
            for name, inner in command.commands.items():
                walk(inner, (*words, name))
        else:
            found[words] = list(command.params)

    walk(typer.main.get_command(app), ())
    return found


def make_inputs(folder: Path) -> Path:
    """Write one file of each kind that commands read, and things that are no files. No command may change them."""
    folder.mkdir()
    for quality in ("good", "poor"):
        predictions, truth = demo_world(6, quality=quality)
        mg.write(predictions, folder / f"{quality}.json", "streammapnet")
        mg.write(predictions, folder / f"{quality}.parquet")
        mg.evaluate(predictions, truth, ranges=(0, 10)).save(folder / f"{quality}.mg")
    mg.write(truth, folder / "truth.geojson")
    mg.write(truth, folder / "truth.parquet")
    mg.write(truth, folder / "truth.pkl", "streammapnet-truth")
    (folder / "set").mkdir()
    mg.write(truth, folder / "set" / "part.parquet")
    town().write(folder / "town")
    (folder / "tokens.txt").write_text("scene-0103-4\nscene-0103-5\n", encoding="utf-8")
    (folder / "scenes.json").write_text('{"a": "scene"}', encoding="utf-8")
    (folder / "empty.json").touch()
    (folder / "broken.mg").write_bytes((folder / "good.mg").read_bytes()[:500])
    (folder / "empty").mkdir()
    if os.name == "posix":
        (folder / "link.json").symlink_to("good.json")
        (folder / "nowhere.json").symlink_to("missing.json")
        (folder / "loop.json").symlink_to("loop.json")
        os.mkfifo(folder / "pipe.json")
        make_null(folder / "null")
    return folder


def make_null(path: Path) -> None:
    """Make a device, where that is permitted. A command that replaces it does no harm to that of the machine."""
    with contextlib.suppress(OSError):
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))


class Maker:
    """Makes command lines. Equal seeds give equal lines."""

    def __init__(self, inputs: Path) -> None:
        self.commands = commands()
        self.inputs = inputs
        self.files = sorted(str(path) for path in inputs.iterdir())
        share = np.array([SLOW.get(words[0], 1.0) for words in self.commands])
        self.share = share / share.sum()

    def line(self, rng: np.random.Generator) -> list[str]:
        """A command line with up to two hostile values. It runs in a folder of its own, ``inputs`` beside it."""
        words = list(self.commands)[rng.choice(len(self.share), p=self.share)]
        params = self.commands[words]
        faults = int(rng.choice([0, 0, 0, 1, 1, 2]))
        given = [param for param in params if self._wanted(param, rng)]
        hostile = set(rng.permutation(len(given))[:faults].tolist())
        read: list[str] = []
        options: list[list[str]] = []
        arguments: list[str] = []
        order = sorted(range(len(given)), key=lambda k: given[k].name in WRITTEN)  # what is read comes first
        for k in order:
            param = given[k]
            many = param.nargs == -1 or getattr(param, "multiple", False)
            for _ in range(int(rng.integers(1, 4)) if many and rng.random() < 0.4 else 1):
                value = self._value(param, words, rng, hostile=k in hostile, read=read)
                if param.param_type_name == "argument":
                    arguments.append(value)
                    continue
                name = str(rng.choice(param.opts))
                if param.is_flag:
                    options.append([name])
                else:
                    options.append(
                        [f"{name}={value}"] if name.startswith("--") and rng.random() < 0.3 else [name, value]
                    )
        parts: list[list[str]] = [*([argument] for argument in arguments)]
        for option in options:  # options stand anywhere; arguments keep their order
            parts.insert(int(rng.integers(len(parts) + 1)), option)
        if faults and rng.random() < 0.1:
            self._damage(parts, rng)
        return [*words, *(word for part in parts for word in part)]

    def _wanted(self, param: Any, rng: np.random.Generator) -> bool:
        if any(name in NEVER for name in param.opts):
            return False
        return bool(rng.random() < (0.97 if param.required else 0.1))

    def _damage(self, parts: list[list[str]], rng: np.random.Generator) -> None:
        """Drop, double, cut or add a word."""
        k = int(rng.integers(max(1, len(parts))))
        kind = rng.integers(4)
        if kind == 0 and parts:
            del parts[k]
        elif kind == 1 and parts:
            parts.insert(k, list(parts[k]))
        elif kind == 2 and parts and len(parts[k]) > 1:
            parts[k] = parts[k][:1]
        else:
            parts.insert(k, [str(rng.choice(["--nothing", "-x", "--", "-h", "--help", "--version=", "--json=1"]))])

    def _value(
        self, param: Any, words: tuple[str, ...], rng: np.random.Generator, *, hostile: bool, read: list[str]
    ) -> str:
        """A value of a parameter. Outputs are new files, or an input of the same line."""
        if param.name in WRITTEN:
            return self._target(param, rng, hostile=hostile, read=read)
        if param.param_type_name == "argument" or param.metavar in ("FILE", "FOLDER"):
            value = self._file(param, words, rng, hostile=hostile)
            read.append(value)
            return value
        if words == ("demo",) and param.name == "size":
            return str(rng.choice(["1", "3", "0", "-1", "x", ""]))  # any number of frames is made, if it takes a day
        if param.name == "samples":
            return str(rng.choice(["1", "100", "1000", "0", "-5", "nan"]))  # likewise
        if hostile:
            return str(rng.choice(HOSTILE)) if rng.random() < 0.7 else str(rng.choice(NUMBERS))
        metavar = (param.metavar or "").removesuffix(",...")
        known = next((VALID[name] for name in (*param.opts, metavar) if name in VALID), None)
        if known is None:
            known = tuple(metavar.split("|")) if "|" in metavar else (str(param.default), *HOSTILE)
        return ",".join(map(str, rng.choice(known, 1 if not param.multiple else int(rng.integers(1, 3)))))

    def _file(self, param: Any, words: tuple[str, ...], rng: np.random.Generator, *, hostile: bool) -> str:
        if hostile:
            missing = (str(self.inputs / "missing.json"), str(self.inputs / ("x" * 300)), "file://" + self.files[0])
            return str(rng.choice([*self.files, *missing, *HOSTILE]))
        names = {
            "result": ("good.mg", "poor.mg"),
            "results": ("good.mg", "poor.mg"),
            "truth": ("truth.geojson", "truth.parquet", "set"),
            "poses": ("truth.geojson", "truth.parquet"),
            "dataroot": ("town",),
            "tokens": ("tokens.txt",),
        }.get(param.name, ("good.json", "poor.json", "good.parquet", "poor.parquet", "link.json", "truth.geojson"))
        return str(self.inputs / str(rng.choice(names)))

    def _target(self, param: Any, rng: np.random.Generator, *, hostile: bool, read: list[str]) -> str:
        """A path to write to: in the folder of the run, or what the same line reads, in several spellings."""
        if not hostile:
            told = re.findall(r"\.[a-z]{2,7}\b", param.help or "")  # the help of an option names its suffixes
            suffixes = told if told and rng.random() < 0.8 else SUFFIXES
            return str(rng.choice(["new", "old", "odd name é"])) + str(rng.choice(suffixes))
        own = [path for path in read if path.startswith(str(self.inputs))]
        if own and rng.random() < 0.5:
            path = str(rng.choice(own))
            return str(rng.choice([path, os.path.relpath(path, self.inputs.parent / "run"), path.replace("/", "//")]))
        odd = ["", ".", "..", "folder", "pipe", "null", "missing/new.mg", "new/", "x" * 300 + ".mg", "-", "\udcff.mg"]
        return str(rng.choice([*odd, "a\nb.html", "s3://bucket/x.parquet", "file:///x.mg", "link.mg", "loop", ".mg"]))
