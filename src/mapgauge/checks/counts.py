"""Checks the numbers of frames and instances."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from mapgauge.checks.classes import common_name
from mapgauge.checks.context import EXAMPLES, Context, percent
from mapgauge.checks.extent import extent_of
from mapgauge.checks.tokens import kind_of
from mapgauge.errors import Remedy
from mapgauge.frames.findings import Finding

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
