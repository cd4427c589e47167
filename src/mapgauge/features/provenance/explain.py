"""``explain``: walks from one evaluation to another, one difference at a time, and says what each step adds."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from mapgauge.errors import InvalidInput, MapgaugeError, Remedy
from mapgauge.evaluation.evaluate import evaluate_frames
from mapgauge.frames.columns import column_of
from mapgauge.frames.content import frame_hashes
from mapgauge.frames.map_frames import MapFrames
from mapgauge.metrics.table import METRICS
from mapgauge.protocols import Protocol
from mapgauge.results.differences import text_of
from mapgauge.results.results import Results
from mapgauge.results.saving import read_again
from mapgauge.scoring.prepare import Frames, with_scenes
from mapgauge.typing import Progress
from mapgauge.version import __version__
from mapgauge.words import counted

DIGITS = 4  # of values in tables
_MANY_DIGITS = 9  # of values in JSON
_SIDES = ("predictions", "truth")
_DATA = (*_SIDES, "tokens")
_NAMES = ("name", "about", "headline")
_AGAIN = "computed again"
_COMPUTED = f"computed by mapgauge {__version__}"
_GIVE = Remedy("Pass inputs=", "Give the files after the name of the results: RESULTS,predictions=FILE,truth=FILE")
# Settings that only make sense together, and the name of their step. They come first.
_TOGETHER = {
    **dict.fromkeys(("spacing", "count", "sampling", "truth_count"), "sampling"),
    **dict.fromkeys(("region", "crop"), "region"),
}
# What is evaluated: settings of the protocol by flat name, the predictions, the truth, and the tokens of the frames.
_State: TypeAlias = dict[str, Any]
_Change: TypeAlias = tuple[tuple[str, str, str], _State]  # the words of a step, and the part of the state that changes


class ExplainedStep(NamedTuple):
    """A step from one evaluation to another: what changes, from what to what, and the values after it."""

    what: str
    first: str
    second: str
    values: dict[str, float]  # mean over classes, by key


@dataclass(frozen=True)
class Explanation:
    """The steps from one evaluation to another. The values after the last step are the values of the other."""

    begin: dict[str, float]  # the values of the first evaluation, by key
    steps: tuple[ExplainedStep, ...]
    left_out: tuple[str, ...] = ()  # keys without a value somewhere on the way

    @property
    def end(self) -> dict[str, float]:
        """The values of the other evaluation."""
        if self.steps:
            return self.steps[-1].values
        return self.begin

    def added(self, key: str, digits: int = DIGITS) -> list[Decimal]:
        """Return what each step adds to a value, with some digits after the point.

        The values are rounded, not the differences. The sum of all steps is therefore exactly the difference of the
        rounded values of both evaluations.
        """
        values = [self.begin, *(step.values for step in self.steps)]
        rounded = [Decimal(by_key[key]).quantize(Decimal(1).scaleb(-digits)) for by_key in values]
        return [after - before for before, after in pairwise(rounded)]

    def to_dict(self) -> dict[str, Any]:
        """Return the walk as plain values. All have nine digits after the point, so that they add up as decimals."""
        added = {key: self.added(key, _MANY_DIGITS) for key in self.begin}
        steps = [
            step._asdict() | {"values": _rounded(step.values), "adds": {key: float(added[key][k]) for key in added}}
            for k, step in enumerate(self.steps)
        ]
        ends = {"begin": _rounded(self.begin), "end": _rounded(self.end)}
        return ends | {"steps": steps, "left_out": list(self.left_out)}


def _rounded(values: Mapping[str, float]) -> dict[str, float]:
    return {key: round(value, _MANY_DIGITS) for key, value in values.items()}


def explain(
    first: Results,
    second: Results,
    *,
    inputs: Sequence[tuple[Frames | None, Frames | None]] = ((None, None), (None, None)),
    workers: int | None = None,
    progress: Progress | None = None,
) -> Explanation:
    """Walk from one evaluation to another, one difference at a time, and evaluate after each step.

    The order is: settings of the protocol, settings of metrics, frames that only the first has, the truth, the
    predictions, frames that only the second has. What a step adds depends on the steps before it. Truth and predictions
    are one step if another axis points forward in the second.

    Args:
        first: The results where the walk begins.
        second: The results where it ends. They must have a metric in common.
        inputs: The predictions and the truth of both results. If None, the recorded files are read again.
        workers: Number of threads. If None, the number of processors.
        progress: A function that is called with the number of finished steps and the number of all steps.

    Returns:
        The steps. Settings that are not valid without each other are one step. If the present version of mapgauge
        gives other values than the recorded ones, that is a step too.

    >>> import mapgauge as mg
    >>> truth = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}, "b": {"divider": [[[0, 0], [0, 9]]]}})
    >>> moved = mg.MapFrames.of({"a": {"divider": [[[0, 0.3], [9, 0.3]]]}}, confidence={"a": {"divider": [1]}})
    >>> settings = mg.protocol("paper-60x30", classes=["divider"])
    >>> one = mg.evaluate(moved, truth, settings, metrics=["pld"])
    >>> other = mg.evaluate(moved, truth.at([0]), settings.replace(cutoffs=[0.5]), metrics=["pld"])
    >>> walk = mg.explain(one, other, inputs=[(moved, truth), (moved, truth.at([0]))])
    >>> [(step.what, str(added)) for step, added in zip(walk.steps, walk.added("pld"))]
    [('cutoffs', '0.1948'), ('frames in the first only', '-0.0520')]
    """
    metrics = tuple(name for name in first.metrics if name in second.metrics)
    if not metrics:
        raise InvalidInput(
            "the results have no metric in common, so no value leads from one to the other. "
            f"The first have {', '.join(first.metrics)}, the second {', '.join(second.metrics)}",
            remedy="Evaluate both with one metric in common",
        )
    # Settings of a metric that only one protocol has are left out: no metric in common needs them.
    names = [name for name in first.protocol.flat() if name in second.protocol.flat() and name not in _NAMES]
    pairs = ((first, second), (second, first))
    state, target = (_state(*pair, given, names) for pair, given in zip(pairs, inputs, strict=True))
    begin, end = (_main(results, metrics) for results in (first, second))
    then, later = (f"recorded by mapgauge {results.version}" for results in (first, second))
    walked = [ExplainedStep(_AGAIN, then, _COMPUTED, values=_values(state, metrics, workers))]
    changes = [*_settings(state, target), *_data(state, target)]
    waiting: list[tuple[str, str, str]] = []
    for k, (words, changed) in enumerate(changes):
        waiting.append(words)
        state = state | changed
        try:
            values = _values(state, metrics, workers)
        except InvalidInput:
            if k == len(changes) - 1:
                raise
            continue  # not valid alone: taken together with the next one
        what, old, new = map(" and ".join, zip(*waiting, strict=True))
        walked.append(ExplainedStep(what, old, new, values=values))
        waiting = []
        if progress is not None:
            progress(k + 1, len(changes))
    if walked[-1].values != end:
        walked.append(ExplainedStep(_AGAIN, _COMPUTED, later, values=end))
    if walked[0].values == begin:
        del walked[0]
    kept = [key for key in begin if None not in (begin[key], *(step.values[key] for step in walked))]
    steps = tuple(step._replace(values={key: step.values[key] for key in kept}) for step in walked)
    return Explanation({key: begin[key] for key in kept}, steps, tuple(key for key in begin if key not in kept))


def _main(results: Results, metrics: Sequence[str]) -> dict[str, Any]:
    """Return the mean over classes of the main value of each metric, or None."""
    return {(key := METRICS[name].main.key): results.mean[key] for name in metrics}


def _values(state: _State, metrics: tuple[str, ...], workers: int | None) -> dict[str, Any]:
    """Evaluate, and return the main value of each metric."""
    shared: dict[str, Any] = {}
    settings: dict[str, dict[str, Any]] = {}
    for key, value in state.items():
        metric, dot, name = key.partition(".")
        if dot:
            settings.setdefault(metric, {})[name] = value
        elif key not in _DATA:
            shared[key] = value
    protocol = Protocol(name="the protocol of a step", **shared, settings=settings)
    x, y = (_picked(state[side], state["tokens"]) for side in _SIDES)
    return _main(evaluate_frames(x, y, protocol, metrics=metrics, unknown="ignore", workers=workers), metrics)


def _state(
    results: Results, other: Results, given: tuple[Frames | None, Frames | None], settings: Collection[str]
) -> _State:
    """Return what was evaluated. Both sides are as they were before classes were chosen and lines cut.

    The geometry in results is used if the files cannot be read again, and both results chose and cut in the same way.
    """
    try:
        x, y = read_again(results.inputs, given, results.origin)
    except MapgaugeError as error:
        if results.geometry is None or given != (None, None):
            raise
        if _cut(results.protocol) != _cut(other.protocol):
            why = "The geometry in the results cannot be used: the other results have other classes or another region"
            raise InvalidInput(f"{error.message}. {why}", remedy=_GIVE) from error
        x, y = results.geometry.all_sides
    if results.rows.scenes is not None:
        scenes = dict(zip(results.tokens, results.rows.scenes, strict=True))
        y = with_scenes(_picked(y, scenes), scenes)
    flat = results.protocol.flat()
    data = {"predictions": x, "truth": y, "tokens": frozenset(results.tokens)}
    return {name: flat[name] for name in settings} | data


def _cut(protocol: Protocol) -> tuple[Any, ...]:
    """Return the settings by which instances are chosen and cut."""
    return protocol.classes, protocol.crop and protocol.region, protocol.window, protocol.part


def _picked(frames: MapFrames, tokens: Collection[str]) -> MapFrames:
    """Return the frames with some tokens, in the order of the file."""
    return frames.at([k for k, token in enumerate(frames.tokens) if token in tokens])


def _settings(first: _State, second: _State) -> Iterator[_Change]:
    """Yield the settings that differ. Settings that belong together are one change."""
    steps: dict[str, list[str]] = {}
    for name in dict.fromkeys((*_TOGETHER, *first)):
        if name not in _DATA and first[name] != second[name]:
            steps.setdefault(_TOGETHER.get(name, name), []).append(name)
    for what, names in steps.items():
        old, new = (
            ", ".join(f"{'' if name == what else f'{name} '}{text_of(state[name])}" for name in names)
            for state in (first, second)
        )
        yield (what, old, new), {name: second[name] for name in names}


def _data(first: _State, second: _State) -> Iterator[_Change]:
    """Yield the frames and the sides that differ. Sides are compared on the frames that both have."""
    common = first["tokens"] & second["tokens"]
    own, both, others = (counted(len(tokens), "frame") for tokens in (first["tokens"], common, second["tokens"]))
    everything = {name: second[name] for name in _DATA}
    if not common:
        yield ("all frames, the truth and the predictions", own, others), everything
        return
    if common != first["tokens"]:
        yield ("frames in the first only", own, both), {"tokens": common}
    sides: list[_Change] = []
    for side in ("truth", "predictions"):
        old, new = (_picked(state[side], common) for state in (first, second))
        if sorted(frame_hashes(old, tracks=True)) != sorted(frame_hashes(new, tracks=True)):
            before, after = (
                f"{frames.name or 'in memory'}, {counted(len(frames.polylines), 'instance')}" for frames in (old, new)
            )
            sides.append(((f"the {side}{_in_what(old, new)}", before, after), {side: second[side]}))
    axes = [{state[side].forward for side in _SIDES} for state in (first, second)]
    if len(sides) == len(_SIDES) and axes in ([{"x"}, {"y"}], [{"y"}, {"x"}]):
        # The truth of one with the predictions of the other would be turned against each other.
        before, after = (f"{state['truth'].forward} forward" for state in (first, second))
        sides = [(("the truth and the predictions", before, after), {side: second[side] for side in _SIDES})]
    yield from sides
    if common != second["tokens"]:
        yield ("frames in the second only", both, others), everything


def _in_what(old: MapFrames, new: MapFrames) -> str:
    """Return in what two sides differ, if it is only the order of the lines or the confidences; "" otherwise."""
    if any(side.links is not None and len(side.links) for side in (old, new)):
        return ""  # links name lines by their place, so the order is more than an order
    if _lines(old, confidences=True) == _lines(new, confidences=True):
        return ": only the order of lines differs"
    if _lines(old, confidences=False) == _lines(new, confidences=False):
        return ": only confidences differ, the geometry is the same"
    return ""


def _lines(frames: MapFrames, *, confidences: bool) -> Counter[tuple[Any, ...]]:
    """Return how often each line occurs: its frame, class and points, and what else the hash of a frame has of it."""
    coords = frames.polylines.coords
    offsets = frames.polylines.offsets
    columns = {name: values for name, values in frames.columns.items() if column_of(name).hashed != "never"}
    sure = None
    if confidences:
        sure = frames.confidence
    return Counter(
        (
            frames.tokens[frame],
            frames.classes[label],
            np.ascontiguousarray(coords[start:end]).tobytes(),
            None if sure is None else sure[k],
            frozenset((name, str(values[k])) for name, values in columns.items()),
        )
        for k, (frame, label, (start, end)) in enumerate(
            zip(frames.frame.tolist(), frames.label.tolist(), pairwise(offsets.tolist()), strict=True)
        )
    )
