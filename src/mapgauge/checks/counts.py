"""Checks of confidences, and of the numbers of instances."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from mapgauge.checks.classes import common_name
from mapgauge.checks.context import EXAMPLES, Context, examples, percent
from mapgauge.checks.extent import extent_of
from mapgauge.checks.tokens import kind_of
from mapgauge.errors import Remedy
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames


def on_the_right_side(context: Context) -> Iterator[Finding]:
    """Check that predictions have confidences and truth has none; otherwise the files may be swapped."""
    missing = context.predictions.confidence is None and len(context.predictions.polylines) > 0
    if missing and _varies(context.truth):
        text = "the truth has confidences and the predictions have none: they are swapped"
        remedy = Remedy.of("Give the predictions first and the truth second")
        yield Finding("error", "sides-exchanged", text, len(context.truth.polylines), remedy=remedy)
    elif missing:
        text = "the predictions have no confidences. This may be a truth file"
        remedy = Remedy(
            "Use predictions.with_confidence(1) to give all predictions the confidence 1",
            "Give the file as FILE,certain for the confidence 1 of all predictions",
        )
        yield Finding("error", "confidence-missing", text, len(context.predictions.polylines), remedy=remedy)
    elif _varies(context.truth):
        text = "the truth has different confidences. This may be a file of predictions"
        remedy = Remedy(
            "Use truth.with_confidence(None), unless you compare two models with each other",
            "Check which file is the truth, unless you compare two models with each other",
        )
        yield Finding("warning", "truth-confidence", text, len(context.truth.polylines), remedy=remedy)
    elif context.truth.confidence is not None and len(context.truth.confidence):
        text = f"the truth has confidences, and all are {context.truth.confidence[0]:.4g}"
        remedy = Remedy(
            "Use truth.with_confidence(None) if they have no meaning",
            "Write the truth without confidences if they have no meaning",
        )
        yield Finding("note", "truth-confidence", text, len(context.truth.polylines), remedy=remedy)


def in_range(context: Context) -> Iterator[Finding]:
    """Find confidences outside [0, 1], such as logits and percentages."""
    for name, side in context.sides:
        if side.confidence is None:
            continue
        values = side.confidence
        rows = np.flatnonzero(~((values >= 0) & (values <= 1)))
        if not len(rows):
            continue
        low, high = float(values.min()), float(values.max())
        advice = "Scale them to [0, 1]"
        if low < 0:
            advice = "Apply a sigmoid, 1 / (1 + exp(-x)), if they are logits"
        elif 10 < high <= 100:
            advice = "Divide them by 100 if they are percentages"
        text = (
            f"{name}: {len(rows)} of {len(values)} confidences ({percent(len(rows), len(values))}) are outside "
            f"[0, 1]; they range from {low:.4g} to {high:.4g}"
        )
        yield Finding("error", "confidence-range", text, len(rows), examples(side, rows), Remedy.of(advice))


def all_equal(context: Context) -> Iterator[Finding]:
    """Find confidences that are all equal."""
    values = context.predictions.confidence
    if values is None or len(values) < 2 or values.min() != values.max():
        return
    if values[0] == 0:
        code, effect = "confidence-zero", "For PLD this means no predictions"
    elif any(step.name == "with_confidence" for step in context.predictions.history or ()):
        return  # as asked for
    else:
        code, effect = "confidence-equal", "PLD weights all predictions alike"
    text = (
        f"all {len(values)} confidences are {values[0]:.4g}. {effect}. AP has a single threshold, at which all "
        "predictions count"
    )
    remedy = Remedy.of("Check that the confidences were not lost when the file was written")
    yield Finding("warning", code, text, len(values), remedy=remedy)


def _varies(side: MapFrames) -> bool:
    return (
        side.confidence is not None and len(side.confidence) > 0 and bool(side.confidence.min() < side.confidence.max())
    )


_SAME_REGION = 3.0  # metres


@dataclass(frozen=True, slots=True)
class Published:
    """Numbers of frames and instances of a data set at 60 x 30 m, from papers and issues."""

    name: str
    kinds: tuple[str, ...]  # kinds of tokens
    frames: int
    instances: Mapping[str, tuple[int, ...]]  # by class; several numbers if projects differ


PUBLISHED = (
    Published(
        "nuScenes val",
        ("nuScenes",),
        6019,
        {
            "divider": (27332,),
            "ped_crossing": (6406, 6922),  # MapTR, MapTracker: different rules for joining crossings
            "boundary": (21050,),
            "centerline": (48536,),
        },
    ),
    Published(
        "Argoverse 2 val (MapTRv2, MapTracker)",
        ("Argoverse 2", "timestamp"),
        5881,
        {"ped_crossing": (11588,), "divider": (16541,), "boundary": (17831,)},
    ),
)


def empty(context: Context) -> Iterator[Finding]:
    """Find frames without instances, and sides without any."""
    for name, side in context.sides:
        frames = np.flatnonzero(np.diff(side.offsets) == 0).tolist()
        tokens = tuple(side.tokens[i] for i in frames[:EXAMPLES])
        if not frames:
            continue
        if len(frames) < len(side):
            share = percent(len(frames), len(side))
            text = f"{name}: {len(frames)} of {len(side)} frames ({share}) have no instances"
            yield Finding("note", f"{name}-frames-empty", text, len(frames), tokens)
        elif name == "predictions":
            text = f"predictions: none of the {len(side)} frames has instances"
            remedy = Remedy.of("Check that no threshold removed them all")
            yield Finding("warning", "predictions-empty", text, len(frames), tokens, remedy)
        else:
            text = f"truth: none of the {len(side)} frames has instances, so there is nothing to compare with"
            remedy = Remedy.of("Check that this is the truth file and that it was written completely")
            yield Finding("error", "truth-empty", text, len(frames), tokens, remedy)


def published(context: Context) -> Iterator[Finding]:
    """Compare numbers of frames and instances with those published for the same data set."""
    kind, frames = kind_of(context.truth.tokens), len(context.truth)
    known = next((row for row in PUBLISHED if kind in row.kinds), None)
    if known is None:
        return
    if frames != known.frames:
        if kind == "nuScenes":
            text = (
                f"the truth has {frames} frames with tokens as in nuScenes, whose val split has {known.frames}. It may "
                "be the mini split, the new split without common places, or a subset"
            )
            yield Finding("note", "frames-published", text, frames)
        return
    extent = extent_of(context.sampled[1])
    if extent is None or np.abs(np.sort(extent.size) - (30, 60)).max() > _SAME_REGION:
        return  # the numbers are for 60 x 30 m
    for name, count in context.offered[1].items():
        others = known.instances.get(common_name(name), (count,))
        if count not in others:
            text = (
                f"class {name}: {count} instances in the truth; {known.name} has {' or '.join(map(str, others))} as "
                "published. The truth may be outdated, cropped to another region, or made by other rules"
            )
            yield Finding("note", "instances-published", text, count)
