"""Are there as many frames and instances as there should be?"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from mapgauge.checks.classes import common_name
from mapgauge.checks.context import EXAMPLES, Context, percent
from mapgauge.checks.extent import extent_of
from mapgauge.checks.tokens import kind_of
from mapgauge.frames.findings import Finding

_SAME_REGION = 3.0  # metres


@dataclass(frozen=True, slots=True)
class Published:
    """The truth of a data set, as papers and issues give it, for 60 x 30 m."""

    name: str
    kinds: tuple[str, ...]  # of tokens
    frames: int
    instances: Mapping[str, tuple[int, ...]]  # by class; more than one number where projects differ


PUBLISHED = (
    Published(
        "nuScenes val",
        ("nuScenes",),
        6019,
        {
            "divider": (27332,),
            "ped_crossing": (6406, 6922),  # MapTR, MapTracker: other rules for joining crossings
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
    """Frames without instances, and sides without any."""
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
            text = f"predictions: none of the {len(side)} frames has an instance. Did a threshold remove them all?"
            yield Finding("warning", "predictions-empty", text, len(frames), tokens)
        else:
            text = f"truth: none of the {len(side)} frames has an instance, so there is nothing to compare with"
            yield Finding("error", "truth-empty", text, len(frames), tokens)


def published(context: Context) -> Iterator[Finding]:
    """Numbers of frames and instances, against those that others got from the same data set."""
    kind, frames = kind_of(context.truth.tokens), len(context.truth)
    known = next((row for row in PUBLISHED if kind in row.kinds), None)
    if known is None:
        return
    if frames != known.frames:
        if kind == "nuScenes":
            text = (
                f"the truth has {frames} frames with tokens as in nuScenes, whose val split has {known.frames}. Is it "
                "the mini split, the new split without common places, or a part?"
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
                "published. Is the truth stale, cut to another region, or made by other rules?"
            )
            yield Finding("note", "instances-published", text, count)
