"""Turns predictions onto the axes of the truth, where it is certain that their axes differ."""

from dataclasses import replace

from mapgauge.checks.context import Context, Turn
from mapgauge.errors import Remedy
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames


def with_axes_of(predictions: MapFrames, truth: MapFrames) -> MapFrames:
    """Return the predictions on the axes of the truth, with a finding if they were turned or may have to be.

    They are turned only if two things agree: both sides know which axis points forward, and the nearest distances
    show the same turn.

    >>> from mapgauge.demo import demo_world
    >>> predictions, truth = demo_world(4)
    >>> with_axes_of(predictions.rotate(90), truth).findings[-1].code
    'axes-corrected'
    """
    context = Context.of(predictions, truth)
    turn = context.turn
    known = context.known_turns
    if not turn.what and not known:
        return predictions  # they fit, as far as can be told
    if known and turn.degrees == 90 * known:
        return _noted(predictions.rotate(turn.degrees), _turned(context, turn))
    return _noted(predictions, _not_turned(context, turn, known))


def _noted(frames: MapFrames, finding: Finding) -> MapFrames:
    return replace(frames, findings=(*frames.findings, finding))


def _turned(context: Context, turn: Turn) -> Finding:
    neighbours = context.neighbours
    text = (
        f"the predictions were turned by {turn.degrees} degrees to the axes of the truth: they have "
        f"{context.predictions.forward} forward, and the truth has {context.truth.forward} forward. The median "
        f"distance from a truth instance to the nearest prediction was {neighbours.gap():.1f} m, and is "
        f"{neighbours.gap(turn):.1f} m now"
    )
    return Finding("note", "axes-corrected", text, neighbours.count)


def _not_turned(context: Context, turn: Turn, known: int | None) -> Finding:
    """Return why predictions that may have other axes were not turned."""
    stated = [
        f"the {name} {f'have {side.forward} forward' if side.forward else 'do not say which axis points forward'}"
        for name, side in context.sides
    ]
    shown = (
        f"the nearest distances show that the predictions are {turn.what}"
        if turn.what
        else ("the nearest distances do not show it")
    )
    text = f"the predictions were not turned, because it is not certain how: {', '.join(stated)}, and {shown}"
    lacking = known is None and turn.degrees
    remedy = Remedy(
        "Say which axis points forward with .with_forward(), or turn one side with .rotate()",
        "Say which axis points forward with FILE,forward=x or FILE,forward=y, or turn one side with FILE,rotate=-90",
    )
    return Finding("warning", "axes-uncertain", text, context.neighbours.count, remedy=remedy if lacking else None)
