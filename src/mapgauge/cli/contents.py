"""Prints what was read: files, frames, instances, confidences and extents."""

from typing import TYPE_CHECKING, Any

from mapgauge.cli.output import paint, say
from mapgauge.cli.words import printable

if TYPE_CHECKING:
    from mapgauge.frames.map_frames import MapFrames
    from mapgauge.results.results import Results


def tell_frames(title: str, about: str, frames: "MapFrames") -> None:
    """Print a title in bold, what it is, and what the frames hold."""
    say(f"{paint(title, 'bold')} {about}", indent="  ")
    for line in in_words(frames):
        say(f"  {line}", indent="    ")


def tell_inputs(results: "Results") -> None:
    """Print what a streamed evaluation read."""
    for side, read in zip(("truth", "predictions"), reversed(results.inputs), strict=True):
        counts = ", ".join(f"{count} {name}" for name, count in read.counts.items())
        say(f"{paint(side, 'bold')} {printable(read.name)} ({read.format}, in chunks)")
        say(f"  {read.frames} frames, {sum(read.counts.values())} instances: {printable(counts)}", indent="    ")


def in_words(frames: "MapFrames") -> list[str]:
    """Return what frames hold, in a few short lines."""
    from mapgauge.display.contents import contents_of

    found = contents_of(frames)
    counts = printable(", ".join(f"{count} {name}" for name, count in found["classes"].items()))
    empty = f" ({found['empty_frames']} empty)" if found["empty_frames"] else ""
    spread, points, extent = found["confidence"], found["points_per_instance"], found["extent"]
    bounds = [f"{axis} {ends[0]:.1f} to {ends[1]:.1f} m" for axis, ends in extent.items() if ends]
    forward = [] if frames.forward is None else [f"{frames.forward} forward"]
    measured = [", ".join([*bounds, *forward])] if bounds else forward
    if points:
        least, most = points["least"], points["most"]
        measured.append(f"{least} points each" if least == most else f"{least} to {most} points each")
    confidence = "no confidences"
    if frames.confidence is not None and spread:
        confidence = f"confidence {spread['least']:.3f} to {spread['most']:.3f}"
    known = [f"{found[key]} {key}" for key in ("scenes", "tracks") if found[key] is not None]
    known += [name for name, there in (("time stamps", found["timestamps"]), ("poses", found["poses"])) if there]
    return [
        f"{found['frames']} frames{empty}, {found['instances']} instances" + (f": {counts}" if counts else ""),
        *_boxes_and_links(found),
        "; ".join([confidence, *measured]),
        *([", ".join(known)] if known else []),
    ]


def _boxes_and_links(found: dict[str, Any]) -> list[str]:
    """Return the number of boxes of each class, and of links of each kind."""
    lines = []
    if found["boxes"]:
        counts = printable(", ".join(f"{count} {name}" for name, count in found["boxes"].items()))
        lines.append(f"{sum(found['boxes'].values())} boxes in an image: {counts}")
    if found["links"] is not None:
        kinds, lanes = found["links"]["kinds"], found["links"]["lanes"]
        counts = printable(", ".join(f"{count} {kind}" for kind, count in kinds.items()))
        text = f"{sum(kinds.values())} links" + (f": {counts}" if counts else "")
        if lanes:
            share = 100 * found["links"]["lanes_with_successor"] / lanes
            text += f"; {share:.3g} % of {lanes} lanes have a successor with a weight above 0.5"
        lines.append(text)
    if found["intersection"] is not None:
        lines.append(f"{found['intersection']} lanes in intersections")
    return lines
