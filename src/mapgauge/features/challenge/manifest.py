"""``Challenge``: everything that organiser and participants agree on, and its file. It holds no truth."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec
import numpy as np

from mapgauge.checks.context import extent_of
from mapgauge.errors import InvalidInput, MapgaugeError, Remedy, UnreadableFile
from mapgauge.frames.content import content_hash, hash_text
from mapgauge.frames.instances import without_boxes
from mapgauge.frames.map_frames import MapFrames
from mapgauge.frames.tracks import scenes_from_tokens
from mapgauge.io import FORMATS, format_named, read
from mapgauge.io.files.source import Content
from mapgauge.io.files.writing import save
from mapgauge.metrics.table import chosen_metrics
from mapgauge.protocols import Protocol
from mapgauge.protocols import protocol as protocol_of
from mapgauge.results.metadata import digest_of
from mapgauge.results.saving import protocol_from
from mapgauge.scoring.prepare import Frames
from mapgauge.scoring.scene_frames import uses_tracks

Axis: TypeAlias = Literal["x", "y"]

VERSION = 1  # of the file; later ones are refused
KEY = "mapgauge_challenge"  # the key with the version
MOST_BYTES = 1 << 26  # of a manifest: a million tokens have about 40 MB
FORMATS_OF_PREDICTIONS = ("parquet", "geojson", "maptr", "streammapnet", "vectormapnet", "hdmapnet")
# A name becomes the name of a file and a line of a table.
NAME = re.compile(r"\w[\w .()+-]{0,79}")
_LARGEST = 1 << 50  # what the system takes as a limit
_LONGEST = 1_000_000  # seconds
_LONGER = 1.5  # a region or an extent that is so many times as long as it is wide has a long axis
_REMEDY = Remedy(
    "Make it with Challenge.of, or get it again from the organiser",
    "Make it with `mapgauge challenge init`, or get it again from the organiser",
)


@dataclass(frozen=True, kw_only=True)
class ChallengeLimits:
    """What a submission may need. A submission that needs more is refused."""

    bytes: int = 1 << 30  # of the file, and of its content once it is decompressed
    instances_per_frame: int = 1000
    points_per_line: int = 1000
    seconds: int = 3600  # to read, check and evaluate it
    memory_bytes: int = 8 << 30  # that the process may reserve, on Linux

    def __post_init__(self) -> None:
        """Refuse limits that nothing could meet."""
        for name, value in asdict(self).items():
            if name == "seconds":
                most = _LONGEST
            else:
                most = _LARGEST
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
                raise InvalidInput(f"the limit {name} must be a whole number from 1 to {most}, got {value!r:.60}")


class _StoredManifest(msgspec.Struct, forbid_unknown_fields=True):
    """The file of a challenge."""

    mapgauge_challenge: int
    name: str
    rules: str
    protocol: dict[str, Any]
    metrics: list[str]
    formats: list[str]
    limits: dict[str, int]
    show_scenes: bool
    truth: str
    truth_scenes: str | None
    dimension: int
    long_axis: Axis | None
    tokens: list[str]


@dataclass(frozen=True, kw_only=True)
class Challenge:
    """What organiser and participants agree on: settings, frames, limits, and a digest of the truth.

    >>> import mapgauge as mg
    >>> _, truth = mg.demo.demo_world(3)
    >>> challenge = mg.Challenge.of("Night maps", truth, "paper-60x30", rules="Three submissions a week.")
    >>> challenge.name, len(challenge.tokens), challenge.protocol.region
    ('Night maps', 3, (60.0, 30.0))
    """

    name: str
    protocol: Protocol
    metrics: tuple[str, ...]
    tokens: tuple[str, ...]  # of the frames, sorted
    truth: str  # the content hash of the truth, as ``Input.hash``
    truth_scenes: str | None = None  # a hash of the scene of each frame; None if the truth has no scenes
    dimension: int = 2  # of the points
    long_axis: Axis | None = None  # along which the truth is longer, if its region is longer than wide
    formats: tuple[str, ...] = FORMATS_OF_PREDICTIONS  # that submissions may have
    limits: ChallengeLimits = field(default_factory=ChallengeLimits)
    show_scenes: bool = False  # whether values of single scenes may be published
    rules: str = ""  # in words

    def __post_init__(self) -> None:
        """Refuse what no challenge can have."""
        check_name("the name of the challenge", self.name)
        if not self.tokens or any(not isinstance(token, str) or not token for token in self.tokens):
            raise InvalidInput("a challenge needs the tokens of its frames, and none of them may be empty")
        if len(set(self.tokens)) < len(self.tokens):
            raise InvalidInput("the tokens of a challenge must be different")
        if not self.formats:
            raise InvalidInput(f"a challenge must allow a format. Known: {', '.join(FORMATS)}")
        for name in self.formats:
            format_named(name)
        if self.protocol.classes is None:
            raise InvalidInput("the protocol of a challenge must name its classes")
        if self.dimension not in (2, 3):
            raise InvalidInput(f"points have 2 or 3 coordinates, got {self.dimension!r}")
        for digest in (self.truth, self.truth_scenes):
            if digest is not None and not re.fullmatch(r"[0-9a-f]{32,64}", digest):
                raise InvalidInput(f"a digest has 32 or 64 hexadecimal digits, got {digest!r:.80}")
        chosen_metrics(self.protocol, self.metrics)

    @classmethod
    def of(
        cls,
        name: str,
        truth: Frames,
        protocol: str | Protocol = "paper-60x30",
        *,
        metrics: Sequence[str] | None = None,
        formats: Sequence[str] = FORMATS_OF_PREDICTIONS,
        limits: ChallengeLimits | None = None,
        show_scenes: bool = False,
        rules: str = "",
    ) -> "Challenge":
        """Make a challenge from its truth.

        Args:
            name: The name of the challenge.
            truth: The truth, or its file.
            protocol: The settings, by name or as a ``Protocol``.
            metrics: Names of metrics. If None, those for which the protocol has settings.
            formats: Names of the formats that submissions may have.
            limits: What a submission may need. If None, the usual limits.
            show_scenes: Whether values of single scenes may be published.
            rules: The rules in words.
        """
        frames = truth_of(truth)
        settings = protocol_of(protocol)
        if settings.classes is None:
            settings = settings.replace(classes=frames.classes)
        chosen = chosen_metrics(settings, metrics)
        return cls(
            name=name,
            protocol=settings,
            metrics=chosen,
            tokens=tuple(sorted(frames.tokens)),
            truth=truth_digest(frames, chosen),
            truth_scenes=scenes_digest(frames),
            dimension=frames.dimension,
            long_axis=_long_axis(frames, settings),
            formats=tuple(formats),
            limits=limits or ChallengeLimits(),
            show_scenes=show_scenes,
            rules=rules,
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Challenge":
        """Read the file of a challenge. A file that is damaged, or says what no challenge can have, is refused."""
        content = Content(path, MOST_BYTES)
        if content.kind != "json":
            raise content.error("this is no manifest of a challenge, which is JSON", remedy=_REMEDY)
        document = content.document
        if not isinstance(document, dict) or KEY not in document:
            raise content.error(f"this is no manifest of a challenge: it has no key {KEY!r}", remedy=_REMEDY)
        version = document[KEY]
        if isinstance(version, int) and version > VERSION:
            text = f"the manifest has version {version}, expected at most {VERSION}"
            raise content.error(text, remedy="Update mapgauge")
        try:
            return cls.from_dict(document)
        except (MapgaugeError, msgspec.ValidationError) as error:
            if isinstance(error, MapgaugeError):
                message = error.message
            else:
                message = str(error)
            raise content.error(f"the manifest is not valid: {message}"[:1000], remedy=_REMEDY) from error

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> "Challenge":
        """Return the challenge that ``to_dict`` gave, also after a round trip through JSON."""
        stored = msgspec.convert(document, _StoredManifest, strict=True)
        if stored.mapgauge_challenge != VERSION:
            raise InvalidInput(f"the version of the manifest must be {VERSION}, got {stored.mapgauge_challenge}")
        known = set(asdict(ChallengeLimits()))
        if set(stored.limits) != known:
            raise InvalidInput(f"limits must be {', '.join(sorted(known))}")
        try:
            protocol = protocol_from(stored.protocol)
        except (TypeError, ValueError, AttributeError, OverflowError) as error:
            raise InvalidInput(f"the protocol is not valid: {error}") from error
        return cls(
            name=stored.name,
            protocol=protocol,
            metrics=tuple(stored.metrics),
            tokens=tuple(stored.tokens),
            truth=stored.truth,
            truth_scenes=stored.truth_scenes,
            dimension=stored.dimension,
            long_axis=stored.long_axis,
            formats=tuple(stored.formats),
            limits=ChallengeLimits(**stored.limits),
            show_scenes=stored.show_scenes,
            rules=stored.rules,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the challenge as plain values, as its file has them."""
        return {
            KEY: VERSION,
            "name": self.name,
            "rules": self.rules,
            "protocol": self.protocol.to_dict(),
            "metrics": list(self.metrics),
            "formats": list(self.formats),
            "limits": asdict(self.limits),
            "show_scenes": self.show_scenes,
            "truth": self.truth,
            "truth_scenes": self.truth_scenes,
            "dimension": self.dimension,
            "long_axis": self.long_axis,
            "tokens": list(self.tokens),
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the manifest: JSON that people can read, without any truth."""
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        save(Path(path), f"{text}\n".encode())

    @property
    def digest(self) -> str:
        """The SHA-256 of the whole manifest, which does not depend on how its file is written."""
        return digest_of(self.to_dict())

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that decide the values: protocol and metrics."""
        return settings_of(self.protocol, self.metrics)

    def check_truth(self, truth: MapFrames) -> None:
        """Refuse frames that are not the truth of this challenge."""
        found = truth_digest(truth, self.metrics)
        where = truth.name or "the truth"
        if found != self.truth:
            raise InvalidInput(
                f"{where}: not the truth of the challenge {self.name}. The manifest expects the digest {self.truth}, "
                f"and this file has {found}",
                remedy="Give the file from which the manifest was made, read in the same way",
            )
        if sorted(truth.tokens) != sorted(self.tokens):
            raise InvalidInput(
                f"{where}: the manifest of the challenge {self.name} was changed, because its tokens are not those of "
                "the truth",
                remedy=_REMEDY,
            )
        scenes = scenes_digest(truth)
        if scenes != self.truth_scenes:
            raise InvalidInput(
                f"{where}: the scenes are not those of the truth from which the manifest was made. Intervals draw "
                "whole scenes",
                remedy=Remedy("Give the frames the same scenes", "Give the same scenes: TRUTH,scenes=FILE"),
            )


def settings_of(protocol: Protocol, metrics: Sequence[str]) -> dict[str, Any]:
    """Return the settings that decide values, as plain values."""
    return {"protocol": protocol.to_dict(), "metrics": list(metrics)}


def truth_digest(truth: MapFrames, metrics: Sequence[str]) -> str:
    """Return the content hash of a truth, as results of these metrics record it."""
    return hash_text(content_hash(truth, tracks=uses_tracks(tuple(metrics))[1]))


def scenes_digest(truth: MapFrames) -> str | None:
    """Return a hash of the scene of each frame, or None if no scenes are known."""
    scenes = truth.scenes
    if scenes is None:
        scenes = scenes_from_tokens(truth.tokens)
    if scenes is None:
        return None
    return digest_of(sorted(zip(truth.tokens, scenes, strict=True)))


def check_name(what: str, name: object) -> str:
    """Return a name that can be the name of a file; refuse others."""
    if not isinstance(name, str) or not NAME.fullmatch(name) or name != name.strip(" ."):
        raise InvalidInput(
            f"{what} must have 1 to 80 letters, digits, spaces and .()+-_ and begin with a letter or a digit, "
            f"got {name!r:.100}"
        )
    return name


def frames_of(source: Frames) -> MapFrames:
    """Return frames as they are, or read their file."""
    if isinstance(source, MapFrames):
        return source
    frames = read(source)
    if not isinstance(frames, MapFrames):
        raise UnreadableFile(f"{source}: expected frames")
    return frames


def truth_of(source: Frames) -> MapFrames:
    """Return truth as it is, or read its file, which may hold predictions too."""
    frames = frames_of(source)
    row = FORMATS.get(frames.format)
    if isinstance(source, MapFrames) or row is None or not row.holds_both:
        return frames
    return read(source, frames.format, part="truth")


def _long_axis(truth: MapFrames, protocol: Protocol) -> Axis | None:
    """Return the axis along which the truth is longer, if its region is longer than wide."""
    if protocol.region is None or max(protocol.region) < _LONGER * min(protocol.region):
        return None
    extent = extent_of(without_boxes(truth))
    if extent is None or extent.size.max() < _LONGER * extent.size.min():
        return None
    if int(np.argmax(extent.size)) == 0:
        return "x"
    return "y"
