"""``MapFrames`` in a notebook: a table of counts, and a drawing of one frame."""

from typing import TYPE_CHECKING

import numpy as np

from mapgauge.markup.colours import colours_of
from mapgauge.markup.html import block, legend, line, shortened, table
from mapgauge.markup.svg import Stroke, drawing

if TYPE_CHECKING:
    from mapgauge.frames.map_frames import MapFrames

FAINTEST = 0.1  # the smallest opacity of a prediction


def frames_html(frames: "MapFrames") -> str:
    """Return a table of the classes, and a drawing of the first frame that has instances."""
    counts = frames.counts
    rows = [[name, f"{count:,}", f"{count / max(len(frames), 1):.1f}"] for name, count in counts.items()]
    scenes = "" if frames.scenes is None else f" of {len(set(frames.scenes)):,} scenes"
    kind = "truth" if frames.confidence is None else "predictions"
    name = shortened(frames.name or kind)
    pieces: list[str] = [
        line(f"MapFrames {name}: {kind}, {len(frames):,} frames{scenes}, {frames.dimension}-D"),
        table(["class", "instances", "per frame"], rows),
    ]
    if len(frames.polylines):
        first = int(frames.frame[0])
        start, stop = frames.offsets[first : first + 2].tolist()
        colours = colours_of(frames.classes)
        shown = np.arange(start, stop)
        if frames.confidence is not None:
            shown = shown[np.argsort(frames.confidence[shown], kind="stable")]  # the surest on top
        strokes = [
            Stroke(
                frames.polylines[i],
                colours[frames.classes[frames.label[i]]],
                opacity=1.0 if frames.confidence is None else max(float(frames.confidence[i]), FAINTEST),
            )
            for i in shown.tolist()
        ]
        there = {frames.classes[label] for label in frames.label[start:stop].tolist()}
        pieces += [
            line(f"Frame {frames.tokens[first]}, x to the right, y upwards"),
            drawing(strokes, "the polylines of one frame"),
            legend({name: colour for name, colour in colours.items() if name in there}),
        ]
    return block(*pieces)
