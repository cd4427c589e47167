"""``mapgauge inspect``: prints what is in files, as other commands do with their inputs."""

from contextlib import nullcontext, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from mapgauge.cli import options as o
from mapgauge.cli.inputs import Reading, check_files, check_unnamed, is_results, options_of
from mapgauge.cli.output import distrust, exit_on, paint, printable, say, tell_findings, warn, write_json
from mapgauge.cli.summary import show_results
from mapgauge.errors import MapgaugeError
from mapgauge.frames.instances import without_boxes
from mapgauge.frames.links import SUCCESSOR
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import survey
from mapgauge.protocols import LANE
from mapgauge.words import counted

if TYPE_CHECKING:
    from mapgauge.frames.findings import Finding
    from mapgauge.results.results import Results
    from mapgauge.results.values import Input


def inspect(
    files: Annotated[list[Path], o.files_argument("FILE", "One or more files of predictions, truth or results.")],
    json: o.JsonOption = False,
    fail_on: o.FailOnOption = None,
    quiet: o.QuietOption = False,
) -> None:
    """Print what is in files.

    Prints the format, frames, classes, confidences, extents, and what the reader found. For results, prints the tables.
    """
    from mapgauge import load_results
    from mapgauge.checks import findings_of_side
    from mapgauge.io import FORMATS

    check_unnamed(*files)
    are_results = ["format" not in options_of(file) and is_results(file) for file in files]
    with nullcontext() if len(files) == 1 else suppress(MapgaugeError):  # of several files, the others are read
        check_files(*(file for file, stored in zip(files, are_results, strict=True) if not stored))
    documents: list[dict[str, Any]] = []
    findings: list[Finding] = []
    of_results: list[Finding] = []  # other files have no numbers to distrust
    read = 0
    for file, stored in zip(files, are_results, strict=True):
        try:
            content: Any = load_results(file) if stored else Reading().alone(file)
        except MapgaugeError as error:
            if len(files) == 1:
                raise
            warn(error.for_shell())
            continue
        read += 1
        of_file = list(content.findings) if stored else findings_of_side(content)
        findings += of_file
        of_results += of_file if stored else ()
        if read > 1 and not json:
            say()
        if json and stored:
            documents.append({"name": file.stem} | content.to_dict())
        elif json:
            documents.append(contents_of(content) | {"findings": [asdict(finding) for finding in of_file]})
        elif stored:
            _tell_results(content, file)
        else:
            # Parquet keeps the format that frames came from, which may be one of a plug-in that is not here.
            about = content.format
            if content.format in FORMATS:
                about += f": {FORMATS[content.format].about}"
            tell_frames(content.name, f"({about})", content)
            tell_findings(of_file)
    if json:
        write_json(documents[0] if len(files) == 1 else documents)
    distrust(of_results)
    if read < len(files):
        warn(f"{len(files) - read} of {len(files)} files could not be read")
        raise typer.Exit(1)
    exit_on(fail_on, findings)


def _tell_results(results: "Results", file: Path) -> None:
    """Print what a file of results holds."""
    from mapgauge.protocols import full_name

    protocol = printable(full_name(results.protocol))
    say(f"{paint(str(file), 'bold')} (results of mapgauge {results.version}, protocol {protocol})")
    for side, read in zip(("predictions", "truth"), results.inputs, strict=True):
        say(f"  {side}: {read.name or 'from memory'}, {_size(read)}")
    tell_findings(results.findings)
    show_results("text", [results], [file.stem])


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
    empty = f" ({contents['empty_frames']} empty)" if contents["empty_frames"] else ""
    spread, points, extent = contents["confidence"], contents["points_per_instance"], contents["extent"]
    in_degrees = is_geographic(without_boxes(frames))
    bounds = [
        f"{axis} {ends[0]:.6f} to {ends[1]:.6f} degrees"
        if in_degrees and axis in "xy"
        else f"{axis} {ends[0]:.1f} to {ends[1]:.1f} m"
        for axis, ends in extent.items()
        if ends
    ]
    forward = [] if frames.forward is None else [f"{frames.forward} forward"]
    measured = [", ".join([*bounds, *forward])] if bounds else forward
    if points:
        least, most = points["least"], points["most"]
        measured.append(f"{least} points each" if least == most else f"{least} to {most} points each")
    confidence = "no confidences"
    if frames.confidence is not None and spread:
        confidence = f"confidence {spread['least']:.3f} to {spread['most']:.3f}"
    known = [counted(contents[f"{name}s"], name) for name in ("scene", "track") if contents[f"{name}s"] is not None]
    if frames.format == "poses":  # a file of poses has no lines, so frames without any are no news
        times = ["time stamps"] if contents["timestamps"] else []
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
