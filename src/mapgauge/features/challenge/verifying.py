"""``verify``: evaluates again, and says whether a file of results is what its inputs give."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mapgauge.decoding import decode_json
from mapgauge.errors import InvalidInput, MapgaugeError
from mapgauge.evaluation.evaluate import evaluate
from mapgauge.features.challenge.manifest import Challenge, frames_of, truth_of
from mapgauge.features.challenge.public import public_values
from mapgauge.features.challenge.scoring import read_public
from mapgauge.frames.content import content_hash, hash_text
from mapgauge.frames.map_frames import MapFrames
from mapgauge.io.files.source import Content
from mapgauge.protocols import Protocol, full_name
from mapgauge.results.loading import load_results
from mapgauge.results.metadata import digest_of
from mapgauge.results.pooled import Pooled, encoded, pooled, read_pooled
from mapgauge.results.results import Results
from mapgauge.results.saving import protocol_from, read_again
from mapgauge.scoring.prepare import Frames
from mapgauge.scoring.scene_frames import uses_tracks
from mapgauge.version import __version__
from mapgauge.words import counted

DIGEST = "digest"
VALUE = "value"
SIDES = ("predictions", "truth")


class Verified(NamedTuple):
    """One thing that a file of results says, and what its inputs give."""

    kind: str  # "digest", "frames", "metres of truth", "value", "interval", "frame values" or "pooled values"
    name: str
    said: Any
    found: Any
    agrees: bool


@dataclass(frozen=True, kw_only=True)
class Verification:
    """Whether a file of results is what its inputs give."""

    name: str  # of the file of results
    protocol: str  # by which it was evaluated, with the settings that were changed
    version: str  # of mapgauge that wrote it
    rows: tuple[Verified, ...]

    @property
    def holds(self) -> bool:
        """Whether everything agrees, to the last bit."""
        return all(row.agrees for row in self.rows)

    @property
    def wrong(self) -> tuple[Verified, ...]:
        """What does not agree."""
        return tuple(row for row in self.rows if not row.agrees)

    @property
    def statement(self) -> str:
        """The verdict in words, and what to do if something differs."""
        return ". ".join(self._sentences())

    def _sentences(self) -> Iterator[str]:
        values = sum(row.kind == VALUE for row in self.rows)
        digests = [row for row in self.wrong if row.kind == DIGEST]
        unknown = [row.name for row in digests if not row.said]
        other_version = self.version != __version__
        if self.holds:
            same = f"{counted(values, 'value')} of the protocol {self.protocol} agree to the last bit"
            yield f"{self.name} is what its inputs give: {same}"
        elif unknown:
            yield (
                f"{self.name} cannot be verified: it has no digest of the {_and(unknown)}, because a part was skipped "
                "when it was written"
            )
        elif digests:
            yield f"{self.name} is not about these inputs: other digest of the {_and([row.name for row in digests])}"
        else:
            yield f"{self.name} is not what its inputs give: {len(self.wrong)} of {len(self.rows)} rows differ"
        if other_version:
            yield f"It was written by mapgauge {self.version}, and this is {__version__}"
        if self.holds:
            return
        if unknown:
            yield "Evaluate again without skipping"
        elif any(row.name in SIDES for row in digests):
            yield "Give the files that were evaluated, with the options with which they were read"
        elif digests:
            yield "Give the manifest that counts, or evaluate again by it"
        elif other_version:
            yield (
                f"The changelog lists changes that move a number; install {self.version} to decide whether the version "
                "is the reason"
            )
        else:
            yield "Do not rely on its values: evaluate the inputs again"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "name": self.name,
            "holds": self.holds,
            "statement": self.statement,
            "protocol": self.protocol,
            "written_by": self.version,
            "verified_by": __version__,
            "rows": [row._asdict() for row in self.rows],
        }


def verify(
    results: str | os.PathLike[str],
    predictions: Frames,
    truth: Frames,
    *,
    challenge: Challenge | None = None,
    workers: int | None = None,
) -> Verification:
    """Evaluate again, and say whether a file of results is what its inputs give.

    Args:
        results: A file of ``Results.save``, or a public file of a challenge.
        predictions: The predictions, or their file.
        truth: The truth, or its file.
        challenge: A challenge, whose settings and truth must be those of the results. If None, it is not compared.
        workers: Number of threads. It does not change the result.

    >>> import mapgauge as mg
    >>> import pathlib, tempfile
    >>> predictions, truth = mg.demo.demo_world(3)
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "results.mg"
    >>> mg.evaluate(predictions, truth).save(file)
    >>> mg.verify(file, predictions, truth).holds
    True
    >>> mg.verify(file, predictions, truth.at([0])).holds
    False
    """
    path = Path(results)
    if _is_public(path):
        document = read_public(path)
        recorded = None
        protocol, metrics = _settings_in(path, document)
        version = str(document["mapgauge"])
        digests = document["digests"]
    else:
        recorded = load_results(path)
        document = None
        protocol = recorded.protocol
        metrics = recorded.metrics
        version = recorded.version
        digests = {"predictions": recorded.inputs[0].hash, "truth": recorded.inputs[1].hash}
    sides = _read(recorded, (predictions, truth))
    rows = list(_digests(digests, sides, metrics))
    if challenge is not None:
        rows += _of_challenge(challenge, digests, protocol, metrics=metrics)
    if all(row.agrees for row in rows):
        if recorded is None:
            ranges: tuple[float, ...] = ()
        else:
            ranges = recorded.ranges
        again = evaluate(
            *sides,
            protocol,
            metrics=metrics,
            ranges=ranges,
            unknown="ignore",
            workers=workers,
        )
        if recorded is not None:
            rows += _of_results(recorded, again)
            if path.is_file():
                rows += _of_pooled(path, recorded)
        else:
            assert document is not None  # the one or the other
            rows += _of_public(document, again)
    return Verification(name=path.name, protocol=full_name(protocol), version=version, rows=tuple(rows))


def _is_public(path: Path) -> bool:
    """Whether a path is a file of JSON."""
    if path.is_dir() or path.suffix == ".mg":
        return False
    return Content(path).kind == "json"


def _settings_in(path: Path, document: Mapping[str, Any]) -> tuple[Protocol, tuple[str, ...]]:
    """Return protocol and metrics of a public file."""
    settings = document["settings"]
    try:
        protocol = protocol_from(settings["protocol"])
        metrics = tuple(str(name) for name in settings["metrics"])
    except (MapgaugeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidInput(f"{path}: the settings are not valid: {error}") from error
    return protocol, metrics


def _read(recorded: Results | None, given: tuple[Frames, Frames]) -> tuple[MapFrames, MapFrames]:
    """Return both sides. Files are read as results say that they were read, if they are those files."""
    if recorded is not None:
        try:
            return read_again(recorded.inputs, given, recorded.origin)
        except MapgaugeError:
            pass  # other files, whose digests are then told
    return frames_of(given[0]), truth_of(given[1])


def _digests(
    digests: Mapping[str, Any], sides: tuple[MapFrames, MapFrames], metrics: tuple[str, ...]
) -> Iterator[Verified]:
    for side, frames, tracks in zip(SIDES, sides, uses_tracks(metrics), strict=True):
        found = hash_text(content_hash(frames, tracks=tracks))
        yield _verified(kind=DIGEST, name=side, said=digests[side], found=found)


def _of_challenge(
    challenge: Challenge, digests: Mapping[str, Any], protocol: Protocol, metrics: tuple[str, ...]
) -> Iterator[Verified]:
    yield _verified(kind=DIGEST, name="truth of the challenge", said=digests["truth"], found=challenge.truth)
    said = digest_of({"protocol": protocol.to_dict(), "metrics": list(metrics)})
    expected = digest_of(challenge.settings)
    yield _verified(kind=DIGEST, name="settings of the challenge", said=said, found=expected)
    if "manifest" in digests:
        yield _verified(kind=DIGEST, name="manifest", said=digests["manifest"], found=challenge.digest)


def _of_results(recorded: Results, again: Results) -> Iterator[Verified]:
    """Yield counts of frames, all values, and whether the values of all frames agree."""
    yield from _each("frames", "", recorded.frame_counts, found=again.frame_counts)
    if recorded.truth_lengths is not None:
        yield from _each("metres of truth", "", recorded.truth_lengths, found=again.truth_lengths)
    for name, values in {**recorded.classes, "mean": recorded.mean}.items():
        if name == "mean":
            found = again.mean
        else:
            found = again.classes.get(name, {})
        yield from _each(VALUE, name, values, found=found)
    if sorted(recorded.tokens) != sorted(again.tokens):
        yield Verified(
            kind="frame values",
            name="tokens",
            said=len(recorded.tokens),
            found=len(again.tokens),
            agrees=False,  # there may be as many other tokens
        )
        return
    own, other = (results.frames(sort="token") for results in (recorded, again))
    differ = sum(not _same_row(first, second) for first, second in zip(own, other, strict=True))
    yield _verified(kind="frame values", name="frames that differ", said=0, found=differ)


def _of_pooled(path: Path, recorded: Results) -> Iterator[Verified]:
    """Yield whether the pooled values, which some commands read alone, are those of the frames in the same file."""
    stored, _ = read_pooled(path)
    if stored is None:
        return
    # A whole number in memory is a float in a file.
    found = decode_json(encoded(pooled(recorded)), Pooled)
    # Sums of thousands of scenes are long, so digests stand for them.
    yield from _each("pooled values", "", _digests_of(stored), found=_digests_of(found))


def _digests_of(values: Pooled) -> dict[str, str]:
    return {key: digest_of(value) for key, value in json.loads(encoded(values)).items()}


def _same_row(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    # Scenes may have been given with a file that is not here. No value of a frame depends on them.
    return all(_is_same(first[key], second.get(key)) for key in first if key != "scene")


def _of_public(document: Mapping[str, Any], again: Results) -> Iterator[Verified]:
    """Yield everything that a public file says, beside its date and its link."""
    found = public_values(again, show_scenes=document.get("scenes") is not None)
    yield _verified(
        kind=DIGEST,
        name="settings",
        said=document["digests"]["settings"],
        found=found["digests"]["settings"],
    )
    yield from _each("frames", "", document["frames"], found=found["frames"])
    for kind, key in ((VALUE, "values"), ("interval", "intervals"), (VALUE, "scenes")):
        said = document.get(key) or {}
        new = found[key] or {}
        for name in dict.fromkeys((*said, *new)):
            yield from _each(kind, name, said.get(name), found=new.get(name))
    yield from _each("draws", "", document["draws"], found=found["draws"])


def _and(names: Sequence[str]) -> str:
    return " and of the ".join(names)


def _each(kind: str, name: str, said: Any, found: Any) -> Iterator[Verified]:
    """Yield a row for each value of two mappings."""
    own = said if isinstance(said, Mapping) else {}
    other = found if isinstance(found, Mapping) else {}
    for key in dict.fromkeys((*own, *other)):
        called = str(key)
        if name:
            called = f"{key} of {name}"
        is_there = key in own and key in other
        yield Verified(
            kind=kind,
            name=called,
            said=own.get(key),
            found=other.get(key),
            agrees=is_there and _is_same(own[key], other[key]),
        )


def _verified(*, kind: str, name: str, said: Any, found: Any) -> Verified:
    """Return a row for a value that is one text or number."""
    return Verified(kind=kind, name=name, said=said, found=found, agrees=said == found)


def _is_same(first: Any, second: Any) -> bool:
    """Whether two plain values are the same to the last bit."""
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        return len(first) == len(second) and all(map(_is_same, first, second))
    if isinstance(first, float) and isinstance(second, float):
        return first == second or bool(np.isnan(first) and np.isnan(second))
    return bool(first == second)
