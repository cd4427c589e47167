"""Reads files of predictions and truth as the options ask for it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from mapgauge.cli.inputs import options_of, tracks_of
from mapgauge.cli.output import warn
from mapgauge.cli.parsing import Texts, listed, pairs, place, refuse
from mapgauge.cli.results_files import is_results
from mapgauge.decoding import decode_json
from mapgauge.errors import InvalidInput, UnreadableFile

if TYPE_CHECKING:
    from mapgauge.frames.map_frames import MapFrames
    from mapgauge.io.files.source import Content

_OF_FORMATS = ("unshrink", "properties")  # options that only some formats have
_SCENES = "expected a JSON object from token to scene, or frames with scenes"


@dataclass(frozen=True, slots=True)
class Reading:
    """The options that say how files are read."""

    format: str | None = None
    truth_format: str | None = None
    rotate: float = 0.0  # of the predictions, in degrees
    degenerate: str = "strict"
    rename: Mapping[str, str] = field(default_factory=dict)  # of the predictions
    rename_truth: Mapping[str, str] = field(default_factory=dict)
    planar: bool = False
    certain: bool = False
    auto_axes: bool = False
    unshrink: bool = False
    properties: Mapping[str, str] = field(default_factory=dict)  # names in the file, by name
    # The number of threads; None for one per processor. It does not change what is read.
    workers: int | None = field(default=None, compare=False)

    @classmethod
    def of(cls, context: typer.Context) -> "Reading":
        """Take the values from the options of a command. Options that the command lacks keep their defaults."""
        given = {known.name: context.params[known.name] for known in fields(cls) if known.name in context.params}
        for name in ("rename", "rename_truth"):
            given[name] = pairs(f"--{name.replace('_', '-')}", given.get(name))
        given["properties"] = pairs("--properties", given.get("properties"), "NAME=FOUND")
        return cls(**given)

    def check(self, *paths: Path) -> None:
        """Refuse missing files, results, and options that no file has, before the first file is read."""
        check_files(*paths)
        for option in _OF_FORMATS:
            if getattr(self, option) and not any(option in _options_of_format(path, self.format) for path in paths):
                from mapgauge.io import FORMATS

                able = ", ".join(row.name for row in FORMATS.values() if option in row.options)
                refuse(f"--{option}", f"only files of the format {able} have this option, and no such file is given")

    def predictions(self, path: Path, opened: "Content | None" = None) -> "MapFrames":
        """Read a file of predictions. Options of the file come before those of the command.

        Args:
            path: The file, with its options.
            opened: The same file, if it was opened before.
        """
        common = {"format": self.format, "rotate": self.rotate, "rename": self.rename, "certain": self.certain}
        return self._read(path, common, opened=opened)

    def predictions_ahead(self, path: Path, prepare: Callable[[], None]) -> "Callable[[], MapFrames]":
        """Begin to read a file of predictions in a thread, if there may be several. Returns a function that waits.

        Errors are raised by that function.

        Args:
            path: The file, with its options.
            prepare: A function that imports and compiles what reading needs. The bytes of the file are read meanwhile.
        """
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
        """Read a file of truth. Options of the file come before those of the command."""
        unable = [key for key in ("name", "confidence", "certain") if key in options_of(path)]
        if unable:
            refuse(f"{path},{unable[0]}", f"truth has no option {unable[0]!r}, only predictions have it")
        return self._read(path, {"format": self.truth_format, "rename": self.rename_truth}, truth=True)

    def beside(self, predictions: "MapFrames", truth: "MapFrames") -> "MapFrames":
        """Return the predictions on the axes of the truth, if this was asked for and it is certain how."""
        if not self.auto_axes:
            return predictions
        from mapgauge.checks.coordinates import with_axes_of

        return with_axes_of(predictions, truth)

    def each(
        self, names: Sequence[str], predictions: Sequence[Path], truth: Path, classes: Texts
    ) -> "Iterator[tuple[str, MapFrames, MapFrames]]":
        """Yield the name, the predictions and the truth of each method. The truth is read once."""
        self.check(*predictions, truth)
        y = self.truth(truth)
        for name, path in zip(names, predictions, strict=True):
            x = self.beside(self.predictions(path), y)
            for finding in x.findings:
                if finding.code == "axes-corrected":  # a note, which commands that only draw do not print
                    warn(finding.message)
            check_classes(classes, x.name, y.classes, x.classes)
            yield name, x, y

    def _read(
        self, path: Path, common: Mapping[str, Any], *, truth: bool = False, opened: "Content | None" = None
    ) -> "MapFrames":
        """Read a file.

        Args:
            path: The file, with its options.
            common: The options of the command for this side.
            truth: Whether it is the truth.
            opened: The same file, if it was opened before.
        """
        from mapgauge.io import read

        how = {"planar": self.planar, "degenerate": self.degenerate, **common, **options_of(path)}
        special = {key: value for key in _OF_FORMATS if (value := options_of(path).get(key))}
        asked = {key: value for key in _OF_FORMATS if key not in special and (value := getattr(self, key))}
        if asked:  # options of the command are for all files that have them
            able = _options_of_format(path, how["format"])
            special |= {key: value for key, value in asked.items() if key in able}
        if (tracks := tracks_of(path)) is not None:
            special["tracks"] = tracks
        special["workers"] = self.workers
        frames = read(opened or place(path), how["format"], degenerate=how["degenerate"], **special)
        if truth and frames.format == "vectormapnet":  # such a file holds both sides; `read` returns the predictions
            frames = read(path, frames.format, degenerate=how["degenerate"], part="truth", **special)
        frames = frames.rename(how["rename"])
        if how["planar"] and frames.dimension == 3:
            frames = frames.planar()
        if how.get("certain"):
            frames = frames.with_confidence(1)
        if "confidence" in how:
            frames = frames.filter(how["confidence"])
        if "forward" in how:
            frames = frames.with_forward(how["forward"])
        return frames.rotate(how["rotate"]) if how.get("rotate") else frames


def _options_of_format(path: Path, format: str | None) -> tuple[str, ...]:
    """Return the options that only the format of a file has."""
    from mapgauge.io import format_named, recognise
    from mapgauge.io.files.places import is_dataset
    from mapgauge.io.files.source import Content

    if is_dataset(place(path)):
        return ()
    named = options_of(path).get("format", format)
    return (recognise(Content(path)) if named is None else format_named(named)).options


def check_classes(classes: Texts, name: str, *sides: Sequence[str]) -> None:
    """Refuse a class that neither side has. Without this check, a misspelt class would be a class without values."""
    known = dict.fromkeys(known for side in sides for known in side)
    unknown = [name for name in listed(classes) if name not in known]
    if unknown:
        raise InvalidInput(
            f"{name}: the class {', '.join(unknown)} is neither in this file nor in the truth; "
            f"available: {', '.join(known) or 'none'}"
        )


def check_files(*paths: Path) -> None:
    """Refuse missing files and results before the first file is read, because reading can take long."""
    from mapgauge.io.files.places import is_dataset
    from mapgauge.io.files.source import Content

    for path in paths:
        if is_results(path):
            raise InvalidInput(
                f"{path}: these are results, expected predictions or truth",
                remedy="Results are the input of mapgauge compare, plot, show, report, paper and inspect",
            )
        if not is_dataset(place(path)):
            Content(path)


def read_scenes(path: Path) -> dict[str, str]:
    """Return the scene of each token, from a JSON object or from frames of any format that have scenes."""
    import msgspec

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
