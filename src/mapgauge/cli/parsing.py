"""Turns the text of options into values. Invalid values are usage errors (exit code 2)."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeVar

import typer

from mapgauge.cli.output import one_line
from mapgauge.errors import InvalidInput

if TYPE_CHECKING:
    from mapgauge.protocols import Protocol

T = TypeVar("T")
Texts: TypeAlias = list[str] | None  # an option that can be repeated


class GivenPath(type(Path())):  # type: ignore[misc]
    """A path that keeps the URL it was given as. ``Path`` removes one of the two slashes of ``s3://``."""

    url: str | None = None


def path_or_url(text: str) -> Path:
    """Return a path from the command line. A URL is kept in its attribute ``url``.

    >>> path_or_url("file:///truth").url, path_or_url("truth").name
    ('file:///truth', 'truth')
    """
    path = GivenPath(text)
    path.url = text if "://" in text else None
    return path


def place(path: Path) -> str | Path:
    """Return the URL that a path was given as, or the path itself."""
    return getattr(path, "url", None) or path


def refuse(option: str, message: str) -> NoReturn:
    """Raise a usage error for an option."""
    raise typer.BadParameter(message, param_hint=option)


def given_options(context: typer.Context, names: Sequence[str]) -> list[str]:
    """Return those of some options that were given, as they are written."""
    sources = ((name, context.get_parameter_source(name)) for name in names)
    given = (name for name, source in sources if source is not None and source.name != "DEFAULT")
    return [f"--{name.replace('_', '-')}" for name in given]


def without_effect(context: typer.Context, names: Sequence[str], when: str) -> None:
    """Refuse those of some options that were given.

    Args:
        context: The options of the command.
        names: Parameters of the command that have no effect.
        when: Under which condition, and with what they would have one: ``"without --cause NAME"``.
    """
    given = given_options(context, names)
    if given:
        refuse(", ".join(given), f"{'has' if len(given) == 1 else 'have'} no effect {when}")


def valid(option: str, function: Callable[..., T], *arguments: Any, **keywords: Any) -> T:
    """Call a function with the value of an option. An ``InvalidInput`` becomes a usage error."""
    try:
        return function(*arguments, **keywords)
    except InvalidInput as error:
        refuse(option, one_line(error))


def one_of(option: str, *choices: str) -> Callable[[str | None], str | None]:
    """Return a callback that accepts only some values of an option, or none at all."""

    def check(value: str | None) -> str | None:
        if value is not None and value not in choices:
            refuse(option, f"must be {' or '.join(choices)}, got {value!r}")
        return value

    return check


def at_least_one(option: str) -> Callable[[int | None], int | None]:
    """Return a callback that accepts only positive values of an option."""

    def check(value: int | None) -> int | None:
        if value is not None and value < 1:
            refuse(option, f"must be at least 1, got {value}")
        return value

    return check


def listed(values: Sequence[str] | None) -> list[str]:
    """Return the items of an option that can be repeated and whose values can have commas.

    >>> listed(["pld,ap_chamfer", "ap_frechet"])
    ['pld', 'ap_chamfer', 'ap_frechet']
    """
    return [item.strip() for value in values or () for item in value.split(",") if item.strip()]


def numbers(option: str, values: Sequence[str] | None, kind: type[float] | type[int] = float) -> list[Any]:
    """Return the items of an option as numbers."""
    try:
        return [kind(item) for item in listed(values)]
    except ValueError:
        what = "whole numbers" if kind is int else "numbers"
        refuse(option, f"must be {what} separated by commas, got {','.join(listed(values))!r}")


def pairs(option: str, values: Sequence[str] | None, expected: str = "OLD=NEW") -> dict[str, str]:
    """Return ``OLD=NEW`` items as a dictionary."""
    split = [item.partition("=") for item in listed(values)]
    if not all(old and new for old, _, new in split):
        refuse(option, f"must be {expected}, got {','.join(listed(values))!r}")
    return {old.strip(): new.strip() for old, _, new in split}


def parse_region(text: str) -> tuple[float, float]:
    """Return the length and the width of a region.

    >>> parse_region("60x30")
    (60.0, 30.0)
    """
    sides = text.lower().split("x")
    try:
        length, width = (float(side) for side in sides)
    except ValueError:
        refuse("--region", f"must be LENGTHxWIDTH in metres such as 60x30, got {text!r}")
    return length, width


def settings_of(
    protocol: str,
    *,
    cutoff: Texts = None,
    chamfer: Texts = None,
    frechet: Texts = None,
    sospa: Texts = None,
    switch_cost: float | None = None,
    link_cost: float | None = None,
    break_cost: float | None = None,
    spacing: float | None = None,
    count: int | None = None,
    classes: Texts = None,
    crop: bool = False,
) -> "Protocol":
    """Return the protocol with the changes that the options ask for."""
    from mapgauge.protocols import protocol as protocol_of

    found = valid("--protocol", protocol_of, protocol)
    if crop and found.region is None:
        refuse("--crop", f"the protocol {protocol} has no region to crop to. Choose a protocol with a region")
    if spacing is not None and count is not None:
        refuse("--spacing", "give --spacing or --count, not both")
    lists = {"chamfer": chamfer, "frechet": frechet, "sospa": sospa}
    costs = {
        "track_pld.switch_cost": switch_cost,
        "lane_graph_pld.link_cost": link_cost,
        "network_pld.break_cost": break_cost,
    }
    for option, settings in (
        ("--cutoff", {"cutoffs": tuple(numbers("--cutoff", cutoff))} if cutoff else {}),
        *(
            (f"--{name}", _of_metric(f"ap_{name}.thresholds", tuple(numbers(f"--{name}", given)) if given else None))
            for name, given in lists.items()
        ),
        *((f"--{key.partition('.')[2].replace('_', '-')}", _of_metric(key, cost)) for key, cost in costs.items()),
        ("--spacing", {} if spacing is None else {"spacing": spacing}),
        ("--count", {} if count is None else {"count": count}),
        ("--classes", {"classes": tuple(listed(classes))} if classes else {}),
        ("--crop", {"crop": True} if crop else {}),
    ):
        found = valid(option, found.replace, **settings)
    return found


def _of_metric(key: str, value: Any) -> dict[str, Any]:
    """Return the changes of a protocol for a setting of a metric; none if the option was not given."""
    metric, _, name = key.partition(".")
    return {} if value is None else {"settings": {metric: {name: value}}}


def metrics_of(protocol: "Protocol", metrics: Texts) -> tuple[str, ...]:
    """Return the metrics to compute. The protocol must have settings for each of them."""
    from mapgauge.metrics.table import chosen_metrics

    return valid("--metrics", chosen_metrics, protocol, None if metrics is None else listed(metrics))


def metrics_of_each(protocols: Sequence["Protocol"], metrics: Texts) -> list[tuple[str, ...]]:
    """Return the metrics to compute with each protocol: of the given ones, those that it has settings for."""
    from mapgauge.metrics.table import METRICS

    def able(protocol: "Protocol") -> Texts:
        wanted = listed(metrics)
        known = all(name in METRICS for name in wanted)
        there = [name for name in wanted if known and METRICS[name].settings(protocol)]
        return there if there and len(protocols) > 1 else metrics  # an error names what is missing

    return [metrics_of(protocol, able(protocol)) for protocol in protocols]


def check_settings_used(context: typer.Context, metrics: Sequence[str]) -> None:
    """Refuse settings that none of the chosen metrics has."""
    from mapgauge.metrics.table import METRICS

    owners = {
        "cutoff": [*(row.name for row in METRICS.values() if row.at_cutoffs), "ap_sospa"],  # SOSPA has a cutoff too
        **{name: [f"ap_{name}"] for name in ("chamfer", "frechet", "sospa")},
        "switch_cost": ["track_pld"],
        "link_cost": ["lane_graph_pld"],
        "break_cost": ["network_pld"],
    }
    for name, able in owners.items():
        if not set(able) & {*metrics}:
            without_effect(context, [name], f"without a metric that has this setting: --metrics {' or '.join(able)}")


def file_names(paths: Sequence[Path], given: Texts) -> list[str]:
    """Return a name for each file: from ``--name``, from its option ``name=``, or the file name without suffixes.

    Files with the same name get as many folders in front as are needed to distinguish them.

    >>> file_names([Path("runs/a/submission.json"), Path("runs/b/submission.json.gz")], None)
    ['a/submission', 'b/submission']
    """
    names = listed(given)
    own = [getattr(path, "options", {}).get("name") for path in paths]
    if names:
        if len(names) != len(paths) or len(set(names)) < len(names):
            refuse("--name", f"must be {len(paths)} different names, got {', '.join(names)}")
        if any(own):
            refuse("--name", "give the names with --name or with ,name= after the files, not both")
        return names
    parts = [(*path.absolute().parent.parts[1:], _stem(path)) for path in paths]
    for depth in range(1, max(map(len, parts)) + 1):
        names = [name or "/".join(part[-depth:]) for name, part in zip(own, parts, strict=True)]
        if len(set(names)) == len(names):
            return names
    raise typer.BadParameter("two files have the same name, or the same file is given twice. Give names with --name")


def _stem(path: Path) -> str:
    bare = path.with_suffix("") if path.suffix in (".gz", ".zst") else path
    return bare.stem
