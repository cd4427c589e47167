"""``Accumulator``: evaluates batch by batch inside a loop, with the same result as ``evaluate``.

Frames are scored when they arrive and are not kept. Only their rows are kept: some numbers per frame and per
prediction. Results do not depend on the order of rows. The size of batches, their order and their distribution over
processes do not change any bit of the result.
"""

from collections.abc import Sequence
from copy import copy
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import InvalidInput
from mapgauge.evaluation.accumulator_settings import by_frame, names_of_numbers
from mapgauge.evaluation.batch_rows import TALLIES, BatchRows, ScoringSettings, hashes_of, picked
from mapgauge.evaluation.in_memory import score_frames
from mapgauge.frames.alignment import align
from mapgauge.frames.batches import Batch, frames_from_batch
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames
from mapgauge.metrics.table import chosen_metrics
from mapgauge.protocols import Protocol
from mapgauge.protocols import protocol as protocol_of
from mapgauge.results.flat import flat
from mapgauge.results.results import Results
from mapgauge.results.rows import MemoryRows
from mapgauge.results.summary import Input, Summary
from mapgauge.scoring.prepare import check_sides, cropped
from mapgauge.typing import Degenerate
from mapgauge.version import __version__

Repeated: TypeAlias = Literal["error", "drop"]
SIDES = ("predictions", "targets")


class _Batch(NamedTuple):
    """A batch after its checks. The columns are those of ``BatchRows``."""

    x: MapFrames  # aligned
    y: MapFrames
    tally: NDArray[np.int64]
    tokens: tuple[str, ...]
    scenes: tuple[str, ...]
    hashes: NDArray[np.uint8]


class Accumulator:
    """Evaluates batch by batch, with the same result as ``evaluate`` on all frames at once.

    ``update`` scores a batch and keeps its rows. ``merge`` adds the rows of another process. ``compute`` returns flat
    values for loggers. ``results`` returns the same as ``evaluate``, without the geometry. ``reset`` removes all
    frames. An accumulator can be pickled.

    Args:
        protocol: The settings, by name or as a ``Protocol``.
        metrics: Which of ``pld``, ``ap_chamfer``, ``ap_frechet``, ``ap_sospa`` to compute. If None, those for which the
            protocol has cutoffs or thresholds.
        classes: Class names of integer labels, in order. If None, labels must be names, because repositories number
            their classes differently. The protocol defines which classes are evaluated.
        degenerate: What to do with instances that are not polylines (fewer than two points, or a number that is not
            finite). ``"strict"`` raises an error. ``"drop"`` leaves them out and counts them.
        repeated: What to do with a token that was seen before. ``"error"`` raises an error, because a forgotten
            ``reset`` would count frames twice. ``"drop"`` leaves the frame out and counts it, for samplers that repeat
            frames to fill batches.

    >>> import mapgauge as mg
    >>> accumulator = mg.Accumulator("paper-60x30", classes=["divider", "ped_crossing", "boundary"])
    >>> predictions = [{"polylines": [[[0, 0.5], [9, 0.5]]], "labels": [0], "scores": [1.0]}]
    >>> accumulator.update(predictions, [{"polylines": [[[0, 0], [9, 0]]], "labels": [0]}])
    >>> accumulator.update([{"polylines": [], "labels": [], "scores": []}], [{"polylines": [], "labels": []}])
    >>> len(accumulator), round(accumulator.compute()["pld/mean"], 3)
    (2, 0.667)
    """

    def __init__(
        self,
        protocol: str | Protocol = "paper-60x30",
        *,
        metrics: Sequence[str] | None = None,
        classes: Sequence[str] | None = None,
        degenerate: Degenerate = "strict",
        repeated: Repeated = "error",
    ) -> None:
        """Check the settings and begin without frames."""
        for name, value, kind in (("degenerate", degenerate, Degenerate), ("repeated", repeated, Repeated)):
            if value not in get_args(kind):
                raise InvalidInput(f"{name} must be {' or '.join(map(repr, get_args(kind)))}, got {value!r}")
        settings = protocol_of(protocol)
        self.numbers = names_of_numbers(classes, settings)
        if settings.classes is None:
            settings = settings.replace(classes=self.numbers)
        assert settings.classes is not None
        self.settings = ScoringSettings(settings, by_frame(chosen_metrics(settings, metrics)), settings.classes)
        self.degenerate: Degenerate = degenerate
        self.repeated: Repeated = repeated
        self.reset()

    def reset(self) -> None:
        """Remove all frames."""
        self._rows: list[BatchRows] = []
        self._seen: set[str] = set()
        self._repeats = 0

    def fresh(self) -> "Accumulator":
        """Return an accumulator with the same settings, without frames."""
        other = copy(self)
        other.reset()
        return other

    def __len__(self) -> int:
        """Number of frames."""
        return sum(len(rows.tokens) for rows in self._rows)

    def __repr__(self) -> str:
        """Return the protocol, the metrics and the number of frames in one line."""
        return f"<Accumulator {self.settings.protocol.name}: {', '.join(self.settings.metrics)} of {len(self)} frames>"

    def update(
        self,
        predictions: Batch | MapFrames,
        targets: Batch | MapFrames,
        tokens: Sequence[str] | None = None,
        scenes: Sequence[str] | None = None,
    ) -> None:
        """Score a batch and keep its rows.

        Args:
            predictions: One dictionary per frame: ``polylines``, a sequence of ``(n, 2 or 3)`` arrays in metres or one
                ``(polylines, n, 2 or 3)`` array; ``labels``, names or whole numbers; ``scores``, confidences in [0, 1].
                Arrays of any library and tensors on any device are accepted. Or ``MapFrames``.
            targets: The truth of the same frames in the same order, without scores. Or ``MapFrames``, which are aligned
                by token.
            tokens: The name of each frame. With tokens, repeated frames are detected, and results can be compared frame
                by frame. ``MapFrames`` have their own tokens.
            scenes: The scene of each frame, for intervals over scenes.
        """
        batch = self._batch(predictions, targets, tokens, scenes)
        new = self._new(batch.tokens)
        if new:
            self._rows.append(self._scored(batch, new))
        self._count(batch.tokens, new)

    def score(
        self,
        predictions: Batch | MapFrames,
        targets: Batch | MapFrames,
        tokens: Sequence[str] | None = None,
        scenes: Sequence[str] | None = None,
    ) -> BatchRows:
        """Score a batch without keeping its rows. Repeated tokens are not detected; the arguments are as in ``update``.

        ``add`` of an accumulator with the same settings takes the rows.
        """
        batch = self._batch(predictions, targets, tokens, scenes)
        return self._scored(batch, list(range(len(batch.tokens))))

    def _scored(self, batch: "_Batch", new: list[int]) -> BatchRows:
        protocol, metrics, _ = self.settings
        x, y = cropped(batch.x.at(new), batch.y.at(new), protocol)
        scores = score_frames(x, y, protocol, metrics, (), workers=None)
        texts_of_new = picked(batch.tokens, new), picked(batch.scenes, new)
        return BatchRows(scores, batch.tally[new], *texts_of_new, batch.hashes[new])

    def _batch(
        self,
        predictions: Batch | MapFrames,
        targets: Batch | MapFrames,
        tokens: Sequence[str] | None,
        scenes: Sequence[str] | None,
    ) -> "_Batch":
        """Return a batch after checking it."""
        if isinstance(predictions, MapFrames) or isinstance(targets, MapFrames):
            if not (isinstance(predictions, MapFrames) and isinstance(targets, MapFrames)):
                raise InvalidInput("predictions and targets must both be MapFrames, or both lists of dicts")
            if tokens is not None or scenes is not None:
                raise InvalidInput(
                    "tokens and scenes are not allowed with MapFrames, which have their own",
                    remedy="Leave out tokens and scenes",
                )
            x, y, tally = predictions, targets, np.zeros((len(targets), TALLIES), np.int64)
            check_sides(x, y)
            tally[:, 2] = [token not in x.index for token in y.tokens]
            names, places = y.tokens, y.scenes or ("",) * len(y)
        else:
            x, y, tally = self._frames(predictions, targets)
            names, places = texts("tokens", tokens, len(y)), texts("scenes", scenes, len(y))
        aligned = align(x, y, classes=self.settings.classes)
        return _Batch(*aligned, tally, names, places, hashes_of(x, y, names))

    def _frames(self, predictions: Batch, targets: Batch) -> tuple[MapFrames, MapFrames, NDArray[np.int64]]:
        """Return both sides of a batch of dictionaries, and the number of dropped instances."""
        classes = tuple(dict.fromkeys((*self.settings.classes, *(self.numbers or ()))))
        x, less_x = frames_from_batch(predictions, SIDES[0], classes, self.numbers, self.degenerate, scored=True)
        y, less_y = frames_from_batch(targets, SIDES[1], classes, self.numbers, self.degenerate, scored=False)
        if len(x) != len(y):
            raise InvalidInput(f"{len(x)} predictions for {len(y)} targets, expected a dict per frame on both sides")
        return x, y, np.stack([less_x, less_y, np.zeros_like(less_x)], axis=1)

    def _new(self, tokens: tuple[str, ...]) -> list[int]:
        """Return the indices of frames that were not seen before. Frames without a name count as new."""
        here: set[str] = set()
        new = []
        for i, token in enumerate(tokens):
            if not token or (token not in self._seen and token not in here):
                here.add(token)
                new.append(i)
        again = sorted(set(range(len(tokens))) - set(new))
        if again and self.repeated == "error":
            raise InvalidInput(
                f"{len(again)} of {len(tokens)} frames were seen before (first: {tokens[again[0]]})",
                remedy='Call reset() between epochs, or pass repeated="drop" if a sampler repeats frames',
            )
        return new

    def _count(self, tokens: tuple[str, ...], new: list[int]) -> None:
        self._seen.update(filter(None, tokens))
        self._repeats += len(tokens) - len(new)

    def merge(self, other: "Accumulator") -> None:
        """Add the frames of another accumulator with the same settings. The other accumulator does not change.

        Args:
            other: An accumulator of another process, machine or thread.
        """
        if not isinstance(other, Accumulator):
            raise InvalidInput(f"cannot merge a {type(other).__name__}, expected an Accumulator")
        if other.settings != self.settings:
            raise InvalidInput(f"cannot merge {other!r} into {self!r}: their settings differ")
        repeats = other._repeats
        if len(other):
            self.add(other.rows())
        self._repeats += repeats

    def add(self, rows: BatchRows) -> None:
        """Add rows that ``rows`` of an accumulator with the same settings returned."""
        new = self._new(rows.tokens)
        if len(new) == len(rows.tokens):
            self._rows.append(rows)
        elif new:
            self._rows.append(rows.at(new))
        self._count(rows.tokens, new)

    def rows(self) -> BatchRows:
        """Return the rows of all frames, for callers that transfer them between processes."""
        if not self._rows:
            raise InvalidInput("no frames to compare", remedy="Call update first")
        if len(self._rows) > 1:
            self._rows = [BatchRows.concatenate(self._rows)]
        return self._rows[0]

    def compute(self) -> dict[str, float]:
        """Return the values of all classes and their means, with the flat keys of ``mapgauge.results.flat``."""
        return flat(self.results())

    def results(self) -> Results:
        """Return the results of ``evaluate`` for these frames, without the geometry and without the checks of files."""
        return self._results(self.rows())

    def _results(self, rows: BatchRows) -> Results:
        protocol, metrics, classes = self.settings
        counts = [side.sum(axis=0).tolist() for side in (rows.scores.predicted, rows.scores.true)]
        inputs = [
            Input("", "", len(rows.tokens), dict(zip(classes, count, strict=True)), rows.hash_of(side))
            for side, count in enumerate(counts)
        ]
        summary = Summary(
            protocol,
            metrics,
            classes,
            (),
            (inputs[0], inputs[1]),
            frames_missing=int(rows.tally[:, 2].sum()),
            frames_ignored=0,
            findings=tuple(self._findings(rows)),
            version=__version__,
            source=rows.scores,
        )
        tokens = tuple(token or f"#{i}" for i, token in enumerate(rows.tokens))
        return Results(summary, MemoryRows(tokens, rows.scenes if all(rows.scenes) else None, rows.scores))

    def _findings(self, rows: BatchRows) -> list[Finding]:
        found = []
        for k, side in enumerate(SIDES):
            count = int(rows.tally[:, k].sum())
            if count:
                text = f"{side}: {count} instances dropped that have fewer than 2 points or a number that is not finite"
                found.append(Finding("warning", "dropped-degenerate", text, count))
        if self._repeats:
            text = f"{self._repeats} frames dropped because their tokens were seen before"
            found.append(Finding("note", "dropped-repeated", text, self._repeats))
        return found


def texts(name: str, values: Sequence[str] | None, count: int) -> tuple[str, ...]:
    """Return one string per frame. Without values, the strings are empty."""
    if values is None:
        return ("",) * count
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise InvalidInput(f"{name} must be a list with one string per frame, got {values!r}")
    if len(values) != count:
        raise InvalidInput(f"{len(values)} {name} for {count} frames, expected one per frame")
    for i, value in enumerate(values):
        if not isinstance(value, str) or not value or "\0" in value:
            raise InvalidInput(f"{name}[{i}] must be a string that is not empty, got {value!r}")
    return tuple(values)
