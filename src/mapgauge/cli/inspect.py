"""``mapgauge inspect``: prints what is in files, as other commands do with their inputs."""

from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from mapgauge.cli import options as o
from mapgauge.cli.command import command
from mapgauge.cli.emit import Document, Line, Piece, Printing, emit
from mapgauge.cli.inputs import Reading, check_files, check_unnamed, is_results, options_of
from mapgauge.cli.output import Table, distrust, exit_on, paint, printable, say, warn, warn_of
from mapgauge.cli.summary import frames_in_words, table_of
from mapgauge.errors import MapgaugeError
from mapgauge.frames.instances import without_boxes
from mapgauge.frames.lane_classes import LANE
from mapgauge.frames.links import SUCCESSOR
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import survey
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
    with nullcontext() if len(files) == 1 else suppress(MapgaugeError):  # of several files, the others are read
        check_files(*(file for file in files if not _is_stored(file)))
    read: list[InspectedFrames | InspectedResults] = []
    for file in files:
        try:
            read.append(_inspected(file))
        except MapgaugeError as error:
            if len(files) == 1:
                raise
            warn(error.for_shell())
    emit(options, Inspected(read, is_list=len(files) > 1, is_quiet=options.quiet))
    if options.quiet and options.form == "text":
        for one in read:
            warn_of(one.findings)
    distrust(finding for one in read if isinstance(one, InspectedResults) for finding in one.findings)
    if len(read) < len(files):
        warn(f"{len(files) - len(read)} of {len(files)} files could not be read")
        raise typer.Exit(1)
    exit_on(options.fail_on, [finding for one in read for finding in one.findings])


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
    frames = Reading().alone(file)
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
        noted = {"date": self.results.date} | dict(self.results.metadata)
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
    points = np.diff(lines.polylines.offsets)
    low, high, _ = survey(lines.polylines)
    is_lane = frames.label == (frames.classes.index(LANE) if LANE in frames.classes else -1)
    return {
        "name": frames.name,
        "format": frames.format,
        "frames": len(frames),
        "empty_frames": int(np.count_nonzero(np.diff(frames.offsets) == 0)),
        "instances": len(lines.polylines),
        "classes": lines.counts,
        "boxes": {name: count for name, count in frames.counts.items() if name in frames.boxes},
        "dimension": frames.dimension,
        "points_per_instance": _spread(points),
        "confidence": None if frames.confidence is None else _spread(frames.confidence),
        "extent": {
            axis: [float(low[:, k].min()), float(high[:, k].max())] if points.any() else None
            for k, axis in zip(range(frames.dimension), "xyz", strict=False)
        },
        "tracks": None if frames.track is None else len(set(frames.track.tolist()) - {""}),
        "scenes": None if frames.scenes is None else len(set(frames.scenes)),
        "timestamps": frames.timestamps is not None,
        "poses": frames.poses is not None,
        "forward": frames.forward,
        "links": _links(frames),
        "intersection": None if frames.intersection is None else int(np.count_nonzero(frames.intersection & is_lane)),
        "ignored": None if frames.ignore is None else int(np.count_nonzero(frames.ignore)),
    }


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


def _spread(values: NDArray[Any]) -> dict[str, float] | None:
    if not len(values):
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
    counts = printable(", ".join(f"{count} {name}" for name, count in contents["classes"].items()))
    if contents["empty_frames"]:
        empty = f" ({contents['empty_frames']} empty)"
    else:
        empty = ""
    spread, points, extent = contents["confidence"], contents["points_per_instance"], contents["extent"]
    in_degrees = is_geographic(without_boxes(frames))
    bounds = [
        f"{axis} {ends[0]:.6f} to {ends[1]:.6f} degrees"
        if in_degrees and axis in "xy"
        else f"{axis} {ends[0]:.1f} to {ends[1]:.1f} m"
        for axis, ends in extent.items()
        if ends
    ]
    if frames.forward is None:
        forward = []
    else:
        forward = [f"{frames.forward} forward"]
    if bounds:
        measured = [", ".join([*bounds, *forward])]
    else:
        measured = forward
    if points:
        least, most = points["least"], points["most"]
        measured.append(f"{least} points each" if least == most else f"{least} to {most} points each")
    confidence = "no confidences"
    if frames.confidence is not None and spread:
        confidence = f"confidence {spread['least']:.3f} to {spread['most']:.3f}"
    known = [counted(contents[f"{name}s"], name) for name in ("scene", "track") if contents[f"{name}s"] is not None]
    if frames.format == "poses":  # a file of poses has no lines, so frames without any are no news
        if contents["timestamps"]:
            times = ["time stamps"]
        else:
            times = []
        return [", ".join([counted(contents["frames"], "pose"), *known, *times])]
    known += [name for name, key in (("time stamps", "timestamps"), ("poses", "poses")) if contents[key]]
    return [
        f"{counted(contents['frames'], 'frame')}{empty}, {counted(contents['instances'], 'instance')}"
        + (f": {counts}" if counts else ""),
        *_boxes_and_links(contents),
        "; ".join([confidence, *measured]),
        *([", ".join(known)] if known else []),
    ]


def _boxes_and_links(contents: dict[str, Any]) -> list[str]:
    """Return the number of boxes of each class, and of links of each kind."""
    lines = []
    if contents["boxes"]:
        counts = printable(", ".join(f"{count} {name}" for name, count in contents["boxes"].items()))
        lines.append(f"{counted(sum(contents['boxes'].values()), 'box', 'boxes')} in an image: {counts}")
    if contents["links"] is not None:
        kinds, lanes = contents["links"]["kinds"], contents["links"]["lanes"]
        counts = printable(", ".join(f"{count} {kind}" for kind, count in kinds.items()))
        text = f"{counted(sum(kinds.values()), 'link')}" + (f": {counts}" if counts else "")
        if lanes:
            share = 100 * contents["links"]["lanes_with_successor"] / lanes
            text += f"; {share:.3g} % of {lanes} lanes have a successor with a weight above 0.5"
        lines.append(text)
    if contents["intersection"] is not None:
        lines.append(f"{counted(contents['intersection'], 'lane')} in intersections")
    if contents["ignored"]:
        lines.append(f"{counted(contents['ignored'], 'line is', 'lines are')} ignored")
    return lines
