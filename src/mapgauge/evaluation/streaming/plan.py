"""Plans a streamed evaluation: chunks of frames, each with the row groups of both sides that hold its frames.

Frames are aligned by key. The key is scene and token if both sides have scenes, otherwise the token. A chunk owns a
range of keys. It consists of row groups of the truth, whose ranges do not overlap if the data are sorted, and of all
row groups of the predictions that overlap its range. Frames are therefore aligned without a join over the whole data,
and every frame of either side belongs to exactly one chunk.
"""

from bisect import bisect_left
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass
from itertools import accumulate

from mapgauge.errors import InvalidInput, MapgaugeError
from mapgauge.io.dataset import DataSet, Group, Key, RowGroups, row_groups_of

# Rows of both sides in a chunk. Smaller runs of row groups are combined. A chunk takes some seconds and some ten
# megabytes.
ROWS = 1 << 16
BYTES = 1 << 30  # largest uncompressed size of a chunk; a larger one means that the rows are not sorted


@dataclass(frozen=True, slots=True)
class Chunk:
    """A range of keys from ``first`` up to but not including ``end``, and the row groups that hold its frames."""

    index: int
    first: Key | None  # None for no bound
    end: Key | None
    predictions: tuple[RowGroups, ...]
    truth: tuple[RowGroups, ...]
    rows: int

    def owns(self, key: Key) -> bool:
        """Whether a frame with this key belongs to the chunk."""
        return (self.first is None or key >= self.first) and (self.end is None or key < self.end)


@dataclass(frozen=True, slots=True)
class Plan:
    """The chunks of an evaluation."""

    chunks: tuple[Chunk, ...]
    by_scene: bool  # whether keys contain scenes


def plan_of(predictions: DataSet, truth: DataSet, *, whole_scenes: bool = False, most_rows: int = ROWS) -> Plan:
    """Divide the truth into chunks, with ``whole_scenes`` if a metric needs them, and find the predictions of each.

    A chunk has about ``most_rows`` rows of both sides.
    """
    by_scene = predictions.scenes and truth.scenes
    if whole_scenes and not by_scene:
        if not truth.scenes:
            lacking = truth
        else:
            lacking = predictions
        raise InvalidInput(
            f"{lacking.path}: a metric is computed per scene, and these frames have no scenes",
            remedy="Add them with: mapgauge convert IN,scenes=FILE OUT/",
        )
    sides = {
        side: sorted(
            (_keyed(group, by_scene, whole_scenes) for group in dataset.groups),
            key=lambda group: (group.first, group.last),
        )
        for side, dataset in (("predictions", predictions), ("truth", truth))
    }
    if not sides["truth"]:
        raise InvalidInput(f"{truth.path}: no frames to compare")
    predicted_groups = sides["predictions"]
    firsts = [group.first for group in predicted_groups]
    furthest = list(accumulate((group.last for group in predicted_groups), max))
    runs = _runs(sides["truth"])
    starts: list[Key | None] = [None, *(run[0].first for run in runs[1:]), None]
    chunks: list[Chunk] = []

    def chunk_of(begin: Key | None, end: Key | None, predicted: Sequence[Group], true: Sequence[Group]) -> Chunk:
        """Return the next chunk, which has the frames from ``begin`` to before ``end``."""
        _check_size(true, truth, other=predictions)
        _check_size(predicted, predictions, other=truth)
        return Chunk(
            len(chunks),
            begin,
            end,
            predictions=row_groups_of(predicted),
            truth=row_groups_of(true),
            rows=sum(group.rows for group in (*true, *predicted)),
        )

    first = 0
    waiting = list[Group]()
    overlapping = list[Group]()
    for k, run in enumerate(runs):
        begin = starts[k]
        end = starts[k + 1]
        reach = slice(begin and bisect_left(furthest, begin), end and bisect_left(firsts, end))
        predicted = [group for group in predicted_groups[reach] if begin is None or group.last >= begin]
        rows = sum(group.rows for group in (*waiting, *run, *dict.fromkeys((*overlapping, *predicted))))
        # Frames of several files must be copied into one array. A chunk that is more than half full ends with its file.
        full = 2 * sum(group.rows for group in (*waiting, *overlapping)) > most_rows and waiting[-1].file != run[0].file
        if waiting and (rows > most_rows or full):
            chunks.append(chunk_of(starts[first], starts[k], predicted=overlapping, true=waiting))
            first = k
            waiting = []
            overlapping = []
        waiting += run
        overlapping = list(dict.fromkeys((*overlapping, *predicted)))
    chunks.append(chunk_of(starts[first], end=None, predicted=overlapping, true=waiting))
    return Plan(tuple(chunks), by_scene)


def _keyed(group: Group, by_scene: bool, whole_scenes: bool) -> Group:
    """Return the group with the kind of keys that both sides have. A range of whole scenes is wider than its tokens."""
    if by_scene:
        # The last token may belong to any scene in the group. It bounds the tokens only if the group has one scene.
        one_scene = group.first[0] == group.last[0] and not whole_scenes
        if one_scene:
            return group
        return group._replace(first=(group.first[0], ""), last=(group.last[0], "\U0010ffff"))
    return group._replace(first=("", group.first[1]), last=("", group.last[1]))


def _runs(groups: Sequence[Group]) -> list[list[Group]]:
    """Combine groups whose ranges overlap."""
    runs: list[list[Group]] = []
    last: Key | None = None
    for group in groups:
        if last is None or group.first > last:
            runs.append([group])
        else:
            runs[-1].append(group)
        if last is None:
            last = group.last
        else:
            last = max(last, group.last)
    return runs


def _check_size(groups: Sequence[Group], dataset: DataSet, other: DataSet) -> None:
    """Refuse overlapping row groups of a data set that do not fit into memory together."""
    size = sum(group.size for group in groups)
    if len(groups) <= 1 or size <= BYTES:
        return
    remedy = "Sort them with: mapgauge convert IN OUT/"
    if dataset.scenes != other.scenes:
        lacks = other if dataset.scenes else dataset
        remedy = f"{lacks.path} has no scenes. Add them with: mapgauge convert IN,scenes=FILE OUT/"
    raise InvalidInput(
        f"{dataset.path}: the token ranges of {len(groups)} row groups ({size / 1e9:.1f} GB) overlap, so they "
        "cannot be read in chunks",
        remedy=remedy,
    )


def explained_error(chunk: Chunk, error: Exception) -> MapgaugeError:
    """Return the error of a chunk as a ``MapgaugeError``. An unexpected exception is a bug and is raised unchanged."""
    if isinstance(error, MapgaugeError):
        return error
    died = isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker"  # KilledWorker is of Dask
    if not died and not isinstance(error, MemoryError | OSError):
        raise error
    where = "; ".join(f"{piece.file} row group {', '.join(map(str, piece.groups))}" for piece in chunk.truth)
    if died:
        what = "the worker died repeatedly, probably out of memory"
    else:
        what = str(error) or "out of memory"
    return MapgaugeError(
        f"chunk {chunk.index} ({where}, {chunk.rows} rows with its predictions): {what}",
        remedy="Use fewer workers on a machine, or smaller row groups, to reduce the memory",
    )
