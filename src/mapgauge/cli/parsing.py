"""Turns the text of options into values. Invalid values are usage errors (exit code 2)."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias, TypeVar

import typer

from mapgauge.cli.output import printable
from mapgauge.errors import InvalidInput

if TYPE_CHECKING:
    from mapgauge.protocols import Protocol

T = TypeVar("T")
Form: TypeAlias = Literal["text", "json", "csv", "latex"]
ALL = "all"  # the value of --classes for every class that occurs
PROTOCOL = "paper-60x30"  # without --protocol
Texts: TypeAlias = list[str] | None  # an option that can be repeated


class GivenPath(type(Path())):  # type: ignore[misc]
    """A path that keeps the URL it was given as, and its options. ``Path`` removes one of two slashes of ``s3://``."""

    url: str | None = None
    given: str = ""  # as on the command line
    options: Mapping[str, Any] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep the URL and the options in another process."""
        return (*super().__reduce__(), vars(self))


def path_or_url(text: str) -> GivenPath:
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


def as_given(path: Path | str) -> str:
    """Return a path as it was written on the command line, with its options."""
    return getattr(path, "given", "") or str(path)


def refuse(option: str, message: str) -> NoReturn:
    """Raise a usage error for an option."""
    raise typer.BadParameter(message, param_hint=option)


def form_of(*, json: bool = False, csv: bool = False, latex: bool = False) -> Form:
    """Return the form of output that the options ask for."""
    forms: list[Form] = [form for form, asked in (("json", json), ("csv", csv), ("latex", latex)) if asked]  # type: ignore[misc]
    if len(forms) > 1:
        refuse(f"--{forms[1]}", f"only one of --{' and --'.join(forms)} can be given")
    if not forms:
        return "text"
    return forms[0]


def valid(option: str, function: Callable[..., T], *arguments: Any, **keywords: Any) -> T:
    """Call a function with the value of an option. An ``InvalidInput`` becomes a usage error."""
    try:
        return function(*arguments, **keywords)
    except InvalidInput as error:
        refuse(option, printable(error.for_shell()))


def bounded(option: str, expected: str, holds: Callable[[Any], bool]) -> Callable[[Any], Any]:
    """Return a callback that accepts only some numbers, or none at all."""

    def check(value: float | None) -> float | None:
        if value is not None and not holds(value):
            refuse(option, f"must be {expected}, got {value}")
        return value

    return check


def listed(values: Sequence[str] | None) -> list[str]:
    """Return the items of an option that can be repeated and whose values can have commas.

    >>> listed(["pld,ap_chamfer", "ap_frechet"])
    ['pld', 'ap_chamfer', 'ap_frechet']
    """
    return [item.strip() for value in values or () for item in value.split(",") if item.strip()]


def metadata_of(values: Sequence[str] | None) -> tuple[str, dict[str, str]]:
    """Return the date of an evaluation that begins now and what is noted about it, from ``--metadata KEY=VALUE``."""
    from mapgauge.results.metadata import checked_metadata

    noted: dict[str, object] = {}
    for text in values or ():
        key, sign, value = text.partition("=")
        if not sign:
            refuse("--metadata", f"must be KEY=VALUE such as commit=4f2a, got {text!r}")
        if key in noted:
            refuse("--metadata", f"gives {key} twice")
        noted[key] = value
    return valid("--metadata", checked_metadata, noted)


def numbers(option: str, values: Sequence[str] | None, kind: type[float] | type[int] = float) -> list[Any]:
    """Return the items of an option as numbers."""
    try:
        return [kind(item) for item in listed(values)]
    except ValueError:
        if kind is int:
            what = "whole numbers"
        else:
            what = "numbers"
        refuse(option, f"must be {what} separated by commas, got {','.join(listed(values))!r}")


def parse_region(text: str, option: str = "--region") -> tuple[float, float]:
    """Return the length and the width of a region.

    >>> parse_region("60x30")
    (60.0, 30.0)
    """
    try:
        length, width = map(float, text.lower().split("x"))
    except ValueError:
        refuse(option, f"must be LENGTHxWIDTH in metres such as 60x30, got {text!r}")
    return length, width


def settings_of(protocol: str, *, cutoff: Texts = None, classes: Texts = None, changes: Texts = None) -> "Protocol":
    """Return the named protocol with the changes that options ask for, --cutoff, --classes and --set."""
    from mapgauge.protocols import protocol as protocol_of
    from mapgauge.protocols import with_settings

    changed = valid("--protocol", protocol_of, protocol)
    changed = valid("--set", with_settings, changed, changes or ())
    if cutoff:
        changed = valid("--cutoff", changed.replace, cutoffs=tuple(numbers("--cutoff", cutoff)))
    if listed(classes) == [ALL]:
        wanted = None
    else:
        wanted = tuple(listed(classes))
    if classes:
        return valid("--classes", changed.replace, classes=wanted)
    return changed


def length_of_cutoff(cutoff: float | None) -> float | None:
    """Return the cutoff of a command that has only one, or None."""
    from mapgauge.arguments import check_cutoff

    if cutoff is None:
        return None
    return valid("--cutoff", check_cutoff, "cutoff", cutoff)


def one_protocol(protocol: Texts) -> str:
    """Return the name of the protocol of a command that has only one."""
    given = listed(protocol) or [PROTOCOL]
    if len(given) > 1:
        refuse("--protocol", f"this command takes one protocol, got {', '.join(given)}")
    return given[0]


def metrics_of(protocol: "Protocol", metrics: Texts) -> tuple[str, ...]:
    """Return the metrics to compute. The protocol must have settings for each of them."""
    from mapgauge.metrics.table import chosen_metrics

    return valid("--metrics", chosen_metrics, protocol, None if metrics is None else listed(metrics))


def metrics_of_each(protocols: Sequence["Protocol"], metrics: Texts) -> list[tuple[str, ...]]:
    """Return the metrics to compute with each protocol: the given metrics that it has settings for."""
    from mapgauge.metrics.table import METRICS

    wanted = listed(metrics)
    chosen = []
    for protocol in protocols:
        able = [name for name in wanted if name in METRICS and METRICS[name].settings(protocol)]
        several = len(protocols) > 1 and all(name in METRICS for name in wanted)
        chosen.append(metrics_of(protocol, able if able and several else metrics))  # an error names what is missing
    return chosen


def check_settings_used(metrics: Sequence[str], *, cutoff: Texts, changes: Texts) -> None:
    """Refuse settings that none of the chosen metrics has."""
    from mapgauge.metrics.table import METRICS

    able = [row.name for row in METRICS.values() if row.has_cutoff]
    if cutoff and not set(able) & {*metrics}:
        known = " or ".join(able)
        refuse("--cutoff", f"has no effect without a metric that has this setting: --metrics {known}")
    for text in changes or ():
        metric, dot, _ = text.partition("=")[0].rpartition(".")
        if dot and metric in METRICS and metric not in metrics:
            refuse("--set", f"{text} has no effect without the metric {metric}: --metrics {metric}")


def file_names(paths: Sequence[Path]) -> list[str]:
    """Return a name for each file: from its option ``name=``, or the file name without suffixes.

    Files with the same name get as many folders in front as are needed to distinguish them.

    >>> file_names([Path("runs/a/submission.json"), Path("runs/b/submission.json.gz")])
    ['a/submission', 'b/submission']
    """
    own = [getattr(path, "options", {}).get("name") for path in paths]
    bare = [path.with_suffix("") if path.suffix in (".gz", ".zst") else path for path in paths]
    parts = [(*path.absolute().parent.parts[1:], path.stem) for path in bare]
    for depth in range(1, max(map(len, parts)) + 1):
        names = [name or "/".join(part[-depth:]) for name, part in zip(own, parts, strict=True)]
        if len(set(names)) == len(names):
            return names
    raise typer.BadParameter("two files have the same name, or the same file is given twice. Give names: FILE,name=A")
