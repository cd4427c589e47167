"""Checks that both sides have the same frames."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from mapgauge.checks.context import EXAMPLES, Context, percent
from mapgauge.errors import Remedy
from mapgauge.frames.findings import Finding

# Patterns of the tokens of data sets.
KINDS = {
    "nuScenes": re.compile(r"[0-9a-f]{32}"),
    "Argoverse 2": re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}_\d+"),  # log id and timestamp
    "timestamp": re.compile(r"\d{9,20}"),  # Argoverse 2 without the log id, and others
}
_MOST = 0.9  # share of tokens that must match a pattern


class Change(NamedTuple):
    """A difference between the tokens of two projects for the same frames."""

    apply: Callable[[str], str]
    expression: str  # the same in Python
    match: str  # when the tokens match
    advice: str  # what to do with the tokens


_CHANGES = (
    Change(
        lambda token: token.strip().lower(),
        "token.strip().lower()",
        "except for blanks and case",
        "Remove blanks and use lower case in",
    ),
    Change(
        lambda token: token.rpartition("_")[2],
        'token.rpartition("_")[2]',
        "without the log id (MapTR writes logid_timestamp for Argoverse 2, StreamMapNet and MapTracker write the "
        "timestamp)",
        "Remove the log id and the underscore from",
    ),
    Change(
        lambda token: token.split("/")[-1].partition(".")[0],
        'token.split("/")[-1].partition(".")[0]',
        "without folder and file suffix",
        "Remove the folder and the file suffix from",
    ),
)
_ENOUGH = 0.5  # a change is the likely cause if at least this share of tokens matches after it


def kind_of(tokens: Sequence[str]) -> str | None:
    """Return the data set that the tokens seem to belong to."""
    for kind, pattern in KINDS.items():
        if sum(pattern.fullmatch(token) is not None for token in tokens) > _MOST * len(tokens):
            return kind
    return None


def no_frames(context: Context) -> Iterator[Finding]:
    """Find sides without frames."""
    for name, side in context.sides:
        if not len(side):
            remedy = Remedy.of("Check that the file was written completely")
            yield Finding("error", "frames-none", f"{name}: no frames", 0, remedy=remedy)


def duplicates(context: Context) -> Iterator[Finding]:
    """Find tokens that occur more than once."""
    for name, side in context.sides:
        twice = [token for token, times in Counter(side.tokens).items() if times > 1]
        if twice:
            text = f"{name}: {len(twice)} tokens occur more than once, so it is unclear which of their frames counts"
            remedy = Remedy.of("Write each frame once, also when results of several runs or processes are joined")
            yield Finding("error", "tokens-duplicate", text, len(twice), tuple(twice), remedy)


def one_side_only(context: Context) -> Iterator[Finding]:
    """Find tokens that only one side has, and the likely cause."""
    x, y = (dict.fromkeys(side.tokens) for _, side in context.sides)  # dictionaries keep the order
    unknown = [token for token in x if token not in y]
    missing = [token for token in y if token not in x]
    if not x or not y:
        return
    cause, remedy = _cause(unknown, missing)
    if not context.shared:
        text = f"none of the {len(x)} tokens of the predictions is among the {len(y)} tokens of the truth"
        text += cause or _kinds(unknown, missing)
        remedy = remedy or Remedy.of("Check that both files belong to the same data set and split")
        yield Finding("error", "tokens-disjoint", text, len(x) + len(y), (unknown[0], missing[0]), remedy)
        return
    if unknown:
        share = percent(len(unknown), len(x))
        text = f"{len(unknown)} of {len(x)} frames of the predictions ({share}) are not in the truth{cause}"
        other = Remedy(
            'Check that the truth is complete and of the same split, or pass unknown="ignore" to leave them out',
            "Check that the truth is complete and of the same split, or pass --ignore-unknown to leave them out",
        )
        yield Finding("error", "tokens-unknown", text, len(unknown), tuple(unknown), remedy or other)
    if missing:
        share = percent(len(missing), len(y))
        text = (
            f"{len(missing)} of {len(y)} frames of the truth ({share}) are not in the predictions{cause}. "
            "They count as predicted empty"
        )
        other = Remedy.of("Check that the run was complete and on the same split")
        if context.predictions.format.startswith("vectormapnet"):
            other = Remedy.of("Check that this is intended: VectorMapNet leaves out frames without predictions")
        yield Finding("warning", "tokens-missing", text, len(missing), tuple(missing), remedy or other)


def order(context: Context) -> Iterator[Finding]:
    """Find frames in a different order. It does not matter here, but it does for evaluators that pair by position."""
    x, y = (dict.fromkeys(side.tokens) for _, side in context.sides)
    first, second = [token for token in x if token in y], [token for token in y if token in x]
    moved = [a for a, b in zip(first, second, strict=True) if a != b]
    if moved:
        text = (
            f"{len(moved)} of {len(first)} frames are in another order than in the truth. Frames are matched by token "
            "here, but MapTR's evaluator pairs them by position and would print a wrong number for these files"
        )
        yield Finding("note", "tokens-order", text, len(moved), tuple(moved[:EXAMPLES]))


def _cause(unknown: Sequence[str], missing: Sequence[str]) -> tuple[str, Remedy | None]:
    """Return the change that makes the tokens of both sides match, as text and remedy, if there is one."""
    for change in _CHANGES:
        matching = {change.apply(token) for token in unknown} & {change.apply(token) for token in missing}
        if matching and len(matching) >= _ENOUGH * min(len(unknown), len(missing)):
            sides = [
                side
                for side, tokens in (("predictions", unknown), ("truth", missing))
                if any(change.apply(token) != token for token in tokens)
            ]
            calls = [
                f"dataclasses.replace({side}, tokens=tuple({change.expression} for token in {side}.tokens))"
                for side in sides
            ]
            shell = f"{change.advice} the tokens of the {' and the '.join(sides)}"
            return f"; {len(matching)} of them match {change.match}", Remedy(f"Use {' and '.join(calls)}", shell)
    return "", None


def _kinds(unknown: Sequence[str], missing: Sequence[str]) -> str:
    """Describe the difference between tokens of two data sets, if one of them is nuScenes."""
    x, y = kind_of(unknown), kind_of(missing)
    if x != y and (x == "nuScenes" or y == "nuScenes"):
        side, other = ("predictions", "truth") if x == "nuScenes" else ("truth", "predictions")
        return f". Those of the {side} look like nuScenes (32 hexadecimal digits), those of the {other} do not"
    return ""
