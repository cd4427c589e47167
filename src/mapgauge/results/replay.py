"""Reads the predictions and the truth of an evaluation again, as its results recorded it.

Only ``Results.with_data`` and the commands ``report`` and ``show`` do this, never the loading of results. What was read
is compared with the content hash of the results, so other data are never taken for the evaluated ones.
"""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from mapgauge.errors import InvalidInput, MapgaugeError, Remedy, UnreadableFile
from mapgauge.evaluation.prepare import Frames
from mapgauge.frames.content import has_content
from mapgauge.frames.history import READ, Step, arguments_of, replay
from mapgauge.frames.map_frames import MapFrames
from mapgauge.io import read
from mapgauge.io.files.places import is_url
from mapgauge.io.files.source import is_folder, is_plain_file
from mapgauge.results.summary import Input

_SIDES = ("predictions", "truth")
_LOCAL = ("file://", "local://")  # URLs of files on this machine
_GIVE = Remedy(
    "Pass predictions and truth to load_results or to with_data",
    "Run the command where the files are, or write results with their geometry: mapgauge evaluate ... --with-geometry. "
    "Else give the files after the name of the results: RESULTS,predictions=FILE,truth=FILE",
)


class _Way(NamedTuple):
    """A way to read one side."""

    path: str
    steps: tuple[Step, ...] | None  # the steps of the history; None to read the file without options


def read_again(
    inputs: tuple[Input, Input], given: tuple[Frames | None, Frames | None], origin: Path | None
) -> tuple[MapFrames, MapFrames]:
    """Return the predictions and the truth of an evaluation.

    Args:
        inputs: What the results recorded about both sides.
        given: Frames, or the path of a file that was moved. None for the recorded file.
        origin: The file of results. Relative paths are also searched for beside it.
    """
    name = str(origin or "these results")
    sides = list(zip(_SIDES, given, inputs, strict=True))
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(_side, *sides[1], origin, name)
        return _side(*sides[0], origin, name), reading.result()


def recorded_paths(recorded: Input, origin: Path | None) -> list[str]:
    """Return the paths at which the file of one side may be: as recorded, and beside the file of results."""
    path = recorded.name
    if recorded.history:
        path = str(recorded.history[0].arguments.get("path", path))
    return _places(path, origin) if path else []


def _places(path: str, origin: Path | None) -> list[str]:
    if is_url(path) or origin is None or Path(path).is_absolute():
        return [path]
    return list(dict.fromkeys([path, os.fspath(origin.parent / path)]))


def named_files(inputs: tuple[Input, Input], origin: Path | None) -> list[str]:
    """Return all files that results name: the files of both sides, and the files with their tracks."""
    paths = [path for recorded in inputs for path in recorded_paths(recorded, origin)]
    for recorded in inputs:
        options = recorded.history[0].arguments.get("options") if recorded.history else None
        tracks = options.get("tracks") if isinstance(options, dict) else None
        paths += [tracks] if isinstance(tracks, str) else []
    return [path for path in paths if "\0" not in path]


def _side(side: str, given: Frames | None, recorded: Input, origin: Path | None, name: str) -> MapFrames:
    if not recorded.hash:
        raise InvalidInput(f"{name}: the {side} cannot be checked, because the results have no hash of them")
    if isinstance(given, MapFrames):
        if not has_content(given, recorded.hash):
            raise _wrong_side(side, recorded, name)
        return given
    paths = recorded_paths(recorded, origin) if given is None else [os.fspath(given)]
    if not paths:
        raise InvalidInput(f"{name}: the {side} came from memory, not from a file", remedy=_GIVE)
    if given is None and is_url(paths[0]) and not paths[0].startswith(_LOCAL):
        raise InvalidInput(f"{name}: the {side} came from {paths[0]}. A URL is only read if it is given", remedy=_GIVE)
    failed: list[MapgaugeError] = []
    existing = [path for path in paths if given is not None or is_url(path) or is_plain_file(path) or is_folder(path)]
    if not existing:
        also_searched = f", neither here nor beside {name}" if len(paths) > 1 else ""
        raise UnreadableFile(f"{paths[0]}: no such file{also_searched}", remedy=_GIVE)
    for way in _ways(recorded, existing):
        try:
            frames = _read(way, origin)
        except MapgaugeError as error:
            failed.append(error)
            continue
        if has_content(frames, recorded.hash):
            return frames
        failed.append(_wrong_side(side, recorded, name) if given is not None else _changed(way.path, recorded, name))
    raise failed[0]


def _ways(recorded: Input, paths: list[str]) -> Iterator[_Way]:
    """Yield the ways to read a side, best first.

    A file without options is tried last: a moved file may have been converted.
    """
    if recorded.history:
        yield from (_Way(path, recorded.history) for path in paths)
    yield from (_Way(path, None) for path in paths)


def _read(way: _Way, origin: Path | None) -> MapFrames:
    if way.steps is None:
        # The evaluated data had no degenerate instances, or they were dropped. Dropping them gives the same content.
        return read(way.path, degenerate="drop")
    first, *steps = way.steps
    arguments = arguments_of(first)
    if first.name != READ:
        raise InvalidInput(f"the history begins with the step {first.name}, expected {READ}")
    known = arguments["classes"]
    try:
        classes = None if known is None else {int(number): str(name) for number, name in known.items()}
    except ValueError as error:
        raise InvalidInput(f"the step {READ} has classes without numbers: {error}") from error
    options = arguments["options"]
    if any(name in ("path", "format", "classes", "degenerate") for name in options):
        raise InvalidInput(f"the step {READ} has an option twice")
    if isinstance(tracks := options.get("tracks"), str):
        places = _places(tracks, origin)
        options = options | {"tracks": next(filter(is_plain_file, places), tracks)}
    frames = read(way.path, arguments["format"], classes=classes, degenerate=arguments["degenerate"], **options)
    return replay(frames, tuple(steps))


def _changed(path: str, recorded: Input, name: str) -> InvalidInput:
    if recorded.history is None:
        why = "or it was read or changed in a way that the results did not record"
    else:
        why = "or another file has this name"
    return InvalidInput(
        f"{path}: not the content that was evaluated in {name}. The file changed since, {why}", remedy=_GIVE
    )


def _wrong_side(side: str, recorded: Input, name: str) -> InvalidInput:
    wrong = "these are not the predictions that were" if side == _SIDES[0] else "this is not the truth that was"
    return InvalidInput(f"{name}: {wrong} evaluated ({recorded.name or 'from memory'})")
