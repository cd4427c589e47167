"""Options that several commands share: their names and help in one place, and how their text becomes values."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeAlias, TypeVar

import typer

from mapgauge.cli.words import one_line
from mapgauge.errors import InvalidInput
from mapgauge.evaluation.engines import ENGINES

if TYPE_CHECKING:
    from mapgauge.protocols import Protocol

T = TypeVar("T")
Texts: TypeAlias = list[str] | None


def _format(name: str | None) -> str | None:
    if name is not None:
        from mapgauge.io import format_named

        valid("--format", format_named, name)
    return name


def _formats() -> list[str]:
    from mapgauge.io import FORMATS

    return list(FORMATS)


def writable_formats() -> list[str]:
    """For completion."""
    from mapgauge.io import FORMATS

    return [row.name for row in FORMATS.values() if row.write]


def _protocols() -> list[str]:
    from mapgauge.protocols import PROTOCOLS

    return list(PROTOCOLS)


def _metrics() -> list[str]:
    from mapgauge.scoring.score import METRICS

    return list(METRICS)


def _degenerate(name: str) -> str:
    if name not in ("strict", "drop"):
        refuse("--degenerate", f"must be strict or drop, got {name!r}")
    return name


def _on_error(name: str) -> str:
    if name not in ("stop", "skip"):
        refuse("--on-error", f"must be stop or skip, got {name!r}")
    return name


def _engine(name: str | None) -> str | None:
    if name is not None and name not in ENGINES:
        refuse("--engine", f"must be one of {', '.join(ENGINES)}, got {name!r}. For a cluster, pass --scheduler")
    return name


def _at_least_one(number: int | None) -> int | None:
    if number is not None and number < 1:
        refuse("--workers", f"must be at least 1, got {number}")
    return number


class _Given(type(Path())):  # type: ignore[misc]
    """A path that remembers the URL it was given as: paths leave out a slash."""

    url: str | None = None


def given(text: str) -> Path:
    """A path or a URL from the command line.

    >>> given("file:///truth").url, given("truth").name
    ('file:///truth', 'truth')
    """
    path: Path = _Given(text)
    if "://" in text:
        path.url = text  # type: ignore[attr-defined]
    return path


PredictionsArgument: TypeAlias = Annotated[
    list[Path],
    typer.Argument(metavar="PREDICTIONS", help="One or more files of predictions.", parser=given, show_default=False),
]
TruthArgument: TypeAlias = Annotated[
    Path, typer.Argument(metavar="TRUTH", help="The file of the truth, last.", parser=given, show_default=False)
]
ResultsArgument: TypeAlias = Annotated[
    list[Path],
    typer.Argument(metavar="RESULTS", help="Files that `mapgauge evaluate -o` wrote.", show_default=False),
]

ProtocolOption: TypeAlias = Annotated[
    str,
    typer.Option("--protocol", "-p", help="Settings by name; see `mapgauge protocols`.", autocompletion=_protocols),
]
MetricsOption: TypeAlias = Annotated[
    Texts,
    typer.Option(
        "--metrics",
        metavar="NAME,...",
        help="Of pld, ap_chamfer, ap_frechet, ap_sospa; all that the protocol has settings for if not given.",
        autocompletion=_metrics,
        show_default=False,
    ),
]
CutoffOption: TypeAlias = Annotated[
    Texts,
    typer.Option(
        "--cutoff", "-c", metavar="METRES,...", help="Of PLD; the first is in the summary.", show_default=False
    ),
]
SpacingOption: TypeAlias = Annotated[
    float | None,
    typer.Option("--spacing", metavar="METRES", help="Between the samples of a polyline.", show_default=False),
]
CountOption: TypeAlias = Annotated[
    int | None, typer.Option("--count", metavar="N", help="Samples per polyline.", show_default=False)
]
ClassesOption: TypeAlias = Annotated[
    Texts,
    typer.Option("--classes", metavar="NAME,...", help="To compare; the protocol's if not given.", show_default=False),
]
RangesOption: TypeAlias = Annotated[
    Texts,
    typer.Option(
        "--ranges", metavar="METRES,...", help="Bounds of rings around the ego: 0,10,20,30.", show_default=False
    ),
]
CropOption: TypeAlias = Annotated[
    bool, typer.Option("--crop", help="Cut both sides at the edge of the protocol's region.")
]
RotateOption: TypeAlias = Annotated[
    float,
    typer.Option(
        "--rotate",
        metavar="DEGREES",
        help="Turn the predictions, counter-clockwise from above; -90 for MapTR's nuScenes axes.",
        show_default=False,
    ),
]
FormatOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="Of the input; recognised by content if not given. See `mapgauge formats`.",
        callback=_format,
        autocompletion=_formats,
        show_default=False,
    ),
]
TruthFormatOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--truth-format",
        metavar="NAME",
        help="Of the truth.",
        callback=_format,
        autocompletion=_formats,
        show_default=False,
    ),
]
DegenerateOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--degenerate",
        metavar="strict|drop",
        help="Refuse instances that are no polyline, or leave them out and count them.",
        callback=_degenerate,
        autocompletion=lambda: ["strict", "drop"],
    ),
]
RenameOption: TypeAlias = Annotated[
    Texts,
    typer.Option("--rename", metavar="OLD=NEW,...", help="Other names for predicted classes.", show_default=False),
]
RenameTruthOption: TypeAlias = Annotated[
    Texts,
    typer.Option("--rename-truth", metavar="OLD=NEW,...", help="Other names for true classes.", show_default=False),
]
PlanarOption: TypeAlias = Annotated[bool, typer.Option("--planar", help="Leave out height.")]
CertainOption: TypeAlias = Annotated[bool, typer.Option("--certain", help="Give all predictions the confidence 1.")]
IgnoreUnknownOption: TypeAlias = Annotated[
    bool, typer.Option("--ignore-unknown", help="Leave out predicted frames that the truth lacks.")
]
WorkersOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--workers",
        metavar="N",
        help="Threads or processes; one per processor if not given.",
        callback=_at_least_one,
        show_default=False,
    ),
]
EngineOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="NAME",
        help=f"Where Parquet is evaluated: {', '.join(ENGINES)} (on this machine).",
        callback=_engine,
        autocompletion=lambda: list(ENGINES),
        show_default=False,
    ),
]
SchedulerOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--scheduler", metavar="URL", help="A Dask cluster to use: tcp://HOST:8786.", show_default=False),
]
WorkOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--work", metavar="FOLDER", help="Keep what is finished there, to resume or load it.", show_default=False
    ),
]
ResumeOption: TypeAlias = Annotated[bool, typer.Option("--resume", help="Go on with what --work has.")]
OnErrorOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--on-error",
        metavar="stop|skip",
        help="At a part that cannot be read: stop, or leave it out and say so.",
        callback=_on_error,
        autocompletion=lambda: ["stop", "skip"],
    ),
]
NamesOption: TypeAlias = Annotated[
    Texts,
    typer.Option(
        "--name", metavar="NAME,...", help="What to call each; the names of the files if not given.", show_default=False
    ),
]
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="JSON for machines instead of text.")]
CsvOption: TypeAlias = Annotated[bool, typer.Option("--csv", help="CSV instead of text.")]
LatexOption: TypeAlias = Annotated[bool, typer.Option("--latex", help="LaTeX for papers (booktabs) instead of text.")]


def refuse(option: str, message: str) -> NoReturn:
    """End with an error of usage."""
    raise typer.BadParameter(message, param_hint=option)


def valid(option: str, function: Callable[..., T], *arguments: Any, **keywords: Any) -> T:
    """What a function of the package makes of an option's value; what it refuses is an error of usage."""
    try:
        return function(*arguments, **keywords)
    except InvalidInput as error:
        refuse(option, one_line(error.for_shell()))


def listed(values: Sequence[str] | None) -> list[str]:
    """The items of an option that may be repeated, each with commas or not.

    >>> listed(["pld,ap_chamfer", "ap_frechet"])
    ['pld', 'ap_chamfer', 'ap_frechet']
    """
    return [item.strip() for value in values or () for item in value.split(",") if item.strip()]


def numbers(option: str, values: Sequence[str] | None, kind: type[float] | type[int] = float) -> list[Any]:
    """The items of an option as numbers."""
    try:
        return [kind(item) for item in listed(values)]
    except ValueError:
        what = "whole numbers" if kind is int else "numbers"
        refuse(option, f"must be {what} with commas between them, got {','.join(listed(values))!r}")


def pairs(option: str, values: Sequence[str] | None) -> dict[str, str]:
    """``old=new`` items as a table."""
    split = [item.partition("=") for item in listed(values)]
    if not all(old and new for old, _, new in split):
        refuse(option, f"must be OLD=NEW, got {','.join(listed(values))!r}")
    return {old.strip(): new.strip() for old, _, new in split}


def region_of(text: str) -> tuple[float, float]:
    """Length and width of a region.

    >>> region_of("60x30")
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
    spacing: float | None = None,
    count: int | None = None,
    classes: Texts = None,
    crop: bool = False,
) -> "Protocol":
    """The protocol with what the options change."""
    from mapgauge.protocols import protocol as protocol_of

    found = valid("--protocol", protocol_of, protocol)
    if spacing is not None and count is not None:
        refuse("--spacing", "give --spacing or --count, not both")
    for option, settings in (
        ("--cutoff", {"cutoffs": tuple(numbers("--cutoff", cutoff))} if cutoff else {}),
        ("--spacing", {} if spacing is None else {"spacing": spacing}),
        ("--count", {} if count is None else {"count": count}),
        ("--classes", {"classes": tuple(listed(classes))} if classes else {}),
        ("--crop", {"crop": True} if crop else {}),
    ):
        found = valid(option, found.replace, **settings)
    return found


def metrics_of(protocol: "Protocol", metrics: Texts) -> tuple[str, ...]:
    """The metrics asked for, all of which the protocol can compute."""
    from mapgauge.evaluation.evaluate import chosen_metrics

    chosen = listed(metrics) if metrics is not None else None
    if chosen and "pld" in chosen and not protocol.cutoffs:
        refuse("--metrics", f"the protocol {protocol.name} has no cutoff for pld. Give one: --cutoff 1.5")
    return valid("--metrics", chosen_metrics, protocol, chosen)
