"""``mapgauge inspect``: prints what is in files, as other commands do with their inputs."""

from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from mapgauge.cli import options as o
from mapgauge.cli.command import command
from mapgauge.cli.emit import Document, Line, Piece, Printing, emit
from mapgauge.cli.inputs import InputReader, check_files, check_unnamed, is_results, options_of
from mapgauge.cli.output import Table, distrust, exit_on, paint, printable, say, warn, warn_of
from mapgauge.cli.summary import frames_in_words, table_of
from mapgauge.errors import MapgaugeError
from mapgauge.frames.instances import without_boxes
from mapgauge.frames.lane_classes import LANE
from mapgauge.frames.links import SUCCESSOR
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import Polylines, survey
from mapgauge.typing import Flags
from mapgauge.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mapgauge.frames.findings import Finding
    from mapgauge.results.results import Results
    from mapgauge.results.values import Input


@dataclass(frozen=True, kw_only=True)
class InspectOptions(Printing):
    """The options of ``mapgauge inspect``."""

    files: Annotated[list[Path], o.files_argument("FILE", "One or more files of predictions, truth or results.")]
    json: o.JsonOption = False
    fail_on: o.FailOnOption = None
    quiet: o.QuietOption = False


@command
def inspect(options: InspectOptions) -> None:
    """Print what is in files.

    Prints the format, frames, classes, confidences, extents, and what the reader found. For results, prints the tables.
    """
    files = options.files
    check_unnamed(*files)
    if len(files) == 1:
        check_files(*_files_of_frames(files))
        read = [_inspected(files[0])]
    else:
        read = _inspected_if_possible(files)
    emit(options, Inspected(read, is_list=len(files) > 1, is_quiet=options.quiet))
    if options.quiet and options.form == "text":
        for one in read:
            warn_of(one.findings)
    distrust(chain.from_iterable(one.findings for one in read if isinstance(one, InspectedResults)))
    if len(read) < len(files):
        warn(f"{len(files) - len(read)} of {len(files)} files could not be read")
        raise typer.Exit(1)
    exit_on(options.fail_on, [finding for one in read for finding in one.findings])


def _inspected_if_possible(files: "Sequence[Path]") -> "list[InspectedFrames | InspectedResults]":
    """Return what is in several files. A file that cannot be read is a warning, and the others are read."""
    with suppress(MapgaugeError):  # a file that is missing is told below
        check_files(*_files_of_frames(files))
    read = []
    for file in files:
        try:
            read.append(_inspected(file))
        except MapgaugeError as error:
            warn(error.for_shell())
    return read


def _files_of_frames(files: "Sequence[Path]") -> list[Path]:
    """Return the files that are not read as results."""
    return [file for file in files if not _is_stored(file)]


def _is_stored(file: Path) -> bool:
    """Whether a file is read as results."""
    return "format" not in options_of(file) and is_results(file)


def _inspected(file: Path) -> "InspectedFrames | InspectedResults":
    """Return what is in a file."""
    from mapgauge import load_results
    from mapgauge.checks import findings_of_side
    from mapgauge.io import FORMATS

    if _is_stored(file):
        return InspectedResults(file, load_results(file))
    frames = InputReader().alone(file)
    # Parquet keeps the format that frames came from, which may be one of a plug-in that is not here.
    about = frames.format
    if frames.format in FORMATS:
        about += f": {FORMATS[frames.format].about}"
    return InspectedFrames(
        title=f"{paint(frames.name, 'bold')} ({about})",
        words=in_words(frames),
        contents=contents_of(frames),
        findings=findings_of_side(frames),
    )


@dataclass(frozen=True)
class InspectedFrames:
    """What is in a file of frames."""

    title: str
    words: "Sequence[str]"
    contents: dict[str, Any]
    findings: "Sequence[Finding]"

    def text(self) -> "Iterator[Piece]":
        """Return a title and a few lines."""
        yield Line(self.title, indent="  ")
        for line in self.words:
            yield Line(f"  {line}", indent="    ")

    def tables(self) -> "Iterator[Piece]":
        """Return nothing: frames have no tables."""
        yield from ()

    def to_dict(self) -> dict[str, Any]:
        """Return the contents and the findings."""
        return self.contents | {"findings": [asdict(finding) for finding in self.findings]}


@dataclass(frozen=True)
class InspectedResults:
    """What is in a file of results."""

    file: Path
    results: "Results"

    @property
    def findings(self) -> "Sequence[Finding]":
        """The findings that the results hold."""
        return self.results.findings

    def text(self) -> "Iterator[Piece]":
        """Return a title and the inputs."""
        from mapgauge.protocols import full_name

        protocol = printable(full_name(self.results.protocol))
        made = f"results of mapgauge {self.results.version}, protocol {protocol}"
        yield Line(f"{paint(str(self.file), 'bold')} ({made})")
        for side, read in zip(("predictions", "truth"), self.results.inputs, strict=True):
            yield Line(f"  {side}: {read.name or 'from memory'}, {_size(read)}")
        noted = {"date": self.results.date} | dict(self.results.metadata) | {"digest": self.results.digest}
        said = "; ".join(f"{key}: {value}" for key, value in noted.items() if value)
        if said:
            yield Line(f"  {printable(said)}", indent="    ")

    def tables(self) -> "Iterator[Piece]":
        """Return the tables of all metrics, and the number of frames."""
        for metric in self.results.metrics:
            yield table_of(metric, [self.results], [self.file.stem])
        yield Line(frames_in_words(self.results), indent="  ", gap=True)

    def to_dict(self) -> dict[str, Any]:
        """Return all values."""
        return {"name": self.file.stem} | self.results.to_dict()


@dataclass(frozen=True)
class Inspected(Document):
    """What is in some files."""

    files: "Sequence[InspectedFrames | InspectedResults]"
    is_list: bool  # whether several files were given
    is_quiet: bool  # whether findings are left out of the text

    def text(self) -> "Iterator[Piece]":
        """Return what is in each file, with the findings."""
        for k, file in enumerate(self.files):
            for first, piece in enumerate(file.text()):
                yield replace(piece, gap=True) if k and not first and isinstance(piece, Line) else piece
            if not self.is_quiet:
                for finding in file.findings:
                    yield Line(printable(finding.for_shell()), indent="  ", painted=finding.level)
            for number, table in enumerate(file.tables()):
                # Without findings, the first table follows the title.
                if self.is_quiet and number == 0 and isinstance(table, Table):
                    yield replace(table, gap=False)
                else:
                    yield table

    def to_dict(self) -> Any:
        """Return the document of the only file, or the list of those that could be read."""
        documents = [file.to_dict() for file in self.files]
        if self.is_list:
            return documents
        return documents[0]


_LIKELY = 0.5  # a link of a larger weight counts as predicted


def contents_of(frames: MapFrames) -> dict[str, Any]:
    """Return what frames hold, as plain values for JSON.

    >>> frames = MapFrames.of({"token": {"divider": [[[0.0, 0.0], [4.0, 0.0]]]}})
    >>> contents_of(frames)["extent"]
    {'x': [0.0, 4.0], 'y': [0.0, 0.0]}
    """
    lines = without_boxes(frames)  # boxes are in pixels
    tracks = None
    if frames.track is not None:
        tracks = len(set(frames.track.tolist()) - {""})
    scenes = None
    if frames.scenes is not None:
        scenes = len(set(frames.scenes))
    return {
        "name": frames.name,
        "format": frames.format,
        "frames": len(frames),
        "empty_frames": int(np.count_nonzero(np.diff(frames.offsets) == 0)),
        "instances": len(lines.polylines),
        "classes": lines.counts,
        "boxes": {name: count for name, count in frames.counts.items() if name in frames.boxes},
        "dimension": frames.dimension,
        "points_per_instance": _spread(np.diff(lines.polylines.offsets)),
        "confidence": _spread(frames.confidence),
        "extent": _extent(lines.polylines),
        "tracks": tracks,
        "scenes": scenes,
        "timestamps": frames.timestamps is not None,
        "poses": frames.poses is not None,
        "forward": frames.forward,
        "links": _links(frames),
        "intersection": _lanes_in_intersections(frames),
        "ignored": _flagged(frames.ignore),
    }


def _extent(lines: Polylines) -> dict[str, list[float] | None]:
    """Return the smallest and the largest coordinate by axis; None without points."""
    axes = "xyz"[: lines.dimension]
    if len(lines.coords) == 0:
        return dict.fromkeys(axes)
    low, high, _ = survey(lines)
    return {axis: [float(low[:, k].min()), float(high[:, k].max())] for k, axis in enumerate(axes)}


def _flagged(flags: Flags | None) -> int | None:
    """Return the number of instances with a flag; None if the frames have none of this kind."""
    if flags is None:
        return None
    return int(np.count_nonzero(flags))


def _lanes_in_intersections(frames: MapFrames) -> int | None:
    """Return the number of lanes inside intersections; None if the frames do not say it."""
    if frames.intersection is None:
        return None
    if LANE not in frames.classes:
        return 0
    is_lane = frames.label == frames.classes.index(LANE)
    return _flagged(frames.intersection & is_lane)


def _links(frames: MapFrames) -> dict[str, Any] | None:
    """Return the number of links of each kind, and of lanes that lead into another lane."""
    links = frames.links
    if links is None:
        return None
    likely = links.is_kind(SUCCESSOR) & (links.weight > _LIKELY)
    counts = np.bincount(links.code, minlength=len(links.kinds)).tolist()
    return {
        "kinds": {kind: count for kind, count in zip(links.kinds, counts, strict=True) if count},
        "lanes": frames.counts.get(LANE, 0),
        "lanes_with_successor": len(np.unique(links.source[likely])),
    }


def _spread(values: NDArray[Any] | None) -> dict[str, float] | None:
    """Return the least value, the median and the most; None without values."""
    if values is None or len(values) == 0:
        return None
    return {"least": values.min().item(), "median": float(np.median(values)), "most": values.max().item()}


def tell_frames(title: str, about: str, frames: "MapFrames") -> None:
    """Print a title in bold, what it is, and what the frames hold."""
    say(f"{paint(title, 'bold')} {about}", indent="  ")
    for line in in_words(frames):
        say(f"  {line}", indent="    ")


def _size(read: "Input") -> str:
    """Return how many frames and instances an input has."""
    return f"{counted(read.frames, 'frame')}, {counted(sum(read.counts.values()), 'instance')}"


def tell_inputs(results: "Results") -> None:
    """Print what a streamed evaluation read."""
    for side, read in zip(("truth", "predictions"), reversed(results.inputs), strict=True):
        counts = ", ".join(f"{count} {name}" for name, count in read.counts.items())
        say(f"{paint(side, 'bold')} {printable(read.name)} ({read.format}, in chunks)")
        say(f"  {_size(read)}: {printable(counts)}", indent="    ")


def in_words(frames: "MapFrames") -> list[str]:
    """Return what frames hold, in a few short lines."""
    from mapgauge.checks.context import is_geographic

    contents = contents_of(frames)
    known = [counted(contents[f"{name}s"], name) for name in ("scene", "track") if contents[f"{name}s"] is not None]
    if contents["timestamps"]:
        known.append("time stamps")
    if frames.format == "poses":  # a file of poses has no lines, so frames without any are no news
        return [", ".join([counted(contents["frames"], "pose"), *known])]
    if contents["poses"]:
        known.append("poses")

    sizes = counted(contents["frames"], "frame")
    if contents["empty_frames"]:
        sizes += f" ({contents['empty_frames']} empty)"
    sizes += f", {counted(contents['instances'], 'instance')}"
    if contents["classes"]:
        sizes += f": {_counts_of(contents['classes'])}"

    measured = ["no confidences"]
    spread = contents["confidence"]
    if spread is not None:
        measured = [f"confidence {spread['least']:.3f} to {spread['most']:.3f}"]
    axes = _axes_in_words(contents, in_degrees=is_geographic(without_boxes(frames)))
    if axes:
        measured.append(", ".join(axes))
    points = contents["points_per_instance"]
    if points is not None:
        measured.append(_points_each(points["least"], points["most"]))

    lines = [sizes, *_boxes_and_links(contents), "; ".join(measured)]
    if known:
        lines.append(", ".join(known))
    return lines


def _counts_of(counts: dict[str, int]) -> str:
    """Return numbers with what they count, as ``3 divider, 1 boundary``."""
    return printable(", ".join(f"{count} {name}" for name, count in counts.items()))


def _axes_in_words(contents: dict[str, Any], *, in_degrees: bool) -> list[str]:
    """Return the extent along each axis, and which axis points forward, as far as they are known."""
    words = []
    for axis, ends in contents["extent"].items():
        if ends is None:
            continue
        low, high = ends
        if in_degrees and axis in "xy":
            words.append(f"{axis} {low:.6f} to {high:.6f} degrees")
        else:
            words.append(f"{axis} {low:.1f} to {high:.1f} m")
    if contents["forward"] is not None:
        words.append(f"{contents['forward']} forward")
    return words


def _points_each(least: int, most: int) -> str:
    """Return how many points instances have."""
    if least == most:
        return f"{least} points each"
    return f"{least} to {most} points each"


def _boxes_and_links(contents: dict[str, Any]) -> list[str]:
    """Return the number of boxes of each class, and of links of each kind."""
    lines = []
    if contents["boxes"]:
        boxes = counted(sum(contents["boxes"].values()), "box", "boxes")
        lines.append(f"{boxes} in an image: {_counts_of(contents['boxes'])}")
    if contents["links"] is not None:
        kinds = contents["links"]["kinds"]
        lanes = contents["links"]["lanes"]
        text = counted(sum(kinds.values()), "link")
        if kinds:
            text += f": {_counts_of(kinds)}"
        if lanes:
            share = 100 * contents["links"]["lanes_with_successor"] / lanes
            text += f"; {share:.3g} % of {lanes} lanes have a successor with a weight above 0.5"
        lines.append(text)
    if contents["intersection"] is not None:
        lines.append(f"{counted(contents['intersection'], 'lane')} in intersections")
    if contents["ignored"]:
        lines.append(f"{counted(contents['ignored'], 'line is', 'lines are')} ignored")
    return lines
