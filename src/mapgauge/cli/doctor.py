"""``mapgauge doctor``: what an issue report needs to know about an installation."""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mapgauge.cli import options as o
from mapgauge.cli.command import command
from mapgauge.cli.emit import Document, Listing, Piece, Printing, emit
from mapgauge.version import __version__
from mapgauge.words import counted

# Programs that some functions use: the names under which they are installed, and the option that prints the version.
PROGRAMS: dict[str, tuple[tuple[str, ...], str]] = {
    "ffmpeg": (("ffmpeg",), "-version"),
    "Chromium": (("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"), "--version"),
}
_PATIENCE = 10.0  # seconds in which a program says its version
_REQUIRED = "required"  # the packages without which nothing works, beside the extras
# Settings that change what mapgauge and its packages do.
_PREFIXES = ("MAPGAUGE_", "NUMBA_", "OMP_", "MPL", "XDG_CACHE_HOME", "NO_COLOR", "PYTHONUTF8", "PYTHONIOENCODING")


@dataclass(frozen=True, kw_only=True)
class DoctorOptions(Printing):
    """The options of ``mapgauge doctor``."""

    json: o.JsonOption = False


@command
def doctor(options: DoctorOptions) -> None:
    """Print versions and settings, for a report of a problem.

    Versions, extras, compiled kernels, processors, fonts, programs and settings. Paths in the home folder begin with ~.
    """
    emit(options, diagnose())


@dataclass(frozen=True, kw_only=True)
class Diagnosis(Document):
    """What there is to know about an installation."""

    version: str
    place: str
    python: str
    system: str
    processors: Mapping[str, int]
    terminal: Mapping[str, Any]
    packages: Mapping[str, str | None]  # versions by name; None if it is not installed
    extras: Mapping[str, Sequence[str]]  # the packages that each extra lacks
    kernels: Mapping[str, Any]
    fonts: Mapping[str, Any]
    programs: Mapping[str, str | None]
    settings: Mapping[str, str]
    plug_ins: Sequence[str]

    def text(self) -> Iterator[Piece]:
        """Return a line for each part."""
        processors = self.processors
        threads = counted(processors["threads"], "thread")
        installed = [name for name, lacking in self.extras.items() if not lacking]
        lacking = [f"{name} ({', '.join(packages)})" for name, packages in self.extras.items() if packages]
        rows = [
            ["mapgauge", f"{self.version} in {self.place}"],
            ["Python", self.python],
            ["system", self.system],
            ["processors", f"{processors['usable']} of {processors['all']}; {threads} without --workers"],
            ["terminal", f"{self.terminal['columns']} columns, {self.terminal['encoding']}"],
            ["packages", ", ".join(f"{name} {version}" for name, version in self.packages.items() if version)],
            ["extras", ", ".join(installed) or "none"],
            ["not installed", ", ".join(lacking) or "no extra is missing"],
            ["kernels", _kernels_in_words(self.kernels)],
            ["fonts", _fonts_in_words(self.fonts)],
            *([name, version or "not found"] for name, version in self.programs.items()),
            ["settings", ", ".join(f"{name}={value}" for name, value in self.settings.items()) or "none"],
            ["plug-ins", ", ".join(self.plug_ins) or "none"],
        ]
        yield Listing(rows)

    def to_dict(self) -> dict[str, Any]:
        """Return all parts as plain values."""
        return dict(vars(self))


def diagnose() -> Diagnosis:
    """Return what there is to know about this installation."""
    needed = _needed()
    names = dict.fromkeys(name for packages in needed.values() for name in packages)
    versions = {name: _version_of(name) for name in names}
    if hasattr(os, "sched_getaffinity"):
        available = len(os.sched_getaffinity(0))
    else:
        available = os.cpu_count() or 1
    return Diagnosis(
        version=__version__,
        place=without_home(str(Path(__file__).parents[1])),
        python=f"{platform.python_version()} ({platform.python_implementation()})",
        system=platform.platform(),
        processors={"usable": available, "all": os.cpu_count() or 1, "threads": os.cpu_count() or 1},
        terminal={
            "columns": shutil.get_terminal_size().columns,
            "encoding": getattr(sys.stdout, "encoding", None) or "unknown",
            "is_terminal": sys.stdout.isatty(),
        },
        packages=versions,
        extras={
            extra: [name for name in packages if versions[name] is None]
            for extra, packages in needed.items()
            if extra != _REQUIRED
        },
        kernels=_kernels(),
        fonts=_fonts(),
        programs={name: _program(*how) for name, how in PROGRAMS.items()},
        settings={name: without_home(os.environ[name]) for name in sorted(os.environ) if name.startswith(_PREFIXES)},
        plug_ins=_plug_ins(),
    )


def without_home(text: str) -> str:
    """Return a text in which the home folder is ``~``, because it has the name of a person."""
    try:
        home = str(Path.home())
    except RuntimeError:  # this user has none
        return text
    if len(home) <= 1:  # the home folder of some containers is the root of all files
        return text
    return text.replace(home, "~")


def _needed() -> dict[str, list[str]]:
    """Return the packages of each extra, and those without which nothing works, as the distribution names them."""
    import re
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        described = metadata("mapgauge")
    except PackageNotFoundError:  # it runs from its source
        return {_REQUIRED: ["numpy", "numba", "llvmlite"]}
    found: dict[str, list[str]] = {_REQUIRED: ["llvmlite"]}  # which numba needs, and whose version it depends on
    own: dict[str, list[str]] = {}  # the extras of mapgauge that an extra stands for
    for text in described.get_all("Requires-Dist") or []:
        name = re.match(r"[\w.-]+", text)
        extra = re.search(r"""extra\s*==\s*["']([\w-]+)["']""", text)
        if name is None or not _applies(text):
            continue
        of = extra[1] if extra else _REQUIRED
        if name[0] == "mapgauge":
            own[of] = re.findall(r"[\w-]+", text.partition("[")[2].partition("]")[0])
        else:
            found.setdefault(of, []).append(name[0])
    for extra_name, others in own.items():
        found[extra_name] = list(dict.fromkeys(name for other in others for name in found.get(other, [])))
    return found


def _applies(requirement: str) -> bool:
    """Whether a requirement is for this version of Python. Only upper limits of the version occur."""
    import re

    limit = re.search(r"""python_version\s*<\s*["'](\d+)\.(\d+)["']""", requirement)
    return limit is None or sys.version_info[:2] < (int(limit[1]), int(limit[2]))


def _version_of(name: str) -> str | None:
    """Return the version of an installed package, which is not imported."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _kernels() -> dict[str, Any]:
    """Return where compiled kernels are stored, and how many there are."""
    from mapgauge.kernels import _folder, _stored, compiling

    known = dict.fromkeys(compiled for of_work in compiling.table().values() for compiled in of_work)
    about: dict[str, Any] = {"known": len(known), "supplied": len(_stored.index())}
    try:
        folder = _folder.folder()
    except _folder.Unusable as error:
        return about | {"folder": None, "why": without_home(str(error)), "compiled": 0, "bytes": 0, "writable": False}
    return about | {
        "folder": without_home(str(folder)),
        "compiled": sum(map(compiling.is_compiled, known)),
        "bytes": sum(file.stat().st_size for file in folder.rglob("*.nb[ci]")),
        "writable": os.access(folder, os.W_OK),
    }


def _kernels_in_words(kernels: Mapping[str, Any]) -> str:
    supplied = f"{kernels['supplied']} came with the package"
    if kernels["folder"] is None:
        return f"cannot be stored: {kernels['why']}; {supplied}"
    text = f"{kernels['compiled']} of {kernels['known']} compiled, {kernels['bytes'] / 1e6:.1f} MB in "
    text += f"{kernels['folder']}; {supplied}"
    if not kernels["writable"]:
        text += "; the folder cannot be written"
    return text


def _fonts() -> dict[str, Any]:
    """Return the font of figures, and how many families of fonts matplotlib finds."""
    from mapgauge.dependencies import matplotlib_module
    from mapgauge.errors import MapgaugeError

    try:
        matplotlib_module()
    except MapgaugeError:
        return {"usual": None, "families": 0}
    from matplotlib.font_manager import FontProperties, fontManager

    return {
        "usual": FontProperties().get_name(),
        "families": len({font.name for font in fontManager.ttflist}),
    }


def _fonts_in_words(fonts: Mapping[str, Any]) -> str:
    if fonts["usual"] is None:
        return "figures need matplotlib"
    return f"{fonts['usual']}, {counted(fonts['families'], 'family', 'families')}"


def _program(spellings: Sequence[str], option: str) -> str | None:
    """Return what a program says about its version; None if it is not on the path, or says nothing."""
    for name in spellings:
        path = shutil.which(name)
        if path is None:
            continue
        try:
            done = subprocess.run([path, option], capture_output=True, timeout=_PATIENCE, check=False)
        except (OSError, subprocess.SubprocessError):
            continue
        first = done.stdout.decode("utf-8", "replace").strip().partition("\n")[0]
        if first:
            return first.partition(" Copyright")[0]
    return None


def _plug_ins() -> list[str]:
    """Return the distributions that add something to mapgauge, also those that cannot be used."""
    from importlib.metadata import entry_points

    from mapgauge.manifest import GROUP

    names = []
    for entry in entry_points(group=GROUP):
        if entry.dist is not None:
            names.append(f"{entry.dist.name} {entry.dist.version}")
    return sorted(set(names))
