"""The methods that a command looks at: results in files and folders, or predictions that it evaluates by a protocol."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from mapgauge.cli.app import evaluate_first
from mapgauge.cli.inputs import RESULTS_KEYS, InputReader, is_results, named_file, options_of
from mapgauge.cli.output import distrust, progress, warn, warn_of
from mapgauge.cli.parsing import PROTOCOL, Texts, file_names, listed, path_or_url, place, refuse, settings_of
from mapgauge.cli.targets import SUFFIX, check_named
from mapgauge.errors import InvalidInput, MapgaugeError, UnreadableFile

if TYPE_CHECKING:
    from mapgauge.frames.findings import Finding
    from mapgauge.frames.map_frames import MapFrames
    from mapgauge.protocols import Protocol
    from mapgauge.results.results import Results

_EVALUATE = f"Run evaluate first: mapgauge evaluate PREDICTIONS TRUTH -o RESULTS{SUFFIX}"
ORDER = ".mapgauge-order"  # lists the results in a folder in the order in which they were given
_LARGEST = 2**20  # bytes of that file
# Chooses the frames of predictions and truth to evaluate.
Choose: TypeAlias = Callable[["MapFrames", "MapFrames"], "tuple[MapFrames, MapFrames]"]


@dataclass(frozen=True, slots=True)
class Methods:
    """Files of results, or of predictions and truth. ``load`` and ``evaluate`` return the results."""

    command: str
    files: list[Path]  # results, or predictions and then the truth
    from_results: bool
    protocol: str
    workers: int | None = None

    @classmethod
    def of(
        cls, command: str, files: Sequence[Path], *, protocol: Texts = None, workers: int | None = None
    ) -> "Methods":
        """Return the methods of a command. A protocol has no effect on results."""
        protocols = listed(protocol) or [PROTOCOL]
        if all_results(files):
            if protocol:
                refuse("--protocol", "has no effect on results, which have been compared already")
            return cls(command, each_results(files), True, protocols[0], workers)
        if len(files) < 2:
            check_there(files[0])
            refuse("FILE", f"give predictions and truth, or results. {files[0]} is no file of results")
        if len(protocols) > 1:
            line = evaluate_first(command, files, "-p", ",".join(protocols))
            refuse("--protocol", f"this command takes one protocol. With several, evaluate first: {line}")
        return cls(command, list(files), False, protocols[0], workers)

    @property
    def names(self) -> list[str]:
        """The names of the methods."""
        if self.from_results:
            return file_names(self.files)
        return file_names(self.files[:-1])

    def load(
        self,
        *,
        data: bool = True,
        cutoff: bool = False,
        metrics: Sequence[str] | None = None,
        choose: Choose | None = None,
    ) -> list["Results"]:
        """Return the results of all methods, with their geometry if ``data``. They have one protocol.

        Predictions are evaluated by all metrics of the protocol, or the given ones, in all frames, or the chosen ones.
        With ``cutoff``, the protocol must have one.
        """
        if not self.from_results:
            return self._evaluate(metrics, choose, cutoff=cutoff)
        methods = load_all(self.files, self.names)
        check_one_protocol(self.names, methods)
        if cutoff:
            self._check_cutoff(methods[0].protocol)
        if data:
            return [with_data(method, path) for method, path in zip(methods, self.files, strict=True)]
        return methods

    def _check_cutoff(self, protocol: "Protocol") -> None:
        from mapgauge.protocols import full_name

        if protocol.cutoffs:
            return
        if self.from_results:
            files = []
            name = protocol.name
        else:
            files = self.files
            name = self.protocol
        line = evaluate_first(self.command, files, "-p", name, "-c", "1.5")
        raise InvalidInput(
            f"{self.files[0]}: the protocol {full_name(protocol)} has no cutoff to match points by",
            remedy=f"Evaluate with a cutoff first: {line}",
        )

    def _evaluate(self, metrics: Sequence[str] | None, choose: Choose | None, *, cutoff: bool) -> list["Results"]:
        from mapgauge import evaluate

        settings = settings_of(self.protocol)
        if cutoff:
            self._check_cutoff(settings)
        methods = []
        for name, x, y in InputReader(workers=self.workers).each(self.names, self.files[:-1], self.files[-1]):
            if choose is not None:
                x, y = choose(x, y)
            with progress(f"evaluating {name}") as advance:
                results = evaluate(x, y, settings, metrics=metrics, workers=self.workers, progress=advance)
            warn_of(results.findings)
            methods.append(results)
        distrust(finding for method in methods for finding in method.findings)
        return methods


def with_data(results: "Results", path: Path) -> "Results":
    """Return results with the geometry that they were computed from: in their file, or in the evaluated files.

    Evaluated files that were moved are options of the results: ``RESULTS,predictions=FILE,truth=FILE``.
    """
    return results.with_data(*moved_files(path))


def moved_files(path: Path) -> "tuple[str | Path | None, str | Path | None]":
    """Return the predictions and the truth that are options of a file of results, or None."""
    files = [named_file(path, side) for side in ("predictions", "truth")]
    first, second = (None if file is None else place(file) for file in files)
    return first, second


def with_data_if_there(results: "Results", path: Path) -> "Results":
    """Return results with their geometry. If it cannot be read, there is a warning, and they have none.

    Moved files that are given must be the evaluated ones.
    """
    try:
        return with_data(results, path)
    except MapgaugeError as error:
        if any(named_file(path, side) is not None for side in ("predictions", "truth")):
            raise
        warn(f"{path}: frames are not drawn: {error.for_shell()}")
        return results.without_data()


def all_results(paths: Sequence[Path]) -> bool:
    """Whether all paths are results or folders of results. Results together with other files are refused."""
    from mapgauge.io.files.places import is_dataset

    folders = [path.is_dir() and not is_dataset(place(path)) and bool(_inside(path)) for path in paths]
    are_results = [folder or is_results(path) for path, folder in zip(paths, folders, strict=True)]
    if any(are_results) and not all(are_results):
        results = paths[are_results.index(True)]
        other = paths[are_results.index(False)]
        check_there(other)
        refuse("RESULTS", f"give results or predictions and truth, not both. {results} is results, {other} is not")
    return all(are_results)


def check_there(path: Path) -> None:
    """Raise an error for a path that does not exist, which is no URL."""
    from mapgauge.io.files.source import Content

    if place(path) is path and not path.exists():
        Content(path)


def keep_order(written: Sequence[Path | None]) -> None:
    """Keep the order of the results that a command wrote into one folder. Older results come before them."""
    from mapgauge.io.files.writing import save

    names = [path.name for path in written if path is not None]
    if len(names) > 1 and written[0] is not None:
        folder = written[0].parent
        before = _order(folder)
        order = [*(name for name in before if name not in names), *names]
        if before or order != sorted(order):
            save(folder / ORDER, json.dumps(order).encode())


def _order(folder: Path) -> list[str]:
    """Return the names of results in the order in which they were written, as far as it is known."""
    from mapgauge.io.files.source import is_plain_file

    file = folder / ORDER
    try:
        if not is_plain_file(file) or file.stat().st_size > _LARGEST:
            return []
        names = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return []
    if isinstance(names, list):
        return [name for name in names if isinstance(name, str)]
    return []


def _inside(folder: Path) -> list[Path]:
    """Return the files of results and the work folders in a folder, in the order of ``evaluate``, others by name."""
    visible = [file for file in folder.iterdir() if not file.name.startswith(".")]
    results = [
        file for file in visible if (file.suffix == SUFFIX and file.is_file()) or (file.is_dir() and is_results(file))
    ]
    rank = {name: k for k, name in enumerate(_order(folder))}
    return sorted(results, key=lambda file: (rank.get(file.name, len(rank)), file.name))


def each_results(paths: Sequence[Path]) -> list[Path]:
    """Return the files of results. A folder stands for all results in it, in the order of ``evaluate``."""
    files: list[Path] = []
    for path in paths:
        unable = [key for key in options_of(path) if key not in RESULTS_KEYS]
        if unable:
            refuse(
                f"{path},{unable[0]}",
                f"results have no option {unable[0]!r}, only name, tags, predictions and truth. "
                "Give it with a file that is evaluated, and evaluate again",
            )
        if not path.is_dir() or is_results(path):
            files.append(path)
            continue
        inside = _inside(path)
        if not inside:
            raise UnreadableFile(
                f"{path}: no results ({SUFFIX}) in this folder",
                remedy="Give a folder that mapgauge evaluate -o wrote, or files",
            )
        files += inside
    return files


def one_results(argument: str, path: Path) -> Path:
    """Return the file of results that a path stands for, and refuse a folder with several."""
    files = each_results([path])
    if len(files) > 1:
        names = ", ".join(file.name for file in files[:3]) + (", ..." if len(files) > 3 else "")
        refuse(argument, f"this command takes one file of results, and {path} has {len(files)}: {names}")
    return files[0]


def load_all(paths: Sequence[Path], names: Sequence[str]) -> list["Results"]:
    """Load files of results, and print their errors on stderr. Warnings were printed when they were evaluated.

    For other files, the error says what they are and what to do. The files that results name are inputs of the command,
    also if it does not read them.
    """
    from mapgauge import load_results
    from mapgauge.io.files.source import is_plain_file

    for path in paths:
        if is_plain_file(path) and not is_results(path):
            raise UnreadableFile(f"{path}: {_what(path)}, expected results ({SUFFIX})", remedy=_EVALUATE)
    methods = [load_results(path) for path in paths]
    check_named(named_by(methods))
    owners: dict[Finding, list[str]] = {}
    for name, method in zip(names, methods, strict=True):
        for finding in dict.fromkeys(method.findings):
            owners.setdefault(finding, []).append(name)
    findings = sorted(owners, key=lambda finding: finding.level != "error")
    if len(methods) > 1:
        findings = [replace(row, message=f"{', '.join(owners[row])}: {row.message}") for row in findings]
    errors = [finding for finding in findings if finding.level == "error"]
    warn_of(errors)
    distrust(errors)
    return methods


def named_by(methods: Sequence["Results"]) -> list[Path]:
    """Return the files that results name."""
    from mapgauge.results.saving import named_files

    return [path_or_url(name) for method in methods for name in named_files(method.inputs, method.origin)]


def _what(path: Path) -> str:
    """Return what a file that is not results holds, in words."""
    from mapgauge.io import recognise
    from mapgauge.io.files.places import is_dataset
    from mapgauge.io.files.source import Content

    content = Content(path)  # an empty file is named as such
    try:
        if is_dataset(path):
            about = ""
        else:
            about = recognise(content).about
    except MapgaugeError:
        return "this is not a file that mapgauge knows"
    side = next((side for side in ("predictions", "truth") if about.startswith(side)), "predictions or truth")
    if side == "truth":
        return "this is truth"
    return f"these are {side}"


def check_one_protocol(names: Sequence[str], methods: Sequence["Results"]) -> None:
    """Refuse results of several protocols, and name the results of each."""
    from mapgauge.protocols import full_name
    from mapgauge.results.differences import not_comparable

    by_protocol: dict[str, list[str]] = {}
    for name, method in zip(names, methods, strict=True):
        by_protocol.setdefault(full_name(method.protocol), []).append(name)
    if len(by_protocol) > 1:
        listed = "; ".join(f"{protocol}: {', '.join(group)}" for protocol, group in by_protocol.items())
        first, second = (methods[names.index(group[0])] for group in list(by_protocol.values())[:2])
        raise InvalidInput(
            f"the results come from {len(by_protocol)} protocols and cannot be compared. {listed}. The first two "
            f"differ in {not_comparable(first, second)}",
            remedy="Name the files of one protocol",
        )
