"""Do the frames of both sides meet?"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from mapgauge.checks.context import EXAMPLES, Context, percent
from mapgauge.frames.findings import Finding

# How data sets name their frames.
KINDS = {
    "nuScenes": re.compile(r"[0-9a-f]{32}"),
    "Argoverse 2": re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}_\d+"),  # log id and timestamp
    "timestamp": re.compile(r"\d{9,20}"),  # Argoverse 2 without the log id, and others
}
_MOST = 0.9  # share of tokens that makes a kind

# What files of different projects do to the same tokens: a change, the expression that makes it, and what it is.
_CHANGES: tuple[tuple[Callable[[str], str], str, str], ...] = (
    (lambda token: token.strip().lower(), "token.strip().lower()", "but for blanks and upper or lower case"),
    (
        lambda token: token.rpartition("_")[2],
        'token.rpartition("_")[2]',
        "without the log id (MapTR writes logid_timestamp for Argoverse 2, StreamMapNet and MapTracker the timestamp)",
    ),
    (
        lambda token: token.split("/")[-1].partition(".")[0],
        'token.split("/")[-1].partition(".")[0]',
        "without folder and file suffix",
    ),
)
_ENOUGH = 0.5  # share of tokens that meet after a change, for it to be the likely cause


def kind_of(tokens: Sequence[str]) -> str | None:
    """Whose tokens these look like."""
    for kind, pattern in KINDS.items():
        if sum(pattern.fullmatch(token) is not None for token in tokens) > _MOST * len(tokens):
            return kind
    return None


def no_frames(context: Context) -> Iterator[Finding]:
    """A side without frames: nothing can be compared."""
    for name, side in context.sides:
        if not len(side):
            yield Finding("error", "frames-none", f"{name}: no frames at all. Was the file written completely?", 0)


def duplicates(context: Context) -> Iterator[Finding]:
    """A token that occurs twice: which of its frames counts?"""
    for name, side in context.sides:
        twice = [token for token, times in Counter(side.tokens).items() if times > 1]
        if twice:
            text = (
                f"{name}: {len(twice)} tokens occur more than once, and it is open which of their frames counts. "
                "Were results of several runs or processes joined? Write each frame once"
            )
            yield Finding("error", "tokens-duplicate", text, len(twice), tuple(twice[:EXAMPLES]))


def meeting(context: Context) -> Iterator[Finding]:
    """Tokens on one side only, and the likely cause."""
    x, y = (dict.fromkeys(side.tokens) for _, side in context.sides)
    unknown = [token for token in x if token not in y]
    missing = [token for token in y if token not in x]
    if not x or not y:
        return
    cause = _cause(unknown, missing)
    if not context.shared:
        text = f"none of the {len(x)} tokens of the predictions is among the {len(y)} of the truth"
        yield Finding(
            "error",
            "tokens-disjoint",
            f"{text}. {cause.removesuffix('.') or _kinds(unknown, missing)}",
            len(x) + len(y),
            (unknown[0], missing[0]),
        )
        return
    if unknown:
        text = (
            f"{len(unknown)} of {len(x)} frames of the predictions ({percent(len(unknown), len(x))}) are not in the "
            f"truth. {cause or 'Is it another split, or is the truth file cut or stale?'} "
            'An evaluation refuses them unless told to leave them out (unknown="ignore")'
        )
        yield Finding("error", "tokens-unknown", text, len(unknown), tuple(unknown[:EXAMPLES]))
    if missing:
        guess = "Was the run partial, or on another split?"
        if context.predictions.format.startswith("vectormapnet"):
            guess = "VectorMapNet leaves out frames in which it predicts nothing."
        text = (
            f"{len(missing)} of {len(y)} frames of the truth ({percent(len(missing), len(y))}) are not in the "
            f"predictions. {cause or guess} They count as predicted empty"
        )
        yield Finding("warning", "tokens-missing", text, len(missing), tuple(missing[:EXAMPLES]))


def order(context: Context) -> Iterator[Finding]:
    """The same frames in another order: no matter here, but a trap elsewhere."""
    x, y = (dict.fromkeys(side.tokens) for _, side in context.sides)
    first, second = [token for token in x if token in y], [token for token in y if token in x]
    moved = [a for a, b in zip(first, second, strict=True) if a != b]
    if moved:
        text = (
            f"{len(moved)} of {len(first)} frames come in another order than in the truth. Here frames meet by token; "
            "MapTR's evaluator pairs them by position and would print a wrong number for these files"
        )
        yield Finding("note", "tokens-order", text, len(moved), tuple(moved[:EXAMPLES]))


def _cause(unknown: Sequence[str], missing: Sequence[str]) -> str:
    """What would make the tokens of one side those of the other, if anything does."""
    for change, expression, what in _CHANGES:
        met = {change(token) for token in unknown} & {change(token) for token in missing}
        if met and len(met) >= _ENOUGH * min(len(unknown), len(missing)):
            remedies = [
                f"dataclasses.replace({side}, tokens=tuple({expression} for token in {side}.tokens))"
                for side, tokens in (("predictions", unknown), ("truth", missing))
                if any(change(token) != token for token in tokens)
            ]
            return f"{len(met)} of these would meet {what}. Use {' and '.join(remedies)}."
    return ""


def _kinds(unknown: Sequence[str], missing: Sequence[str]) -> str:
    """A guess from how the tokens look."""
    x, y = kind_of(unknown), kind_of(missing)
    if x != y and (x == "nuScenes" or y == "nuScenes"):
        side, other = ("predictions", "truth") if x == "nuScenes" else ("truth", "predictions")
        return f"Those of the {side} look like nuScenes (32 hexadecimal digits), those of the {other} do not"
    return "Do the files belong to the same data set and split?"
