"""Do the class names of both sides meet, and has each class instances?"""

import re
from collections.abc import Iterator, Sequence

from mapgauge.checks.context import Context, Counts
from mapgauge.frames.findings import Finding

# One class, as different projects and maps call it.
_ALIASES = {
    alias: name
    for name, aliases in {
        "boundary": "boundaries contour contours road_boundary road_boundaries",
        "ped_crossing": "crossing crosswalk pedestrian_crossing pedestrian_crossings",
        "divider": "dividers lane_divider road_divider",
        "centerline": "centreline centerlines centrelines lane_centerline lane_centreline",
    }.items()
    for alias in aliases.split()
}


def common_name(class_name: str) -> str:
    """The name under which a class is best known."""
    plain = re.sub(r"[\s_-]+", "_", class_name.strip().lower())
    return _ALIASES.get(plain, plain)


def names(context: Context) -> Iterator[Finding]:
    """Classes that only one side has, and the renaming that helps."""
    x, y = context.offered
    known = tuple(dict.fromkeys((*y, *x)))
    asked = known if context.classes is None else context.classes
    nowhere = [name for name in asked if name not in known]
    if nowhere:
        text = f"neither side has the class {', '.join(nowhere)}. There are: {', '.join(known) or 'none'}"
        yield Finding("error", "classes-unknown", text, len(nowhere))
    renamed = _renaming(x, y, asked)
    if any(renamed):
        calls = [f"{side}.rename({table})" for (side, _), table in zip(context.sides, renamed, strict=True) if table]
        pairs = [f"{name} for {target}" for table in renamed for name, target in table.items()]
        text = f"the sides have different names for the same class: {', '.join(pairs)}. Use {' and '.join(calls)}"
        yield Finding("error", "classes-named-differently", text, len(pairs))
    met = {name for table in renamed for pair in table.items() for name in pair}
    alone_x = [name for name in x if name not in y and name not in met and name in asked and x[name]]
    alone_y = [name for name in y if name not in x and name not in met and name in asked and y[name]]
    if alone_x and alone_y and not met and not x.keys() & y.keys():
        text = (
            f"no class in common: the predictions have {', '.join(alone_x)}, the truth has {', '.join(alone_y)}. "
            "Use .rename({...}) on one side"
        )
        yield Finding("error", "classes-disjoint", text, len(alone_x) + len(alone_y))
        return
    yield from _alone(alone_x, x, "only-predicted", "the truth does not know", "all of them count as false")
    yield from _alone(alone_y, y, "never-predicted", "the predictions do not know", "all of them count as missed")


def _renaming(x: Counts, y: Counts, asked: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """New names for classes of the predictions and of the truth that are the same class under other names."""
    tables: tuple[dict[str, str], dict[str, str]] = ({}, {})
    for common in dict.fromkeys(common_name(name) for name in y if name not in x):
        mine = [name for name in x if name not in y and common_name(name) == common]
        theirs = [name for name in y if name not in x and common_name(name) == common]
        instances = sum(x[name] for name in mine) + sum(y[name] for name in theirs)
        if mine and instances and set(asked) & {*mine, *theirs}:
            target = theirs[0] if len(theirs) == 1 else mine[0] if len(mine) == 1 else common
            for table, own in zip(tables, (mine, theirs), strict=True):
                table.update({name: target for name in own if name != target})
    return tables


def _alone(classes: Sequence[str], counts: Counts, code: str, whose: str, effect: str) -> Iterator[Finding]:
    for name in classes:
        text = (
            f"{counts[name]} instances of {name}, a class that {whose}: {effect}. "
            "Select classes if it should not be compared, or use .rename({...}) if it has another name"
        )
        yield Finding("warning", f"class-{code}", text, counts[name])


def exchanged(context: Context) -> Iterator[Finding]:
    """Class ids that mean each other."""
    meant = context.exchanged
    if meant:
        seen = ", ".join(f"{true} where {predicted} is predicted" for predicted, true in meant.items())
        text = (
            f"class ids seem to be exchanged. In {len(context.neighbours.frames)} frames the truth has {seen}. Use "
            f"predictions.rename({meant}), or read the file with the classes= that its ids mean. MapTR counts divider, "
            "ped_crossing, boundary; StreamMapNet ped_crossing, divider, boundary"
        )
        yield Finding("warning", "classes-exchanged", text, len(meant))


def without_instances(context: Context) -> Iterator[Finding]:
    """Classes that both sides know and one of them does not have."""
    x, y = context.predictions.counts, context.truth.counts
    for name in x:
        if name not in y or (x[name] and y[name]):
            continue
        if not x[name] and not y[name]:
            text = f"class {name}: no instance on either side. A mean over classes should not count it"
            yield Finding("note", "class-empty", text, 0)
        elif not y[name] and any(y.values()):
            text = (
                f"class {name}: {x[name]} predictions and no instance in the truth, so all of them count as false. "
                "Was the truth file made without this class? MapTR never renews its cached truth: delete it and make "
                "it again"
            )
            yield Finding("warning", "class-without-truth", text, x[name])
        elif not x[name] and any(x.values()):
            text = (
                f"class {name}: {y[name]} instances in the truth and no prediction, so all of them count as missed. "
                "Was the model trained on this class, and are the class ids of the file those of its format?"
            )
            yield Finding("warning", "class-without-predictions", text, y[name])
