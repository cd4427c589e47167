"""Checks a submission without truth: the file, its limits, its frames, classes, confidences and coordinates."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from mapgauge.checks import confidences, coordinates, frames, instances
from mapgauge.checks.context import ENOUGH, Context, Extent, about_instances, extent_of
from mapgauge.errors import MapgaugeError, Remedy
from mapgauge.features.challenge.manifest import Challenge
from mapgauge.frames.content import content_hash, hash_text
from mapgauge.frames.findings import Finding, share_of
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.cropping import Region, check_region
from mapgauge.io import format_named, read, recognise
from mapgauge.io.files.source import VARIABLE, Content
from mapgauge.metrics.table import METRICS
from mapgauge.scoring.scene_frames import uses_tracks
from mapgauge.words import counted

_ONE = 1.05  # coordinates within [-1, 1] are normalised
_OTHER_UNIT = 8.0  # an extent that differs from the region by this factor has another unit
_TURNED = 1.5  # how much longer along the other axis the extent of turned coordinates is
_HALF = 0.5  # if this share of the frames is missing, a value would be about something else

_PREDICTIONS = Remedy.of("Submit the file that was evaluated")
# Without truth, a turn and a mirroring of a region look the same.
_OTHER_AXES = Remedy(
    "Evaluate predictions of the same program on frames whose truth you have: the findings of mg.evaluate(predictions, "
    "truth) say which of the two it is",
    "Evaluate predictions of the same program on frames whose truth you have: mapgauge evaluate PREDICTIONS TRUTH says "
    "which of the two it is",
)

# Checks of the package that need one side only.
_OF_ONE_SIDE = (
    instances.in_range,
    instances.all_equal,
    confidences.small,
    confidences.twice,
    coordinates.padding,
    coordinates.same_end,
    coordinates.degrees,
    frames.unit,
    instances.few_points,
    instances.copies,
)


@dataclass(frozen=True, kw_only=True)
class CheckedSubmission:
    """What a check without truth found in a submission."""

    name: str  # of the file
    challenge: str  # the name of the challenge
    findings: tuple[Finding, ...]  # the most severe first
    file_digest: str = ""  # the SHA-256 of the bytes; "" if the file cannot be read
    digest: str = ""  # the content hash, the same for every file format
    format: str = ""
    frames: int = 0
    counts: Mapping[str, int] | None = None  # the number of instances of each class

    @property
    def is_accepted(self) -> bool:
        """Whether the submission can be scored: there is no finding of the level ``error``."""
        return all(finding.level != "error" for finding in self.findings)

    def with_finding(self, finding: Finding) -> "CheckedSubmission":
        """Return the same with one more finding, which is the first."""
        return replace(self, findings=(finding, *self.findings))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return asdict(self) | {"is_accepted": self.is_accepted}


def finding_from(plain: Mapping[str, Any]) -> Finding:
    """Return a finding from the plain values of ``asdict``, also after a round trip through JSON."""
    remedy = plain["remedy"]
    return Finding(
        level=plain["level"],
        code=plain["code"],
        message=plain["message"],
        count=plain["count"],
        examples=tuple(plain["examples"]),
        remedy=None if remedy is None else Remedy(**remedy),
    )


def _format_of(challenge: Challenge, content: Content) -> str:
    """Return the name of the format of a submission, which must be one that the challenge allows."""
    row = recognise(content)
    if row.name not in challenge.formats:
        raise content.error(
            f"the format {row.name} is not allowed in this challenge. Allowed: {', '.join(challenge.formats)}",
            remedy=Remedy("Write it with mg.write", "Write it with `mapgauge convert`"),
        )
    return row.name


def unreadable(message: str, remedy: Remedy | None = None) -> Finding:
    """Return the finding about a file that cannot be read."""
    return Finding("error", "submission-unreadable", message, remedy=remedy)


def not_scored(challenge: Challenge, message: str, remedy: Remedy | None, *, format: str) -> Finding:
    """Return the finding about lines that cannot be evaluated."""
    return Finding("error", "submission-not-scored", message, remedy=_remedy_here(challenge, remedy, format))


def without_lines(predictions: MapFrames) -> MapFrames:
    """Return the same frames without a line."""
    return predictions.keep(np.zeros(len(predictions.polylines), np.bool_))


def of_lines_alone(metrics: Sequence[str]) -> tuple[str, ...]:
    """Return the metrics that need nothing but lines with confidences."""
    rows = [METRICS[name] for name in metrics]
    return tuple(row.name for row in rows if row.level != "scene" and set(row.needs) <= {"confidences"})


def _converted(challenge: Challenge, option: str, format: str) -> str:
    """Return the command that writes a submission again with an option, in its own format if that can be written."""
    allowed = [name for name in challenge.formats if format_named(name).write is not None]
    if format not in allowed:
        format = allowed[0] if allowed else "geojson"
    return f"mapgauge convert FILE,{option} OUT --to {format}"


def _remedy_here(challenge: Challenge, remedy: Remedy | None, format: str) -> Remedy | None:
    """Return what to do about a file, unless a challenge does not let its participants do it."""
    if remedy is None or VARIABLE in remedy.shell or "format=" in remedy.shell or "trust" in remedy.shell:
        return None
    if "degenerate=drop" in remedy.shell:  # a submission is read as it is
        return Remedy(
            'Leave such instances out: mg.write(mg.read(file, degenerate="drop"), other)',
            f"Leave such instances out: {_converted(challenge, 'degenerate=drop', format)}",
        )
    return remedy


def checked(challenge: Challenge, path: str, name: str) -> tuple[CheckedSubmission, MapFrames | None]:
    """Read and check a submission. Returns what was found, and the frames if the file could be read."""
    found = CheckedSubmission(name=name, challenge=challenge.name, findings=())
    if name.lower().endswith(".mg"):
        results = unreadable(f"{name}: these are results, expected predictions", _PREDICTIONS)
        return replace(found, findings=(results,)), None
    format = ""
    try:
        content = Content(path, challenge.limits.bytes)
        format = _format_of(challenge, content)
        predictions = replace(read(content, format), name=name)
    except MapgaugeError as error:
        # The file has another name here than its owner knows.
        message = error.message.replace(path, name)
        return replace(found, findings=(unreadable(message, _remedy_here(challenge, error.remedy, format)),)), None
    except (MemoryError, RecursionError) as error:
        return replace(found, findings=(unreadable(f"{name}: too large or too deep to read ({error})"),)), None
    # What a reader says of its file has the name that the file has here.
    told = [replace(finding, message=finding.message.replace(path, name)) for finding in predictions.findings]
    findings = [*told, *_findings(challenge, predictions)]
    levels = ("error", "warning", "note")
    tracks = uses_tracks(challenge.metrics)[0]
    return (
        replace(
            found,
            findings=tuple(sorted(dict.fromkeys(findings), key=lambda finding: levels.index(finding.level))),
            digest=hash_text(content_hash(predictions, tracks=tracks)),
            format=predictions.format,
            frames=len(predictions),
            counts=predictions.counts,
        ),
        predictions,
    )


def _findings(challenge: Challenge, predictions: MapFrames) -> Iterator[Finding]:
    """Yield everything that can be found without truth."""
    over = list(_over_limits(challenge, predictions))
    yield from over
    yield from _tokens(challenge, predictions)
    yield from _classes(challenge, predictions)
    if predictions.confidence is None:
        text = f"{predictions.name}: the lines have no confidences, so this is truth and no submission"
        yield Finding("error", "confidence-missing", text, count=len(predictions.polylines))
    if len(predictions.polylines.coords) and predictions.dimension != challenge.dimension:
        text = f"the points are {predictions.dimension}-D, expected {challenge.dimension}-D"
        command = _converted(challenge, "planar", predictions.format)
        remedy = Remedy("Use predictions.planar()", f"Convert it: {command}")
        yield Finding("error", "dimensions-differ", text, count=len(predictions.polylines), remedy=remedy)
    if over:
        return  # the other checks may take long
    classes = challenge.protocol.classes or ()
    # A truth without lines: what a check says is then about the submission alone.
    nothing = MapFrames.of({token: {} for token in challenge.tokens}, classes=classes)
    if challenge.long_axis is not None:
        nothing = nothing.with_forward(challenge.long_axis)
    context = Context.of(predictions, nothing, challenge.protocol.region, classes=classes, protocol=challenge.protocol)
    with np.errstate(all="ignore"):  # squares of very large coordinates overflow
        for function in _OF_ONE_SIDE:
            yield from function(context)
        yield from _region(challenge, context)


def _over_limits(challenge: Challenge, predictions: MapFrames) -> Iterator[Finding]:
    """Yield findings about frames with too many lines, and lines with too many points."""
    limits = challenge.limits
    many = np.flatnonzero(np.diff(predictions.offsets) > limits.instances_per_frame)
    if len(many):
        most = int(np.diff(predictions.offsets).max())
        text = (
            f"{counted(len(many), 'frame has', 'frames have')} more than {limits.instances_per_frame} lines, which the "
            f"challenge allows; the most are {most}"
        )
        names = tuple(predictions.tokens[i] for i in many[:3].tolist())
        remedy = Remedy.of("Keep the lines with the highest confidences")
        yield Finding("error", "limit-instances", text, count=len(many), examples=names, remedy=remedy)
    sizes = np.diff(predictions.polylines.offsets)
    rows = np.flatnonzero(sizes > limits.points_per_line)
    text = f"have more than {limits.points_per_line} points, which the challenge allows"
    yield from about_instances(("predictions", predictions), rows, "error", code="limit-points", text=text)


def _tokens(challenge: Challenge, predictions: MapFrames) -> Iterator[Finding]:
    """Yield findings about frames that are missing, unknown or there twice."""
    known = set(challenge.tokens)
    given = Counter(predictions.tokens)
    twice = [token for token, times in given.items() if times > 1]
    if twice:
        text = f"{counted(len(twice), 'token occurs', 'tokens occur')} more than once"
        remedy = Remedy.of("Write each frame once")
        yield Finding("error", "tokens-duplicate", text, count=len(twice), examples=tuple(twice[:3]), remedy=remedy)
    unknown = [token for token in given if token not in known]
    if unknown:
        text = f"{counted(len(unknown), 'frame is', 'frames are')} not in the challenge"
        remedy = Remedy.of("Leave out all frames whose token is not in the manifest")
        yield Finding("error", "tokens-unknown", text, count=len(unknown), examples=tuple(unknown[:3]), remedy=remedy)
    missing = [token for token in challenge.tokens if token not in given]
    if missing:
        share = share_of(len(missing), len(known))
        text = (
            f"{len(missing)} of {counted(len(known), 'frame')} of the challenge ({share}) have no entry in the "
            "submission. They count as predicted empty"
        )
        if len(missing) >= _HALF * len(known):
            level = "error"
        else:
            level = "warning"
        remedy = Remedy.of("Check that the run was complete")
        yield Finding(
            level,  # type: ignore[arg-type]
            "tokens-missing",
            text,
            count=len(missing),
            examples=tuple(missing[:3]),
            remedy=remedy,
        )


def _classes(challenge: Challenge, predictions: MapFrames) -> Iterator[Finding]:
    """Yield findings about classes that are not in the challenge, and about classes without a single line."""
    wanted: Sequence[str] = challenge.protocol.classes or ()
    counts = predictions.counts
    others = {name: count for name, count in counts.items() if count and name not in wanted}
    if others and not any(counts.get(name) for name in wanted):
        text = f"no line is of a class of the challenge ({', '.join(wanted)}); the file has {', '.join(others)}"
        command = _converted(challenge, "rename=OLD:NEW", predictions.format)
        remedy = Remedy("Use .rename({...})", f"Convert it: {command}")
        yield Finding("error", "classes-disjoint", text, count=sum(others.values()), remedy=remedy)
        return
    for name, count in others.items():
        text = f"{counted(count, 'line')} of {name}, a class that is not in the challenge, and not compared"
        yield Finding("warning", "class-not-compared", text, count=count)
    for name in wanted:
        if not counts.get(name):
            text = f"no line of {name}: all true lines of this class count as missed"
            yield Finding("warning", "class-never-predicted", text, count=1)


def _region(challenge: Challenge, context: Context) -> Iterator[Finding]:
    """Yield findings about the unit, the axes and the place of the coordinates, judged by the shape of the region."""
    region = challenge.protocol.region
    extent = extent_of(context.predictions)
    if region is None or extent is None:
        return
    causes = []
    if extent.instances >= ENOUGH:
        causes = list(_other_coordinates(challenge, extent, region))
    # What evaluate says of lines beyond the region. Its remedies are settings, which a participant cannot change.
    beyond = (replace(finding, remedy=None) for finding in coordinates.not_for_region(context))
    yield from causes or beyond


def _other_coordinates(challenge: Challenge, extent: Extent, region: Region) -> Iterator[Finding]:
    """Yield the finding about coordinates that are no metres around the ego, or have other axes."""
    bounds = np.array(check_region(region, challenge.long_axis))
    size = bounds[2:] - bounds[:2]
    reach = max(float(np.abs(extent.low).max()), float(np.abs(extent.high).max()))
    shown = f"{size[0]:g} x {size[1]:g} m"
    if reach <= _ONE:
        text = f"all coordinates lie within [-1, 1], and the region measures {shown}: they seem to be normalised"
        remedy = Remedy.of("Scale them to metres")
        yield Finding("error", "coordinates-normalised", text, count=extent.instances, remedy=remedy)
        return
    if extent.is_world:
        text = (
            f"the lines lie {extent.centre[0]:.0f}, {extent.centre[1]:.0f} m from the origin, as in world coordinates"
        )
        remedy = Remedy.of("Transform them to the frame of the ego")
        yield Finding("error", "coordinates-world", text, count=extent.instances, remedy=remedy)
        return
    if extent.size.max() > _OTHER_UNIT * size.max() or extent.size.max() < size.max() / _OTHER_UNIT:
        text = f"the lines measure {extent} m, and the region {shown}: they seem to have another unit than metres"
        remedy = Remedy.of("Scale them to metres")
        yield Finding("error", "coordinates-unit", text, count=extent.instances, remedy=remedy)
        return
    if challenge.long_axis is not None:
        if challenge.long_axis == "x":
            other = 1
        else:
            other = 0
        if extent.size[other] > _TURNED * extent.size[1 - other]:
            text = (
                f"the lines measure {extent} m, and the region {shown}: they lie in the region turned by 90 degrees. "
                f"In this challenge the region is longer along {challenge.long_axis}. Either the axes are turned by 90 "
                "or -90 degrees, or x and y are swapped, which mirrors the map. Without truth it cannot be told which"
            )
            yield Finding("warning", "axes-turned", text, count=extent.instances, remedy=_OTHER_AXES)
