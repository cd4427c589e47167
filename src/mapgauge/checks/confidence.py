"""Have predictions confidences in [0, 1] that tell them apart, and has truth none?"""

from collections.abc import Iterator

import numpy as np

from mapgauge.checks.context import Context, examples, percent
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames


def on_the_right_side(context: Context) -> Iterator[Finding]:
    """Predictions have confidences, truth has none; else the files may be exchanged."""
    missing = context.predictions.confidence is None and len(context.predictions.polylines) > 0
    if missing and _varies(context.truth):
        text = (
            "the truth has confidences and the predictions have none: they are exchanged. The predictions come first: "
            "check(predictions, truth)"
        )
        yield Finding("error", "sides-exchanged", text, len(context.truth.polylines))
    elif missing:
        text = (
            "the predictions have no confidences. Is it a truth file? If all predictions are meant to count fully, use "
            "predictions.with_confidence(1)"
        )
        yield Finding("error", "confidence-missing", text, len(context.predictions.polylines))
    elif _varies(context.truth):
        text = (
            "the truth has confidences, and they differ. Is it a file of predictions? If two models are to be compared "
            "with each other, this is as it should be; else use truth.with_confidence(None)"
        )
        yield Finding("warning", "truth-confidence", text, len(context.truth.polylines))
    elif context.truth.confidence is not None and len(context.truth.confidence):
        text = (
            f"the truth has confidences, all {context.truth.confidence[0]:.4g}. Use truth.with_confidence(None) if "
            "they mean nothing"
        )
        yield Finding("note", "truth-confidence", text, len(context.truth.polylines))


def in_range(context: Context) -> Iterator[Finding]:
    """Logits, percentages and whatever else is no confidence."""
    for name, side in context.sides:
        if side.confidence is None:
            continue
        values = side.confidence
        rows = np.flatnonzero(~((values >= 0) & (values <= 1)))
        if not len(rows):
            continue
        low, high = float(values.min()), float(values.max())
        guess = "Bring them into [0, 1]"
        if low < 0:
            guess = "Logits? They need a sigmoid: 1 / (1 + exp(-x))"
        elif 10 < high <= 100:
            guess = "Percentages? Divide by 100"
        text = (
            f"{name}: {len(rows)} of {len(values)} confidences ({percent(len(rows), len(values))}) are outside of "
            f"[0, 1]; they go from {low:.4g} to {high:.4g}. {guess}"
        )
        yield Finding("error", "confidence-range", text, len(rows), examples(side, rows))


def telling_apart(context: Context) -> Iterator[Finding]:
    """Confidences that are all the same."""
    values = context.predictions.confidence
    if values is None or len(values) < 2 or values.min() != values.max():
        return
    if values[0] == 0:
        text = (
            f"all {len(values)} confidences are 0. For PLD nothing is predicted then, and for AP the order of "
            "predictions is by chance. Were they lost when the file was written?"
        )
        yield Finding("warning", "confidence-zero", text, len(values))
    else:
        text = (
            f"all {len(values)} confidences are {values[0]:.4g}. AP then depends on the order in the file, and PLD "
            "cannot tell sure from unsure. Were they lost when the file was written?"
        )
        yield Finding("warning", "confidence-equal", text, len(values))


def _varies(side: MapFrames) -> bool:
    return (
        side.confidence is not None and len(side.confidence) > 0 and bool(side.confidence.min() < side.confidence.max())
    )
