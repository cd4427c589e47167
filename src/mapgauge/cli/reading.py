"""Reads files of predictions and truth. The options after the name of a file say how it is read."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mapgauge.cli.inputs import AUTO, is_results, named_file, options_of
from mapgauge.cli.output import warn
from mapgauge.cli.parsing import Texts, listed, place, refuse
from mapgauge.decoding import decode_json
from mapgauge.errors import InvalidInput, UnreadableFile

if TYPE_CHECKING:
    from mapgauge.frames.map_frames import MapFrames
    from mapgauge.io.files.source import Content

_OF_FORMATS = ("unshrink", "properties")  # options that only some formats have
_OF_RESULTS = ("predictions", "truth")
_NOT_OF_TRUTH = ("name", "confidence", "certain")
_SCENES = "expected a JSON object from token to scene, or frames with scenes"


@dataclass(frozen=True, slots=True)
class Reading:
    """How files are read that do not say it themselves."""

    format: str | None = None  # of the predictions, or of the only input
    workers: int | None = None  # number of threads; None for one per processor

    def predictions(self, path: Path, opened: "Content | None" = None) -> "MapFrames":
        """Read a file of predictions.

        Args:
            path: The file, with its options.
            opened: The same file, if it was opened before.
        """
        return self._read(path, self.format, opened=opened)

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
        """Read a file of truth."""
        options = options_of(path)
        unable = [key for key in _NOT_OF_TRUTH if key in options] or ["rotate"] * (options.get("rotate") == AUTO)
        if unable:
            refuse(f"{path},{unable[0]}", f"truth has no option {unable[0]!r}, only predictions have it")
        return self._read(path, None, truth=True)

    def each(
        self, names: Sequence[str], predictions: Sequence[Path], truth: Path, classes: Texts = None
    ) -> "Iterator[tuple[str, MapFrames, MapFrames]]":
        """Yield the name, the predictions and the truth of each method. The truth is read once."""
        check_files(*predictions, truth)
        y = self.truth(truth)
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
        return self.predictions(path)

    def _read(
        self, path: Path, format: str | None, *, truth: bool = False, opened: "Content | None" = None
    ) -> "MapFrames":
        """Read a file. Its own format comes before the given one."""
        from mapgauge.io import read

        how = {"format": format, "degenerate": "strict", **options_of(path)}
        for key in _OF_RESULTS:
            if key in how:
                refuse(f"{path},{key}", f"only results have the option {key!r}")
        special: dict[str, Any] = {key: how[key] for key in _OF_FORMATS if key in how}
        if (tracks := named_file(path, "tracks")) is not None:
            special["tracks"] = tracks
        special |= {"degenerate": how["degenerate"], "workers": self.workers}
        frames = read(opened or place(path), how["format"], **special)
        if truth and frames.format == "vectormapnet":  # such a file holds both sides; `read` returns the predictions
            frames = read(path, frames.format, part="truth", **special)
        frames = frames.rename(how.get("rename", {}))
        if "planar" in how and frames.dimension == 3:
            frames = frames.planar()
        if "certain" in how:
            frames = frames.with_confidence(1)
        if "confidence" in how:
            frames = frames.filter(how["confidence"])
        if "forward" in how:
            frames = frames.with_forward(how["forward"])
        if (scenes := named_file(path, "scenes")) is not None:
            from mapgauge.evaluation.prepare import with_scenes

            frames = with_scenes(frames, read_scenes(scenes))
        angle = how.get("rotate", 0.0)
        return frames.rotate(angle) if angle and angle != AUTO else frames


def turned(path: Path, predictions: "MapFrames", truth: "MapFrames") -> "MapFrames":
    """Return predictions on the axes of the truth, if the file says ``rotate=auto`` and it is certain how."""
    if options_of(path).get("rotate") != AUTO:
        return predictions
    from mapgauge.checks.coordinates import with_axes_of

    return with_axes_of(predictions, truth)


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
