"""The work folder of a streamed evaluation: its inputs and settings, and the rows of every finished chunk.

A chunk is written completely or not at all. However a run ends, a later run continues from the finished chunks.
"""

import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeAlias

import msgspec
import numpy as np

from mapgauge.decoding import decode_json
from mapgauge.errors import InvalidInput, MapgaugeError, Remedy, UnreadableFile
from mapgauge.frames.findings import Finding
from mapgauge.io.files.source import Content
from mapgauge.io.files.writing import save
from mapgauge.protocols import Protocol
from mapgauge.results.differences import Mismatch, in_words, settings_apart
from mapgauge.results.saving import BROKEN, archive_arrays, infinite_bounds, protocol_from, read_archive
from mapgauge.scoring.precision import Records
from mapgauge.scoring.scores import Scores, Sums

LAYOUT = 1
_ABOUT = "evaluation.json"
_FAILED = "failed.json"
_FINDINGS = "findings.json"
_DELETE = "Delete it and resume the evaluation"
RESTART = "Start again in another folder"
_SHARD = 1000  # chunks per subfolder
_SIDES = ("predictions", "truth")
_MOST = 1 << 28  # bytes of a JSON file


class About(msgspec.Struct, frozen=True):
    """Inputs and settings of an evaluation, written when it begins."""

    layout: int
    mapgauge: str
    fingerprint: str  # hash of the inputs and of all settings
    chunks: int
    protocol: dict[str, Any]
    metrics: tuple[str, ...]
    ranges: tuple[float | None, ...]  # infinity is null in JSON
    paths: tuple[str, str]
    digests: tuple[str, str]
    classes: tuple[tuple[str, ...], tuple[str, ...]]  # of predictions and truth
    stamps: tuple[dict[str, str], dict[str, str]]  # of all files
    unknown: str  # what is done with predicted frames that the truth lacks
    degenerate: str  # and with instances that have too few points
    extra: tuple[str, ...] = ()  # metrics of which only the sums of chunks are kept
    date: str = ""  # on which the evaluation began
    metadata: dict[str, str] = {}

    @property
    def settings(self) -> Protocol:
        """The protocol."""
        return protocol_from(self.protocol)

    @property
    def rings(self) -> tuple[float, ...]:
        """Bounds of rings."""
        return infinite_bounds(self.ranges)


_Hexadecimal: TypeAlias = Annotated[str, msgspec.Meta(pattern="^-?[0-9a-f]+$")]


class ChunkHeader(msgspec.Struct):
    """The header of a chunk: everything but its scores."""

    tokens: tuple[str, ...]
    scenes: tuple[str, ...] | None
    columns: tuple[_Hexadecimal, ...]  # exact sums of about a thousand bits
    without_truth: int
    missing: int  # number of frames of the truth that the predictions lack
    ignored: int  # number of frames of the predictions that the truth lacks
    counts: tuple[list[int], list[int]]  # number of instances read from each side, by its own classes
    frames: tuple[int, int]  # number of frames read from each side
    findings: tuple[Finding, ...]  # of the readers
    seconds: tuple[float, float]  # processor time of reading and aligning, and of scoring
    hashes: tuple[_Hexadecimal, _Hexadecimal]  # of the content that was read from each side
    lengths: list[int] | None = None  # millimetres of the truth in the region, by the classes of the protocol


class Partial(NamedTuple):
    """The rows of a chunk."""

    header: ChunkHeader
    scores: Scores

    @property
    def sums(self) -> Sums:
        """The exact sums of the chunk."""
        columns = tuple(int(column, 16) for column in self.header.columns)
        return Sums(
            len(self.header.tokens),
            self.header.without_truth,
            self.scores.predicted.sum(axis=0),
            true=self.scores.true.sum(axis=0),
            columns=columns,
        )


@dataclass(frozen=True)
class Folder:
    """A folder that holds an evaluation, finished or not."""

    path: Path

    @classmethod
    def begin(cls, path: Path, about: About, *, resume: bool) -> "Folder":
        """Begin an evaluation in a new or empty folder, or continue one with the same inputs and settings."""
        folder = cls(path)
        try:
            path.mkdir(parents=True, exist_ok=True)
            has_files = any(path.iterdir())
        except OSError as error:
            raise MapgaugeError(f"{path}: cannot create this folder: {error.strerror or error}") from error
        if not has_files:
            save(path / _ABOUT, msgspec.json.encode(about))
            return folder
        if not (path / _ABOUT).is_file():
            raise InvalidInput(
                f"{path}: this folder holds other files", remedy="Give an empty folder, or one that does not exist"
            )
        if not resume:
            raise InvalidInput(
                f"{path}: this folder has an evaluation already, {len(folder.finished)} of {folder.about.chunks} "
                "chunks finished",
                remedy=Remedy(
                    "Pass resume=True to continue it, or give another folder",
                    "Pass --resume to continue it, or give another folder",
                ),
            )
        _check_same(folder, about)
        return folder

    @cached_property
    def about(self) -> About:
        """Inputs and settings of the evaluation."""
        file = self.path / _ABOUT
        try:
            return decode_json(Content(file, _MOST).data, About)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise UnreadableFile(f"{file}: not the description of an evaluation: {error}") from error

    @property
    def finished(self) -> set[int]:
        """Indices of the finished chunks."""
        return {int(file.stem) for file in self.path.glob("chunks-*/*.npz") if file.stem.isdigit()}

    @property
    def failures(self) -> dict[int, str]:
        """Error messages of the chunks that the last run could not evaluate, by index."""
        return self._read_note(_FAILED, dict[int, str]) or {}

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Findings about both sides."""
        return self._read_note(_FINDINGS, tuple[Finding, ...]) or ()

    def note_findings(self, findings: tuple[Finding, ...]) -> None:
        """Write the findings about both sides."""
        save(self.path / _FINDINGS, msgspec.json.encode(findings))

    def _read_note(self, name: str, kind: Any) -> Any:
        file = self.path / name
        try:
            if not os.path.lexists(file):
                return None
            return decode_json(Content(file, _MOST).data, kind)
        except UnreadableFile as error:
            raise UnreadableFile(error.message, remedy=_DELETE) from error
        except msgspec.MsgspecError as error:
            raise UnreadableFile(f"{file}: cannot be read: {error}", remedy=_DELETE) from error

    def note_failures(self, failures: dict[int, str]) -> None:
        """Write the error messages of chunks that could not be evaluated."""
        if failures or (self.path / _FAILED).exists():
            save(self.path / _FAILED, msgspec.json.encode(failures))

    def _file(self, index: int) -> Path:
        return self.path / f"chunks-{index // _SHARD:04}" / f"{index:07}.npz"

    def keep(self, index: int, partial: Partial) -> None:
        """Write a finished chunk."""
        buffer = io.BytesIO()
        np.savez(buffer, **archive_arrays(partial.header, partial.scores))
        file = self._file(index)
        try:
            file.parent.mkdir(exist_ok=True)
        except OSError as error:
            raise MapgaugeError(f"{file}: cannot be written: {error.strerror or error}") from error
        save(file, buffer.getvalue())

    def forget(self, index: int) -> None:
        """Delete a finished chunk."""
        try:
            self._file(index).unlink(missing_ok=True)
        except OSError as error:
            raise MapgaugeError(f"{self._file(index)}: cannot be deleted: {error.strerror or error}") from error

    def note_stamps(self, stamps: tuple[dict[str, str], dict[str, str]]) -> None:
        """Write the stamps of the input files, after the finished chunks were compared with these files."""
        self._replace_about(stamps=stamps)

    def note_metadata(self, metadata: dict[str, str]) -> None:
        """Write the metadata of a run that continues the evaluation."""
        self._replace_about(metadata=metadata)

    def _replace_about(self, **fields: Any) -> None:
        save(self.path / _ABOUT, msgspec.json.encode(msgspec.structs.replace(self.about, **fields)))
        self.__dict__.pop("about", None)  # the cached value

    def chunk(self, index: int) -> Partial:
        """Read a finished chunk."""
        file = self._file(index)
        try:
            arrays, text = read_archive(Content(file).data)
            return Partial(decode_json(text, ChunkHeader), Scores.of_arrays(arrays, self.about.metrics))
        except UnreadableFile as error:
            raise UnreadableFile(error.message, remedy=_DELETE) from error
        except (ValueError, *BROKEN) as error:
            raise UnreadableFile(f"{file}: broken: {error}", remedy=_DELETE) from error

    def chunks(self) -> Iterator[Partial]:
        """Read all finished chunks, in order."""
        return (self.chunk(index) for index in sorted(self.finished))

    def records(self, label: int) -> Iterator[Records]:
        """Read the confidences and hits of the predictions of one class, chunk by chunk."""
        return (records_of(partial.scores, label, self.about.settings) for partial in self.chunks())


def records_of(scores: Scores, label: int, protocol: Protocol) -> Records:
    """Return the confidences and hits of the predictions of one class that count in its average precision."""
    counted = scores.counted(label, protocol)
    hits = [column[counted] for column in scores.hits.values()]
    none = np.empty((np.count_nonzero(counted), 0), np.uint16)
    return scores.confidence[counted], np.stack(hits, axis=1) if hits else none


def _check_same(folder: Folder, about: About) -> None:
    """Refuse to continue an evaluation with other inputs, other settings or another version."""
    then = folder.about
    sides = [side for side, *both in zip(_SIDES, then.digests, about.digests, strict=True) if both[0] != both[1]]
    settings = settings_apart(
        then.protocol,
        about.protocol,
        metrics=(then.metrics, about.metrics),
        ranges=(then.rings, about.rings),
        unknown_frames=(then.unknown, about.unknown),
        degenerate_instances=(then.degenerate, about.degenerate),
    )
    if then.layout != about.layout or then.mapgauge != about.mapgauge:
        old, new = (f"{begun.mapgauge} (layout {begun.layout})" for begun in (then, about))
        apart = in_words([Mismatch("version", "mapgauge", old, second=new), *settings])
        raise InvalidInput(f"{folder.path}: begun by another version of mapgauge. {apart}", remedy=RESTART)
    if sides:
        raise changed(folder, " and the ".join(sides), settings)
    if then.fingerprint != about.fingerprint:
        raise InvalidInput(
            f"{folder.path}: begun with other settings{f'. {in_words(settings)}' if settings else ''}",
            remedy=f"Use the same settings, or {RESTART.lower()}",
        )


def changed(folder: Folder, side: str, settings: Sequence[Mismatch] = ()) -> InvalidInput:
    """Return the error for inputs that differ from the inputs of the finished chunks, with other settings if any."""
    also = ""
    if settings:
        also = f". Also {in_words(settings)}"
    return InvalidInput(f"{folder.path}: the {side} changed since the evaluation began{also}", remedy=RESTART)


def is_own(inside: Path) -> bool:
    """Whether a path relative to a work folder belongs to the evaluation in it."""
    return inside.name in (_ABOUT, _FAILED, _FINDINGS) or inside.parts[0].startswith("chunks-")


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Whether a path is the work folder of a streamed evaluation."""
    return (Path(path) / _ABOUT).is_file()
