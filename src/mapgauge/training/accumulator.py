"""``Accumulator``: evaluates batch by batch inside a loop, with the same result as ``evaluate``.

Frames are scored when they arrive and are not kept. Only their rows are kept: some numbers per frame and per
prediction. Metrics of scenes are the exception: their frames are kept, and scored when results are asked for. Results
do not depend on the order of rows. The size of batches, their order and their distribution over processes do not change
any bit of the result.
"""

from collections.abc import Sequence
from copy import copy
from typing import Any, Literal, TypeAlias, get_args

from mapgauge.errors import InvalidInput
from mapgauge.evaluation.scene_frames import SIDES
from mapgauge.evaluation.scores import Scores
from mapgauge.frames.batches import Batch
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames
from mapgauge.metrics.table import chosen_metrics
from mapgauge.protocols import Protocol, full_name
from mapgauge.protocols import protocol as protocol_of
from mapgauge.results.flat import flat
from mapgauge.results.frame_tables import MemoryRows
from mapgauge.results.results import Results
from mapgauge.results.values import Input
from mapgauge.training.batch_rows import BatchRows, ScoringSettings, score_batch
from mapgauge.typing import Degenerate
from mapgauge.version import __version__


def names_of_numbers(classes: Sequence[str] | None, protocol: Protocol) -> tuple[str, ...] | None:
    """Return the class names of integer labels. They must contain every class that is evaluated."""
    if classes is None:
        if protocol.classes is None:
            raise InvalidInput(
                f"the protocol {protocol.name} has no classes", remedy="Pass classes= with the names of all classes"
            )
        return None
    if isinstance(classes, str) or not isinstance(classes, Sequence) or not all(isinstance(c, str) for c in classes):
        raise InvalidInput(f"classes must be a list of names, got {classes!r}")
    if not classes or len(set(classes)) < len(classes):
        raise InvalidInput(f"classes must be one or more different names, got {list(classes)!r}")
    lacking = [name for name in protocol.classes or () if name not in classes]
    if lacking:
        raise InvalidInput(
            f"classes lacks {', '.join(lacking)}, which the protocol {protocol.name} evaluates",
            remedy=f'Choose other classes with mg.protocol("{protocol.name}", classes=(...))',
        )
    return tuple(classes)


Repeated: TypeAlias = Literal["error", "drop"]


class Accumulator:
    """Evaluates batch by batch, with the same result as ``evaluate`` on all frames at once.

    ``update`` scores a batch and keeps its rows. ``merge`` adds the rows of another process. ``compute`` returns flat
    values for loggers. ``results`` returns the same as ``evaluate``, without the geometry. ``reset`` removes all
    frames. An accumulator can be pickled.

    It keeps about a kilobyte per frame. Metrics of scenes (``track_pld``, ``c_map``, ``mas``) need all frames of a
    scene, so the polylines are kept as well: 16 bytes per point (24 in 3-D) and about 70 bytes per polyline. 6,000
    frames with 100 polylines of 20 points take 230 MB. ``compute`` and ``results`` score them, and need about twice as
    much again meanwhile.

    Args:
        protocol: The settings, by name or as a ``Protocol``.
        metrics: Names of metrics, as for ``evaluate``. If None, those for which the protocol has settings.
        classes: Class names of integer labels, in order. If None, labels must be names, because repositories number
            their classes differently. The protocol defines which classes are evaluated.
        degenerate: What to do with instances that are not polylines (fewer than two points, or a number that is not
            finite). ``"strict"`` raises an error. ``"drop"`` leaves them out and counts them.
        repeated: What to do with a token that was seen before. ``"error"`` raises an error, because a forgotten
            ``reset`` would count frames twice. ``"drop"`` leaves the frame out and counts it, for samplers that repeat
            frames to fill batches.

    >>> import mapgauge as mg
    >>> accumulator = mg.Accumulator("paper-60x30", classes=["divider", "ped_crossing", "boundary"])
    >>> predictions = [{"polylines": [[[0, 0.5], [9, 0.5]]], "labels": [0], "confidence": [1.0]}]
    >>> accumulator.update(predictions, [{"polylines": [[[0, 0], [9, 0]]], "labels": [0]}])
    >>> accumulator.update([{"polylines": [], "labels": [], "confidence": []}], [{"polylines": [], "labels": []}])
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
        self.settings = ScoringSettings(settings, chosen_metrics(settings, metrics), settings.classes)
        self.degenerate: Degenerate = degenerate
        self.repeated: Repeated = repeated
        self.reset()

    def reset(self) -> None:
        """Remove all frames."""
        self._rows: list[BatchRows] = []
        self._seen: set[str] = set()
        self._repeats = 0
        self._of_scenes: tuple[BatchRows, Scores, tuple[Finding, ...]] | None = None

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
        protocol, metrics = full_name(self.settings.protocol), ", ".join(self.settings.metrics)
        return f"<Accumulator {protocol}: {metrics} of {len(self)} frames>"

    def update(
        self,
        predictions: Batch | MapFrames,
        truth: Batch | MapFrames,
        tokens: Sequence[str] | None = None,
        scenes: Sequence[str] | None = None,
        timestamps: Any = None,
        poses: Any = None,
    ) -> None:
        """Score a batch and keep its rows.

        Args:
            predictions: One dictionary per frame: ``polylines``, a sequence of ``(n, 2 or 3)`` arrays in metres or one
                ``(polylines, n, 2 or 3)`` array; ``labels``, names or whole numbers; ``confidence``, numbers in [0, 1].
                For metrics that need tracks also ``tracks``, whole numbers or texts: an object has the same id in all
                frames of its scene. For metrics of lane graphs also ``links``, an array ``(polylines, polylines)`` of
                scores in [0, 1]: entry ``[i, j]`` says that lane i leads into lane j, or that traffic element j applies
                to lane i. Arrays of any library and tensors on any device are accepted. Or ``MapFrames``.
            truth: The truth of the same frames in the same order, without confidences. Or ``MapFrames``, which are
                aligned by token.
            tokens: The name of each frame. With tokens, repeated frames are detected, and results can be compared frame
                by frame. ``MapFrames`` have their own tokens.
            scenes: The scene of each frame, for intervals over scenes. Metrics of scenes need it.
            timestamps: The time of each frame as a whole number, or its number in its scene. Metrics of scenes need it,
                because the frames of a scene may arrive in any order.
            poses: The motion from each frame to the world, ``(frames, 4, 4)``. ``mas`` needs it.
        """
        self.add(self.score(predictions, truth, tokens, scenes, timestamps, poses))

    def score(
        self,
        predictions: Batch | MapFrames,
        truth: Batch | MapFrames,
        tokens: Sequence[str] | None = None,
        scenes: Sequence[str] | None = None,
        timestamps: Any = None,
        poses: Any = None,
    ) -> BatchRows:
        """Score a batch without keeping its rows. Repeated tokens are not detected; the arguments are as in ``update``.

        ``add`` of an accumulator with the same settings takes the rows.
        """
        of_frames = {"tokens": tokens, "scenes": scenes, "timestamps": timestamps, "poses": poses}
        return score_batch(predictions, truth, of_frames, self.settings, self.numbers, self.degenerate)

    def merge(self, other: "Accumulator") -> None:
        """Add the frames of another accumulator with the same settings. The other accumulator does not change."""
        if not isinstance(other, Accumulator):
            raise InvalidInput(f"cannot merge a {type(other).__name__}, expected an Accumulator")
        if other.settings != self.settings:
            raise InvalidInput(f"cannot merge {other!r} into {self!r}: their settings differ")
        repeats = other._repeats
        if len(other):
            self.add(other.rows())
        self._repeats += repeats

    def add(self, rows: BatchRows) -> None:
        """Add rows that ``score`` or ``rows`` of an accumulator with the same settings returned.

        Frames without a name count as new.
        """
        here: set[str] = set()
        new = []
        for i, token in enumerate(rows.tokens):
            if not token or (token not in self._seen and token not in here):
                here.add(token)
                new.append(i)
        again = sorted(set(range(len(rows.tokens))) - set(new))
        if again and self.repeated == "error":
            raise InvalidInput(
                f"{len(again)} of {len(rows.tokens)} frames were seen before (first: {rows.tokens[again[0]]})",
                remedy='Call reset() between epochs, or pass repeated="drop" if a sampler repeats frames',
            )
        if new:
            self._rows.append(rows.at(new) if again else rows)
        self._seen.update(filter(None, rows.tokens))
        self._repeats += len(again)

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
        rows, (protocol, metrics, classes) = self.rows(), self.settings
        counts = [side.sum(axis=0).tolist() for side in (rows.scores.predicted, rows.scores.true)]
        inputs = [
            Input("", "", len(rows.tokens), dict(zip(classes, count, strict=True)), rows.hash_of(side))
            for side, count in enumerate(counts)
        ]
        tokens = tuple(token or f"#{i}" for i, token in enumerate(rows.tokens))
        scores, findings = self._whole(rows, tokens)
        return Results(
            protocol,
            metrics,
            classes,
            (),
            (inputs[0], inputs[1]),
            frames_missing=int(rows.tally[:, 2].sum()),
            frames_ignored=0,
            findings=(*self._findings(rows), *findings),
            version=__version__,
            source=scores,
            rows=MemoryRows(tokens, rows.scenes if all(rows.scenes) else None, scores),
        )

    def _whole(self, rows: BatchRows, tokens: tuple[str, ...]) -> tuple[Scores, tuple[Finding, ...]]:
        """Return the rows of all metrics. Scenes are scored once, unless frames are added."""
        if rows.kept is None:
            return rows.scores, ()
        if self._of_scenes is None or self._of_scenes[0] is not rows:
            protocol, metrics, _ = self.settings
            scores, findings = rows.kept.scored(protocol, self.settings.of_scenes, rows.tokens, tokens, rows.hashes)
            self._of_scenes = rows, rows.scores.and_metrics(scores, metrics), findings
        return self._of_scenes[1:]

    def _findings(self, rows: BatchRows) -> list[Finding]:
        findings = []
        for k, side in enumerate(SIDES):
            count = int(rows.tally[:, k].sum())
            if count:
                text = f"{side}: {count} instances dropped that have fewer than 2 points or a number that is not finite"
                findings.append(Finding("warning", "dropped-degenerate", text, count))
        if self._repeats:
            text = f"{self._repeats} frames dropped because their tokens were seen before"
            findings.append(Finding("note", "dropped-repeated", text, self._repeats))
        return findings
