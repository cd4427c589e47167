"""The files of a history: one file of results for each night, of which only the pooled values are read."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from mapgauge.errors import InvalidInput, MapgaugeError, Remedy, UnreadableFile
from mapgauge.io.files.source import is_folder, is_plain_file
from mapgauge.markup import shortened
from mapgauge.metrics.metric import SumRows
from mapgauge.metrics.table import METRICS
from mapgauge.protocols import Protocol, full_name
from mapgauge.results.loading import load_results
from mapgauge.results.metadata import digest_of
from mapgauge.results.pooled import MOST_BYTES, Pooled, pooled, read_pooled
from mapgauge.results.saving import BROKEN, protocol_from
from mapgauge.typing import Floats, Progress

SUFFIX = ".mg"
MOST_FILES = 3000  # eight years of nights. Steps of more would take minutes
_MOST_MEMORY = 1 << 29  # bytes of all pooled values. A year with 600 scenes takes 60 MB
_MOST_ENTRIES = 100_000  # names in folders that are looked at
_LONGEST = 40  # letters of the name of a file
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(frozen=True, eq=False)
class Night:
    """One file of results: its date, what was noted, and its pooled values."""

    file: Path
    pooled: Pooled
    was_scored_again: bool = False  # whether the file had no pooled values, so that all its rows were read

    @property
    def name(self) -> str:
        """The name of the file without its suffix."""
        return self.file.stem

    @property
    def date(self) -> str:
        """The date of the evaluation, in UTC."""
        return self.pooled.date

    @property
    def metadata(self) -> Mapping[str, str]:
        """What was noted about the evaluation."""
        return self.pooled.metadata

    @cached_property
    def protocol(self) -> Protocol:
        """The protocol."""
        return protocol_from(self.pooled.protocol)

    @cached_property
    def group(self) -> str:
        """A text that is equal for nights of one protocol."""
        return digest_of(self.pooled.protocol)

    @property
    def share_without_truth(self) -> float | None:
        """The share of the evaluated frames that have no truth."""
        evaluated = self.pooled.frames.get("evaluated", 0)
        if not evaluated:
            return None
        return self.pooled.frames.get("without_truth", 0) / evaluated

    def value(self, class_name: str, key: str) -> float | None:
        """Return a value; None if there is none."""
        return self.pooled.values.get(class_name, {}).get(key)

    def interval(self, class_name: str, key: str) -> tuple[float, float] | None:
        """Return the bounds of the interval of a value; None if there is none."""
        return self.pooled.intervals.get(class_name, {}).get(key)

    def sums_of_scenes(self, metric: str) -> Floats | None:
        """Return the sums of a metric, ``(scenes, classes, columns)``; None if they are not known or do not fit."""
        of_scenes = self.pooled.of_scenes
        if of_scenes is None or metric not in METRICS or metric not in of_scenes.sums:
            return None
        rows = METRICS[metric].rows
        if not isinstance(rows, SumRows):
            return None
        shape = (len(of_scenes.scenes), len(self.pooled.class_names), len(rows.columns))
        if len(of_scenes.sums[metric]) != 8 * int(np.prod(shape)):
            return None
        sums: Floats = np.frombuffer(of_scenes.sums[metric], "<f8").reshape(shape).astype(np.float64)
        return sums

    def instances_of_scenes(self) -> Floats | None:
        """Return the number of predictions and truth of each class, ``(scenes, classes)``; None if not known."""
        of_scenes = self.pooled.of_scenes
        if of_scenes is None:
            return None
        shape = (len(of_scenes.scenes), len(self.pooled.class_names))
        return np.frombuffer(of_scenes.instances, "<i8").reshape(shape).astype(np.float64)


@dataclass(frozen=True)
class SkippedFile:
    """A file that is not in the history, and why."""

    file: Path
    reason: str

    def to_dict(self) -> dict[str, str]:
        """Return it as plain values."""
        return {"file": str(self.file), "reason": self.reason}


def skipped_by_reason(skipped: Iterable[SkippedFile]) -> dict[str, list[Path]]:
    """Return the files that are left out for each reason."""
    found: dict[str, list[Path]] = {}
    for left in skipped:
        found.setdefault(left.reason, []).append(left.file)
    return found


def read_nights(
    files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    protocol: str | None = None,
    progress: Progress | None = None,
) -> tuple[list[Night], list[SkippedFile], list[str]]:
    """Read the nights in a folder, or in some files, in the order of their dates.

    Only nights with one protocol are kept: the one with a given full name, or that of most files.

    Returns:
        The nights, the files that are left out, and remarks about the folder.
    """
    if isinstance(files, str | os.PathLike):
        given = [Path(files)]
    else:
        given = [Path(file) for file in files]
    if not given:
        raise InvalidInput("no files given", remedy="Give a folder with files of results, or the files")
    paths, remarks = _expanded(given)
    nights: list[Night] = []
    skipped: list[SkippedFile] = []
    left = _MOST_MEMORY
    for k, path in enumerate(paths, 1):
        try:
            night, size = _read(path, min(left, MOST_BYTES))
            left -= size
        except MapgaugeError as error:
            skipped.append(SkippedFile(path, _reason(error, path)))
        else:
            if night.date:
                nights.append(night)
            else:
                skipped.append(SkippedFile(path, "there is no date; evaluate again with this version of mapgauge"))
        if progress is not None:
            progress(k, len(paths))
    nights.sort(key=lambda night: (moment_of(night.date), night.name, str(night.file)))
    kept, others = _of_one_protocol(nights, protocol)
    again = sum(night.was_scored_again for night in kept)
    if again:
        remarks.append(
            f"{again} of {len(kept)} files were written without pooled values, so all their rows were read. Loading "
            "and saving them again makes this quick"
        )
    if not kept:
        raise _nothing(given, skipped)
    return kept, [*skipped, *others], remarks


def _nothing(given: Sequence[Path], skipped: Sequence[SkippedFile]) -> MapgaugeError:
    where = ", ".join(map(str, given[:3]))
    why = ""
    if skipped:
        why = f". First: {skipped[0].file.name}: {skipped[0].reason}"
    return UnreadableFile(
        f"{where}: no file of results{why}",
        remedy=Remedy(
            "Save results with Results.save", f"Write some first: mapgauge evaluate PREDICTIONS TRUTH -o NIGHT{SUFFIX}"
        ),
    )


def _expanded(given: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """Return the files of results in folders and those given by name, and remarks about what was left out."""
    paths: list[Path] = []
    remarks: list[str] = []
    for path in given:
        if not is_folder(path):
            if not os.path.lexists(path):
                raise UnreadableFile(f"{path}: no such file or folder")
            paths.append(path)
            continue
        found = sorted(_files_in(path))
        paths += [file for file in found if file.suffix == SUFFIX]
        other = [file.name for file in found if file.suffix != SUFFIX]
        if other:
            more = f" and {len(other) - 3} more" if len(other) > 3 else ""
            remarks.append(f"not read, because they do not end in {SUFFIX}: {', '.join(other[:3])}{more}")
    unique = list(dict.fromkeys(paths))
    if len(unique) > MOST_FILES:
        remarks.append(
            f"{len(unique)} files are more than {MOST_FILES}: only the last {MOST_FILES} in the order of their names "
            "are in this history"
        )
        unique = unique[-MOST_FILES:]
    return unique, remarks


def _files_in(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder and in its folders. Links to folders are not followed."""
    count = 0
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            count += 1
            if count > _MOST_ENTRIES:
                raise InvalidInput(
                    f"{folder}: more than {_MOST_ENTRIES} files",
                    remedy="Put the files of results into their own folder",
                )
            path = Path(place) / name
            if not name.startswith(".") and (path.suffix == SUFFIX or is_plain_file(path)):
                yield path


def _read(path: Path, most: int) -> tuple[Night, int]:
    """Return a night, and the size of its pooled values in bytes."""
    known, size = read_pooled(path, most)
    if known is not None:
        return _checked(Night(path, known)), size
    return _checked(Night(path, pooled(load_results(path)), was_scored_again=True)), 0


def _checked(night: Night) -> Night:
    """Return a night whose protocol and date can be read."""
    try:
        _ = night.protocol
        if night.date:
            moment_of(night.date)
    except (MapgaugeError, ValueError, *BROKEN) as error:  # also a date that no calendar has
        raise UnreadableFile(f"{night.file}: not a file of results: {error}") from error
    return night


def _reason(error: MapgaugeError, path: Path) -> str:
    """Return why a file cannot be read, without its name."""
    name = str(path).encode("utf-8", "backslashreplace").decode()  # as messages have it
    return error.message.removeprefix(f"{name}: ")


def _of_one_protocol(nights: Sequence[Night], name: str | None) -> tuple[list[Night], list[SkippedFile]]:
    groups: dict[str, list[Night]] = {}
    for night in nights:
        groups.setdefault(night.group, []).append(night)
    if not groups:
        return [], []
    names = {group: full_name(some[0].protocol) for group, some in groups.items()}
    if name is not None:
        chosen = [group for group in groups if name in (names[group], groups[group][0].protocol.name)]
        if not chosen:
            raise InvalidInput(
                f"no file of results has the protocol {name!r}; there are {', '.join(sorted(set(names.values())))}",
                remedy="Give the name of one of them",
            )
    else:
        chosen = list(groups)
    # The most files; of equally many, the newest.
    best = max(chosen, key=lambda group: (len(groups[group]), moment_of(groups[group][-1].date)))
    others = []
    for group, nights in groups.items():
        if group != best:
            reason = f"the protocol is {_apart(names[group], names[best])}"
            others += [SkippedFile(night.file, reason) for night in nights]
    return groups[best], others


def _apart(name: str, other: str) -> str:
    if name == other:
        return f"{name} with other settings"
    return f"{name}, not {other}"


def moment_of(date: str) -> datetime:
    """Return a stored date as a time in UTC."""
    moment = datetime.fromisoformat(date)
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC)


def day_in_words(date: str, *, year: bool = True, time: bool = False) -> str:
    """Return a stored date in words.

    >>> day_in_words("2026-11-03T07:30:00Z"), day_in_words("2026-11-03T07:30:00Z", year=False, time=True)
    ('3 Nov 2026', '3 Nov 07:30')
    """
    moment = moment_of(date)
    text = f"{moment.day} {_MONTHS[moment.month - 1]}"
    if year:
        text += f" {moment.year}"
    if time:
        text += f" {moment:%H:%M}"
    return text


def labels_of(nights: Sequence[Night]) -> list[str]:
    """Return the date of each night in words, with the time and the name of the file where others have the same."""
    days = [day_in_words(night.date) for night in nights]
    of_day = Counter(days)
    times = [day_in_words(night.date, time=of_day[day] > 1) for night, day in zip(nights, days, strict=True)]
    of_time = Counter(times)
    return [
        f"{time} ({shortened(night.name, _LONGEST)})" if of_time[time] > 1 else time
        for night, time in zip(nights, times, strict=True)
    ]


def changed_metadata(before: Night, after: Night) -> dict[str, str]:
    """Return what was noted about a night and was different, or not noted, in the night before."""
    return {key: value for key, value in after.metadata.items() if before.metadata.get(key) != value}


def plain_night(night: Night) -> dict[str, Any]:
    """Return a night as plain values."""
    known = night.pooled
    return {
        "file": str(night.file),
        "name": night.name,
        "date": night.date,
        "metadata": dict(night.metadata),
        "mapgauge": known.mapgauge,
        "frames": dict(known.frames),
        "share_without_truth": night.share_without_truth,
        "truth": known.truth.hash or None,
        "predictions": known.predictions.hash or None,
        "instances": {
            name: {"predictions": predicted, "truth": true} for name, (predicted, true) in known.instances.items()
        },
        "truth_lengths": known.truth_lengths,
        "has_errors": known.has_errors,
    }
