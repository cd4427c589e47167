"""Files on the command line: ``FILE,KEY=VALUE,...``, with settings of the reader after the name, and their reading.

``nuscmap_results.json,rotate=-90,name=MapTR`` is a file with two options. A path that exists is never taken for
options. Quotes protect commas, equals signs, colons and slashes: ``x.json,name="MapTR, tiny"``. ``file_grammar`` has
the grammar.
"""

import atexit
import math
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mapgauge.cli.file_grammar import Text, split
from mapgauge.cli.output import warn
from mapgauge.cli.parsing import ALL, GivenPath, Texts, listed, path_or_url, place, refuse, valid
from mapgauge.errors import InvalidInput, UnreadableFile
from mapgauge.words import did_you_mean

if TYPE_CHECKING:
    from mapgauge.frames.map_frames import MapFrames
    from mapgauge.io.files.source import Content

_exists = os.path.exists  # unlike ``Path.exists``, it accepts every name
AUTO = "auto"  # the angle that turns predictions to the axes of the truth, or the projection of the truth
STDIN = ("-", "/dev/stdin")  # names of the standard input
_PATHS = ("tracks", "scenes", "tags", "poses", "predictions", "truth")  # options that name another file
_SCENES = "expected a JSON object from token to scene, or frames with scenes"


def input_file(text: str) -> GivenPath:
    """Return a file from the command line. ``options_of`` returns its options.

    The longest beginning of the text that is an existing file is the file, and the rest are its options.

    >>> file = input_file("s3://runs/M.parquet,rotate=-90,rename=contours:boundary,certain")
    >>> file.url, options_of(file)
    ('s3://runs/M.parquet', {'rotate': -90.0, 'rename': {'contours': 'boundary'}, 'certain': True})
    >>> options_of(input_file('M.json,name="A, B",tracks="/data/a,b.pkl"'))
    {'name': 'A, B', 'tracks': '/data/a,b.pkl'}
    """
    name, items = split(text, paths=_PATHS, exists=_exists)
    options = _parse(name, items)
    if name in STDIN:
        path = _standard_input(options)
    else:
        path = path_or_url(name)
    path.given = text
    path.options = options
    return path


def _standard_input(options: Mapping[str, Any]) -> GivenPath:
    """Return a file with the bytes of the standard input, which can be read only once. It is removed at exit."""
    if "format" not in options:
        refuse(STDIN[0], "the format of the standard input must be named: -,format=geojson")
    data = sys.stdin.buffer.read()
    if not data:
        refuse(STDIN[0], "the standard input is empty. It can be read only once")
    folder = Path(tempfile.mkdtemp(prefix="mapgauge-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    file = folder / "standard-input"
    file.write_bytes(data)
    return GivenPath(file)


def split_options(text: str) -> tuple[str, dict[str, str]]:
    """Return the name of a file to write, and the options of its format.

    >>> split_options('result.pkl,points=float16,authors="A, B"')
    ('result.pkl', {'points': 'float16', 'authors': 'A, B'})
    """
    name, items = split(text, paths=_PATHS, exists=_exists)
    options = {}
    for item in items:
        key, _, value = item.partition("=")
        options[key.letters] = value.letters
    return name, options


def options_of(path: Path) -> Mapping[str, Any]:
    """Return the options that were given with a file."""
    options: Mapping[str, Any] = getattr(path, "options", {})
    return options


def named_file(path: Path, key: str) -> Path | None:
    """Return another file that an option of a file names. A bare name is a file beside that file."""
    given = options_of(path).get(key)
    if given is None:
        return None
    if "://" in given:
        return path_or_url(given)
    other = Path(given)
    if len(other.parts) != 1:
        return other
    sibling: Path = path.parent / given
    if _exists(given) and not _exists(str(sibling)):
        return other
    return sibling


def files_of(path: Path) -> list[Path]:
    """Return all other files that the options of a file name."""
    named = [named_file(path, key) for key in _PATHS]
    return [other for other in named if other is not None]


def is_results(file: Path) -> bool:
    """Whether a path is a file of results, or the work folder of a streamed evaluation."""
    from mapgauge.io.files.source import RESULTS_HEAD, begins_as_results, is_plain_file

    try:
        if file.is_dir():
            from mapgauge.results.folder import is_folder

            return is_folder(file)
        if not is_plain_file(file):  # opening a pipe would wait for its writer
            return False
        with file.open("rb") as stream:
            head = stream.read(RESULTS_HEAD)
        # Damaged results are results too: reading them says what is wrong.
        return begins_as_results(head) or file.suffix == ".mg"
    except OSError:
        return False  # reading the file raises a better error


def check_unnamed(*paths: Path) -> None:
    """Refuse the option ``name`` in a command that does not print the names of its files."""
    for path in paths:
        if "name" in options_of(path):
            refuse(f"{path},name", "has no effect in this command, which compares no files")


def _parse(file: str, items: Sequence[Text]) -> dict[str, Any]:
    """Return the values of the options of a file. Options with several values are joined."""
    options: dict[str, Any] = {}
    for item in items:
        where = f"{file},{item.letters}"
        key, value = _parsed(where, item)
        before = options.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            value = before | value
        elif before is not None and before != value:
            refuse(where, f"{key} is given twice")
        options[key] = value
    return options


def _parsed(where: str, item: Text) -> tuple[str, Any]:
    """Return the name and the value of one option."""
    before, has_value, value = item.partition("=")
    key = before.letters
    if key not in _KEYS:
        known = ", ".join(key if is_flag else f"{key}=" for key, is_flag in FILE_KEYS.items())
        hint = did_you_mean(key, FILE_KEYS)
        refuse(where, f"the file has no option {key!r}. Options of a file: {known}{hint}")
    if FILE_KEYS[key] and has_value:
        refuse(where, f"expected {key}")
    if not FILE_KEYS[key] and not has_value:
        refuse(where, f"expected {key}=VALUE")
    return key, _KEYS[key](where, value)


def _flag(where: str, value: Text) -> bool:
    return True


def _text(where: str, value: Text) -> str:
    if not value.letters:
        refuse(where, "expected a value after =")
    return value.letters


def _number(where: str, value: Text) -> float:
    try:
        number = float(value.letters)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        refuse(where, f"expected a number, got {value.letters!r}")
    return number


def _angle(where: str, value: Text) -> float | str:
    if value.letters == AUTO:
        return AUTO
    return _number(where, value)


def _share(where: str, value: Text) -> float:
    number = _number(where, value)
    if not 0 <= number <= 1:
        refuse(where, f"expected a number from 0 to 1, got {value.letters!r}")
    return number


def _least(where: str, value: Text) -> float | dict[str, float]:
    """Return a confidence, or the confidence of one class."""
    name, colon, least = value.rpartition(":")
    share = _share(where, least)
    if colon:
        return {name.letters: share}
    return share


def _choice(*choices: str) -> Callable[[str, Text], str]:
    def choose(where: str, value: Text) -> str:
        if value.letters not in choices:
            refuse(where, f"expected {' or '.join(choices)}, got {value.letters!r}")
        return value.letters

    return choose


def _pair(expected: str) -> Callable[[str, Text], dict[str, str]]:
    def divide(where: str, value: Text) -> dict[str, str]:
        key, _, target = value.partition(":")
        if not key.letters or not target.letters:
            refuse(where, f"expected {expected}, got {value.letters!r}")
        return {key.letters: target.letters}

    return divide


def _format(where: str, value: Text) -> str:
    from mapgauge.io import format_named

    return valid(where, format_named, value.letters).name


_KEYS: Mapping[str, Callable[[str, Text], Any]] = {
    "name": _text,
    "format": _format,
    "rotate": _angle,
    "forward": _choice("x", "y"),
    "rename": _pair("rename=OLD:NEW"),
    "confidence": _least,
    "certain": _flag,
    "planar": _flag,
    "unshrink": _flag,
    "properties": _pair("properties=NAME:FOUND, such as properties=frame:sample_token"),
    "tracks": _text,
    "scenes": _text,
    "tags": _text,
    "poses": _text,
    "project": _text,
    "predictions": _text,
    "truth": _text,
    "degenerate": _choice("strict", "drop"),
}

FILE_KEYS = {key: parse is _flag for key, parse in _KEYS.items()}  # all keys, and whether they have no value
RESULTS_KEYS = ("name", "tags", "predictions", "truth")  # keys of a file of results


@dataclass(frozen=True, slots=True)
class InputReader:
    """How files are read that do not say it themselves."""

    workers: int | None = None  # number of threads; None for one per processor

    def predictions(self, path: Path, opened: "Content | None" = None) -> "MapFrames":
        """Read a file of predictions, which may have been opened before."""
        return self._read(path, opened=opened)

    def predictions_ahead(self, path: Path, prepare: Callable[[], None]) -> "Callable[[], MapFrames]":
        """Begin to read a file of predictions in a thread, if there may be several. Returns a function that waits.

        Errors are raised by that function. Bytes are read while ``prepare`` imports and compiles what reading needs.
        """
        from concurrent.futures import ThreadPoolExecutor

        from mapgauge.io.files.places import opened
        from mapgauge.io.files.source import Content

        if self.workers == 1:
            prepare()
            return partial(self.predictions, path)
        contents = [content for content in [opened(place(path))] if isinstance(content, Content)]  # none for a data set
        pool = ThreadPoolExecutor(1)
        for content in contents:
            pool.submit(getattr, content, "is_parquet")  # reads a file of any other format
        prepare()
        # The content is not kept here: its bytes are not needed once they are read.
        reading = pool.submit(lambda: self.predictions(path, contents.pop() if contents else None))
        pool.shutdown(wait=False)
        return reading.result

    def truth(self, path: Path) -> "MapFrames":
        """Read a file of truth."""
        options = options_of(path)
        unable = [key for key in ("name", "confidence", "certain") if key in options]
        if options.get("rotate") == AUTO:
            unable.append("rotate")
        if unable:
            refuse(f"{path},{unable[0]}", f"truth has no option {unable[0]!r}, only predictions have it")
        return self._read(path, truth=True)

    def each(
        self, names: Sequence[str], predictions: Sequence[Path], truth: Path, classes: Texts = None
    ) -> "Iterator[tuple[str, MapFrames, MapFrames]]":
        """Yield the name, the predictions and the truth of each method. The truth is read once."""
        check_files(*predictions, truth)
        y = self.truth(truth)
        check_not_poses(predictions, truth, y)
        for name, path in zip(names, predictions, strict=True):
            x = turned(path, self.predictions(path), y)
            for finding in x.findings:
                if finding.code == "axes-corrected":  # a note, which commands that only draw do not print
                    warn(finding.message)
            check_classes(classes, x.name, y.classes, x.classes)
            yield name, x, y

    def alone(self, path: Path) -> "MapFrames":
        """Read a file without truth."""
        if options_of(path).get("rotate") == AUTO:
            refuse(f"{path},rotate={AUTO}", "needs truth, whose axes are taken. Give an angle: rotate=-90")
        frames = self.predictions(path)
        if options_of(path).get("project") == AUTO:
            return frames.project(AUTO)
        return frames

    def poses(self, path: Path) -> "MapFrames | Path":
        """Return frames with poses if the file has options; the file if not, which can also be a folder."""
        if options_of(path):
            return self.truth(path)
        return path

    def _read(self, path: Path, *, truth: bool = False, opened: "Content | None" = None) -> "MapFrames":
        """Read a file as its options say."""
        from mapgauge.io import DECLARED, FORMATS, read

        options = options_of(path)
        for key in ("predictions", "truth"):
            if key in options:
                refuse(f"{path},{key}", f"only results have the option {key!r}")
        how: dict[str, Any] = {key: options[key] for key in ("unshrink", "properties", "project") if key in options}
        if options.get("project") == AUTO and not truth:
            how["project"] = DECLARED  # ``turned`` projects them as the truth
        tracks = named_file(path, "tracks")
        if tracks is not None:
            how["tracks"] = tracks
        how["degenerate"] = options.get("degenerate", "strict")
        how["workers"] = self.workers
        frames = read(opened or place(path), options.get("format"), **how)
        row = FORMATS.get(frames.format)
        if truth and row is not None and row.holds_both:  # `read` returned the predictions
            frames = read(path, frames.format, part="truth", **how)
        return _changed(path, frames)


def _changed(path: Path, frames: "MapFrames") -> "MapFrames":
    """Return frames that were read, changed as the options of their file say."""
    options = options_of(path)
    frames = frames.rename(options.get("rename", {}))
    if "planar" in options and frames.dimension == 3:
        frames = frames.planar()
    if "confidence" in options:
        frames = frames.filter(options["confidence"])
    if "certain" in options:
        frames = frames.with_confidence(1)
    if "forward" in options:
        frames = frames.with_forward(options["forward"])
    poses = named_file(path, "poses")
    if poses is not None:
        from mapgauge.truth.poses import with_poses

        frames = with_poses(frames, poses)
    scenes = named_file(path, "scenes")
    if scenes is not None:
        from mapgauge.scoring.prepare import with_scenes

        frames = with_scenes(frames, read_scenes(scenes), str(scenes))
    angle = options.get("rotate", 0.0)
    if angle in (0.0, AUTO):
        return frames
    return frames.rotate(angle)


def turned(path: Path, predictions: "MapFrames", truth: "MapFrames") -> "MapFrames":
    """Return predictions in the projection and on the axes of the truth, if the file says so.

    ``project=auto`` needs truth that is projected. ``rotate=auto`` turns them if it is certain how.
    """
    if options_of(path).get("project") == AUTO:
        from mapgauge.frames.history import read_with

        if not truth.crs:
            raise InvalidInput(
                f"{path},project={AUTO}: the truth has no projection", remedy=f"Write TRUTH,project={AUTO}"
            )
        history = read_with(predictions.history, project=truth.crs)
        predictions = replace(predictions.project(truth.crs), history=history)
    if options_of(path).get("rotate") != AUTO:
        return predictions
    from mapgauge.checks.coordinates import with_axes_of

    return with_axes_of(predictions, truth)


def check_classes(classes: Texts, name: str, *sides: Sequence[str]) -> None:
    """Refuse a class that neither side has. Without this check, a misspelt class would be a class without values."""
    known = dict.fromkeys(known for side in sides for known in side)
    unknown = [name for name in listed(classes) if name not in known and listed(classes) != [ALL]]
    if unknown:
        raise InvalidInput(
            f"{name}: the class {', '.join(unknown)} is neither in this file nor in the truth; "
            f"available: {', '.join(known) or 'none'}{did_you_mean(unknown[0], known)}"
        )


def check_files(*paths: Path) -> None:
    """Refuse missing files and results before the first file is read, because reading can take long."""
    from mapgauge.io.files.places import is_dataset
    from mapgauge.io.files.source import Content

    for path in paths:
        if is_results(path):
            raise InvalidInput(
                f"{path}: these are results, expected predictions or truth",
                remedy="Results are the input of mapgauge compare, why, frames, show, plot, report, paper and inspect",
            )
        if not is_dataset(place(path)):
            Content(path)


def check_not_poses(predictions: Sequence[Path], path: Path, truth: "MapFrames") -> None:
    """Refuse poses in the place of the truth. With several files before them, the last of these is the truth."""
    if truth.format != "poses":
        return
    if len(predictions) > 1:
        meant = getattr(predictions[-1], "given", str(predictions[-1]))
    else:
        meant = "TRUTH"
    raise InvalidInput(
        f"{path}: this is a file of poses, expected the truth, which is the last file",
        remedy=f"Poses are an option of the truth: {meant},poses={path}",
    )


def read_scenes(path: Path) -> dict[str, str]:
    """Return the scene of each token, from a JSON object or from frames of any format that have scenes."""
    import msgspec

    from mapgauge.decoding import decode_json
    from mapgauge.io import read
    from mapgauge.io.files.json_documents import parse_json
    from mapgauge.io.files.places import is_dataset
    from mapgauge.io.files.source import Content

    wrong = None
    if not is_dataset(place(path)):
        try:
            content = Content(path)
            scenes = decode_json(content.data, dict[str, str])
            parse_json(content.data, content.error)  # refuses a token that occurs twice
            return scenes
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            wrong = f"{path}: {_SCENES}: {error}"
    try:
        frames = read(place(path))
    except UnreadableFile as error:
        if wrong is None:
            raise
        raise UnreadableFile(wrong) from error
    if frames.scenes is None:
        raise UnreadableFile(f"{path}: {_SCENES}, found frames without scenes")
    return dict(zip(frames.tokens, frames.scenes, strict=True))
