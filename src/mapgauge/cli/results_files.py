"""Files of results on the command line: which files are results, and the results in a folder."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mapgauge.cli.inputs import options_of
from mapgauge.cli.output import distrust, warn_of
from mapgauge.cli.parsing import path_or_url, place, refuse
from mapgauge.cli.targets import SUFFIX, check_named
from mapgauge.errors import InvalidInput, MapgaugeError, UnreadableFile
from mapgauge.io.files.writing import save

if TYPE_CHECKING:
    from mapgauge.frames.findings import Finding
    from mapgauge.results.results import Results

_EVALUATE = f"Run evaluate first: mapgauge evaluate PREDICTIONS TRUTH -o RESULTS{SUFFIX}"
ORDER = ".mapgauge-order"  # lists the results in a folder in the order in which they were given
_LARGEST = 2**20  # bytes of that file
_ZIP = b"PK\x03\x04"  # the first bytes of a file of results


def is_results(file: Path) -> bool:
    """Whether a path is a file of results, or the work folder of a streamed evaluation."""
    from mapgauge.io.files.source import is_plain_file

    try:
        if file.is_dir():
            from mapgauge.results.folder import is_folder

            return is_folder(file)
        if not is_plain_file(file):  # opening a pipe would wait for its writer
            return False
        with file.open("rb") as stream:
            return stream.read(len(_ZIP)) == _ZIP
    except OSError:
        return False  # reading the file raises a better error


def all_results(paths: Sequence[Path]) -> bool:
    """Whether all paths are results or folders of results. Results together with other files are refused."""
    there = [is_results(path) or _is_folder_of_results(path) for path in paths]
    if any(there) and not all(there):
        results, other = paths[there.index(True)], paths[there.index(False)]
        check_there(other)
        refuse("RESULTS", f"give results or predictions and truth, not both. {results} is results, {other} is not")
    return all(there)


def check_there(path: Path) -> None:
    """Raise an error for a path that does not exist, which is no URL."""
    from mapgauge.io.files.source import Content

    if place(path) is path and not path.exists():
        Content(path)


def _is_folder_of_results(path: Path) -> bool:
    from mapgauge.io.files.places import is_dataset

    return path.is_dir() and not is_dataset(place(path)) and bool(_inside(path))


def keep_order(written: Sequence[Path | None]) -> None:
    """Keep the order of the results that a command wrote into one folder. Older results come before them."""
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
        found = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return []
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def _inside(folder: Path) -> list[Path]:
    """Return the files of results and the work folders in a folder, in the order of ``evaluate``, others by name."""
    found = [file for file in folder.iterdir() if not file.name.startswith(".")]
    mine = [
        file for file in found if (file.suffix == SUFFIX and file.is_file()) or (file.is_dir() and is_results(file))
    ]
    place = {name: k for k, name in enumerate(_order(folder))}
    return sorted(mine, key=lambda file: (place.get(file.name, len(place)), file.name))


def each_results(paths: Sequence[Path]) -> list[Path]:
    """Return the files of results. A folder stands for all results in it, in the order of ``evaluate``."""
    found: list[Path] = []
    for path in paths:
        unable = [key for key in options_of(path) if key not in ("name", "predictions", "truth")]
        if unable:
            refuse(f"{path},{unable[0]}", f"results have no option {unable[0]!r}, only name, predictions and truth")
        if not path.is_dir() or is_results(path):
            found.append(path)
            continue
        inside = _inside(path)
        if not inside:
            raise UnreadableFile(
                f"{path}: no results ({SUFFIX}) in this folder",
                remedy="Give a folder that mapgauge evaluate -o wrote, or files",
            )
        found += inside
    return found


def load_all(paths: Sequence[Path], names: Sequence[str]) -> list["Results"]:
    """Load files of results, and print their errors and warnings on stderr.

    For other files, the error says what they are and what to do. The files that results name are inputs of the command,
    also if it does not read them.

    Args:
        paths: The files.
        names: Their names in the output.
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
    found = sorted(owners, key=lambda finding: finding.level != "error")
    several = len(methods) > 1
    warn_of([replace(one, message=f"{', '.join(owners[one])}: {one.message}") if several else one for one in found])
    distrust(owners)
    return methods


def named_by(methods: Sequence["Results"]) -> list[Path]:
    """Return the files that results name."""
    from mapgauge.results.replay import named_files

    return [path_or_url(name) for method in methods for name in named_files(method.inputs, method.origin)]


def _what(path: Path) -> str:
    """Return what a file that is not results holds, in words."""
    from mapgauge.io import recognise
    from mapgauge.io.files.places import is_dataset
    from mapgauge.io.files.source import Content

    try:
        about = "" if is_dataset(path) else recognise(Content(path)).about
    except MapgaugeError:
        return "this is not a file that mapgauge knows"
    side = next((side for side in ("predictions", "truth") if about.startswith(side)), "predictions or truth")
    return "this is truth" if side == "truth" else f"these are {side}"


def check_one_protocol(names: Sequence[str], methods: Sequence["Results"]) -> None:
    """Refuse results of several protocols, and name the results of each."""
    from mapgauge.protocols import full_name
    from mapgauge.results.comparison import differing

    by_protocol: dict[str, list[str]] = {}
    for name, method in zip(names, methods, strict=True):
        by_protocol.setdefault(full_name(method.protocol), []).append(name)
    if len(by_protocol) > 1:
        listed = "; ".join(f"{protocol}: {', '.join(found)}" for protocol, found in by_protocol.items())
        one, other = (methods[names.index(found[0])].protocol.to_dict() for found in list(by_protocol.values())[:2])
        raise InvalidInput(
            f"the results come from {len(by_protocol)} protocols and cannot be compared. {listed}. The first two "
            f"differ in {differing(one | {'name': ''}, other | {'name': ''})}",
            remedy="Name the files of one protocol",
        )
