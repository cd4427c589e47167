"""Checks that both sides have the same frames and the same classes."""

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from mapgauge.checks.context import Context, Counts, format_of
from mapgauge.errors import Remedy
from mapgauge.frames.batches import ORDERS
from mapgauge.frames.findings import Finding, Level, findings_about, missing_frames, unknown_frames
from mapgauge.frames.lane_classes import LANE, LANE_LINES
from mapgauge.frames.synonyms import SYNONYMS
from mapgauge.protocols import PROTOCOLS
from mapgauge.words import counted

# Patterns of the tokens of data sets.
KINDS = {
    "nuScenes": re.compile(r"[0-9a-f]{32}"),
    "Argoverse 2": re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}_\d+"),  # log id and timestamp
    "timestamp": re.compile(r"\d{9,20}"),  # Argoverse 2 without the log id, and others
}


# Differences between the tokens of two projects for the same frames: a change, the same in Python, when the tokens
# match, and what to do with them.
_CHANGES: tuple[tuple[Callable[[str], str], str, str, str], ...] = (
    (
        lambda token: token.strip().lower(),
        "token.strip().lower()",
        "except for blanks and case",
        "Remove blanks and use lower case in",
    ),
    (
        lambda token: token.rpartition("_")[2],
        'token.rpartition("_")[2]',
        "without the log id (MapTR writes logid_timestamp for Argoverse 2, StreamMapNet and MapTracker write the "
        "timestamp)",
        "Remove the log id and the underscore from",
    ),
    (
        lambda token: token.split("/")[-1].partition(".")[0],
        'token.split("/")[-1].partition(".")[0]',
        "without folder and file suffix",
        "Remove the folder and the file suffix from",
    ),
)


def kind_of(tokens: Sequence[str]) -> str | None:
    """Return the data set that most of the tokens seem to belong to."""
    for kind, pattern in KINDS.items():
        if sum(pattern.fullmatch(token) is not None for token in tokens) > 0.9 * len(tokens):
            return kind
    return None


def no_frames(context: Context) -> Iterator[Finding]:
    """Find sides without frames."""
    for name, side in context.sides:
        if not len(side):
            remedy = Remedy.of("Check that the file was written completely")
            yield Finding("error", "frames-none", f"{name}: no frames", count=0, remedy=remedy)


def duplicates(context: Context) -> Iterator[Finding]:
    """Find tokens that occur more than once."""
    for name, side in context.sides:
        twice = [token for token, times in Counter(side.tokens).items() if times > 1]
        if twice:
            occur = "occur"
            if len(twice) == 1:
                occur = "occurs"
            text = (
                f"{name}: {counted(len(twice), 'token')} {occur} more than once, so it is unclear which of their "
                "frames counts"
            )
            remedy = Remedy.of("Write each frame once, also when results of several runs or processes are joined")
            yield Finding("error", "tokens-duplicate", text, count=len(twice), examples=tuple(twice), remedy=remedy)


def one_side_only(context: Context) -> Iterator[Finding]:
    """Find tokens that only one side has, and the likely cause."""
    x, y = (dict.fromkeys(side.tokens) for _, side in context.sides)  # dictionaries keep the order
    unknown = [token for token in x if token not in y]
    missing = [token for token in y if token not in x]
    if not x or not y:
        return
    cause, remedy = _cause(unknown, missing)
    if not context.shared:
        text = (
            f"none of the {counted(len(x), 'token')} of the predictions is among the {counted(len(y), 'token')} of the "
            f"truth{cause}"
        )
        kinds = kind_of(unknown), kind_of(missing)
        if not cause and kinds.count("nuScenes") == 1:
            if kinds[0] == "nuScenes":
                own = "predictions"
                others = "truth"
            else:
                own = "truth"
                others = "predictions"
            text += f". Those of the {own} look like nuScenes (32 hexadecimal digits), those of the {others} do not"
        remedy = remedy or Remedy.of("Check that both files belong to the same data set and split")
        yield Finding(
            "error", "tokens-disjoint", text, count=len(x) + len(y), examples=(unknown[0], missing[0]), remedy=remedy
        )
        return
    if unknown:
        yield unknown_frames(len(unknown), len(x), unknown, cause=cause, remedy=remedy)
    if missing:
        source = format_of(context.predictions)
        if remedy is None and source is not None and source.leaves_out_empty_frames:
            project = source.project or source.name
            remedy = Remedy.of(f"Check that this is intended: {project} leaves out frames without predictions")
        yield missing_frames(len(missing), len(y), missing, cause=cause, remedy=remedy)


def order(context: Context) -> Iterator[Finding]:
    """Find frames in a different order. It does not matter here, but it does for evaluators that pair by position."""
    x, y = (dict.fromkeys(side.tokens) for _, side in context.sides)
    first = [token for token in x if token in y]
    second = [token for token in y if token in x]
    moved = [a for a, b in zip(first, second, strict=True) if a != b]
    if moved:
        text = (
            f"{len(moved)} of {counted(len(first), 'frame')} are in another order than in the truth. Frames are "
            "matched by token here, but MapTR's evaluator pairs them by position and would print a wrong number for "
            "these files"
        )
        yield from findings_about(moved, "note", "tokens-order", text=text)


def _cause(unknown: Sequence[str], missing: Sequence[str]) -> tuple[str, Remedy | None]:
    """Return the change that makes half of the tokens of both sides match, as text and remedy, if there is one."""
    given = (("predictions", unknown), ("truth", missing))
    for change, expression, match, advice in _CHANGES:
        matching = set(map(change, unknown)) & set(map(change, missing))
        if matching and len(matching) >= 0.5 * min(len(unknown), len(missing)):
            sides = [side for side, tokens in given if any(change(token) != token for token in tokens)]
            calls = [f"dataclasses.replace({x}, tokens=tuple({expression} for token in {x}.tokens))" for x in sides]
            shell = f"{advice} the tokens of the {' and the '.join(sides)}"
            return f"; {len(matching)} of them match {match}", Remedy(f"Use {' and '.join(calls)}", shell)
    return "", None


# Names of the same class in different projects and maps.
_ALIASES = {
    alias: name
    for name, aliases in {
        "boundary": "boundaries contour contours road_boundaries",
        "ped_crossing": "pedestrian_crossings",
        "divider": "dividers",
        "centerline": "centreline centerlines centrelines lane_centerline lane_centreline",
    }.items()
    for alias in (*aliases.split(), *SYNONYMS.get(name, ()))
}


def common_name(class_name: str) -> str:
    """Return the usual name of a class."""
    plain = re.sub(r"[\s_-]+", "_", class_name.strip().lower())
    return _ALIASES.get(plain, plain)


def _spelling(class_name: str) -> str:
    """Return a name without case, separators and plural.

    >>> _spelling("Ped-Crossings") == _spelling("ped_crossing"), _spelling("Boundaries") == _spelling("boundary")
    (True, True)
    """
    plain = re.sub(r"[\W_]+", "", class_name.lower())
    if plain.endswith("ies"):
        return re.sub(r"ies$", "y", plain)
    return plain.removesuffix("s")


def _protocols_of_lanes(*, with_sides: bool) -> list[str]:
    """Return the names of the protocols that compare lanes: those with the lines on both sides of a lane, or without.

    All of them belong to features, so there may be none.
    """
    compared = {name: protocol.classes for name, protocol in PROTOCOLS.items()}
    return [
        name
        for name, classes in compared.items()
        if classes is not None and LANE in classes and (LANE_LINES[0] in classes) == with_sides
    ]


def names(context: Context) -> Iterator[Finding]:
    """Find classes that only one side has, and propose names."""
    x, y = context.offered
    known = tuple(dict.fromkeys((*y, *x)))
    if context.classes is None:
        asked = known
    else:
        asked = context.classes
    nowhere = [name for name in asked if name not in known]
    if nowhere:
        text = f"neither side has the class {', '.join(nowhere)}; available: {', '.join(known) or 'none'}"
        remedy = Remedy("Choose among these with classes=", "Choose among these with --classes")
        if LANE in known and LANE not in asked:
            of_lanes = _protocols_of_lanes(with_sides=LANE_LINES[0] in known)
            if of_lanes:
                listed = ", ".join(of_lanes)
                remedy = Remedy(
                    f"For lanes, choose one of the protocols {listed}",
                    f"For lanes, pass --protocol with one of {listed}",
                )
        level: Level = "note"
        if context.named:
            level = "warning"
        if len(nowhere) == len(asked):
            level = "error"  # nothing is left to compare
        yield Finding(level, "classes-unknown", text, count=len(nowhere), remedy=remedy)
    renamed = _renaming(x, y, asked)
    if any(renamed):
        calls = [f"{side}.rename({table})" for (side, _), table in zip(context.sides, renamed, strict=True) if table]
        options = [_renamed(context, side, table) for (side, _), table in zip(context.sides, renamed, strict=True)]
        pairs = [f"{name} for {target}" for table in renamed for name, target in table.items()]
        text = f"the sides have different names for the same class: {', '.join(pairs)}"
        remedy = Remedy(f"Use {' and '.join(calls)}", f"Use {' and '.join(filter(None, options))}")
        yield Finding("error", "classes-named-differently", text, count=len(pairs), remedy=remedy)
    paired = {name for table in renamed for pair in table.items() for name in pair}
    alone_x = [name for name in x if name not in y and name not in paired and name in asked and x[name]]
    alone_y = [name for name in y if name not in x and name not in paired and name in asked and y[name]]
    if alone_x and alone_y and not paired and not x.keys() & y.keys():
        text = f"no class in common: the predictions have {', '.join(alone_x)}, the truth has {', '.join(alone_y)}"
        remedy = Remedy("Use .rename({...}) on one side", "Give one side as FILE,rename=OLD:NEW")
        yield Finding("error", "classes-disjoint", text, count=len(alone_x) + len(alone_y), remedy=remedy)
        return
    remedy = Remedy(
        "Select the classes to compare, or use .rename({...}) if this one has another name there",
        "Pass the classes to compare with --classes, or give the file as FILE,rename=OLD:NEW if this one has another "
        "name there",
    )
    for name in (*alone_x, *alone_y):
        code = "class-never-predicted"
        lacking = "the predictions"
        effect = "all of them count as missed"
        if name in x:
            code = "class-only-predicted"
            lacking = "the truth"
            effect = "all of them count as false"
        count = x.get(name, 0) + y.get(name, 0)
        text = f"{counted(count, 'instance')} of {name}, a class that is not in {lacking}: {effect}"
        yield Finding("warning", code, text, count=count, remedy=remedy)


def _renamed(context: Context, side: str, table: Mapping[str, str]) -> str:
    """Return the file of a side with a renaming, as it is given on the command line; "" if there is none."""
    file = dict(context.sides)[side].name or side.upper()
    pairs = [":".join(f'"{name}"' if set(name) & set(",=:/\\") else name for name in pair) for pair in table.items()]
    if not table:
        return ""
    return shlex.quote(file + "".join(f",rename={pair}" for pair in pairs))


def _renaming(x: Counts, y: Counts, asked: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return new names for the classes of the predictions and of the truth that differ only in name."""
    tables: tuple[dict[str, str], dict[str, str]] = ({}, {})
    for common in dict.fromkeys(common_name(name) for name in y if name not in x):
        predicted = [name for name in x if name not in y and common_name(name) == common]
        true = [name for name in y if name not in x and common_name(name) == common]
        instances = sum(x[name] for name in predicted) + sum(y[name] for name in true)
        if predicted and instances and set(asked) & {*predicted, *true}:
            if len(true) == 1:
                target = true[0]
            elif len(predicted) == 1:
                target = predicted[0]
            else:
                target = common
            for table, names in zip(tables, (predicted, true), strict=True):
                table.update({name: target for name in names if name != target})
    return tables


def not_compared(context: Context) -> Iterator[Finding]:
    """Find instances of classes that are not compared. No number contains them."""
    if context.classes is None:
        return
    x, y = context.offered
    renamed = {name for table in _renaming(x, y, context.classes) for name in table}
    for (side, _), counts, others in zip(context.sides, (x, y), (y, x), strict=True):
        for name, count in counts.items():
            if not count or name in context.classes or name in renamed:
                continue
            text = f"{side}: {counted(count, 'instance')} of {name}, a class that is not compared"
            meant = [known for known in context.classes if _spelling(known) == _spelling(name)]
            meant = meant or [known for known in context.classes if common_name(known) == common_name(name)]
            if meant:
                table = {name: meant[0]}
                remedy = Remedy(f"Use {side}.rename({table})", f"Use {_renamed(context, side, table)}")
                are = "are"
                if count == 1:
                    are = "is"
                left_out = f"{counted(count, 'instance')} {are} left out of it"
                text += f". The name is another spelling of {meant[0]}, and {left_out}"
            else:
                remedy = Remedy(
                    "Add it to the classes of the protocol, or use .rename({...}) if a compared class is meant",
                    "Add it with --classes, or give the file as FILE,rename=OLD:NEW if a compared class is meant",
                )
            # Predictions of a class that the truth lacks may be misnamed. Truth often has more classes than a model.
            suspicious = bool(meant) or (side == "predictions" and name not in others)
            yield Finding("warning" if suspicious else "note", "class-not-compared", text, count=count, remedy=remedy)


def exchanged(context: Context) -> Iterator[Finding]:
    """Find class ids that were swapped."""
    meant = context.exchanged
    if meant:
        seen = ", ".join(f"{true} where {predicted} is predicted" for predicted, true in meant.items())
        text = (
            f"class ids seem to be swapped. In {counted(len(context.neighbours.frames), 'frame')} the truth has "
            f"{seen}. The order of ids differs between projects: {ORDERS}"
        )
        remedy = Remedy(
            f"Use predictions.rename({meant}), or read the file with classes= in the order of its ids",
            f"Use {_renamed(context, 'predictions', meant)}",
        )
        yield Finding("warning", "classes-exchanged", text, count=len(meant), remedy=remedy)


def without_instances(context: Context) -> Iterator[Finding]:
    """Find classes of both sides that have no instances on one of them."""
    x = context.predictions.counts
    y = context.truth.counts
    for name in x:
        if name not in y or (x[name] and y[name]):
            continue
        if not x[name] and not y[name]:
            text = "no instances on either side. A mean over classes should leave it out"
            yield Finding("note", "class-empty", f"class {name}: {text}", count=0)
        elif not y[name] and any(y.values()):
            text = (
                f"class {name}: {counted(x[name], 'prediction')} and no instances in the truth, so all of them count "
                "as false"
            )
            advice = (
                "Check whether the truth file was made without this class. MapTR never updates its cached truth: "
                "delete it and create it again"
            )
            yield Finding("warning", "class-without-truth", text, count=x[name], remedy=Remedy.of(advice))
        elif not x[name] and any(x.values()):
            text = (
                f"class {name}: {counted(y[name], 'instance')} in the truth and no predictions, so all of them count "
                "as missed"
            )
            advice = "Check that the model was trained on this class and that the class ids of the file are right"
            yield Finding("warning", "class-without-predictions", text, count=y[name], remedy=Remedy.of(advice))
