"""Declares the options and arguments of the commands. An option has one meaning in all commands that have it.

The panel of an option is its group in ``--help``. Commands list their options by use, the most used first.
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from mapgauge.cli.inputs import input_file
from mapgauge.cli.output import set_quiet
from mapgauge.cli.parsing import Texts, at_least, bounded, refuse, valid
from mapgauge.evaluation.engines import ENGINES

COMPUTED, READ, DRAWN, WORK, WRITTEN = "What is computed", "Files", "Figure", "Where it runs", "Output"


def option(names: str, metavar: str, panel: str, text: str, **settings: Any) -> Any:
    """Return an option with a value. Its help ends with its default, if it has one."""
    return typer.Option(*names.split(), metavar=metavar, rich_help_panel=panel, help=text, **settings)


def flag(name: str, panel: str, text: str, **settings: Any) -> Any:
    """Return an option without a value."""
    return typer.Option(*name.split(), rich_help_panel=panel, help=text, **settings)


def choice(name: str, panel: str, text: str, *choices: str, **settings: Any) -> Any:
    """Return an option with a few values."""

    def check(value: str | None) -> str | None:
        if value is not None and value not in choices:
            refuse(name, f"must be {' or '.join(choices)}, got {value!r}")
        return value

    return option(
        name, "|".join(choices), panel, text, callback=check, autocompletion=lambda: list(choices), **settings
    )


def output_option(metavar: str, what: str) -> Any:
    """Return the option that says where a command writes."""
    return option("--output -o", metavar, WRITTEN, f"Where to write. {what}")


def figure_option(what: str) -> Any:
    """Return the option of a figure that a command draws beside its tables."""
    return option("--figure", "FILE", WRITTEN, f"Also draw a figure (.png, .svg, .pdf). It shows {what}.")


def classes_option(default: str) -> Any:
    """Return the option that chooses classes."""
    return option("--classes", "NAME,...", COMPUTED, f"Classes to look at. Default: {default}.")


def worst_option(what: str, least: int) -> Any:
    """Return the option that says how many of the worst are listed."""
    text = f"How many of the worst to list. They are {what}."
    return option("--worst", "N", WRITTEN, text, callback=at_least("--worst", least))


def _names(module: str, table: str) -> Callable[[], list[str]]:
    """Return a function that lists the names in a table, which is imported when they are completed."""
    return lambda: list(getattr(import_module(f"mapgauge.{module}"), table))


def _writable_formats() -> list[str]:
    from mapgauge.io import FORMATS

    return [row.name for row in FORMATS.values() if row.write]


def _settings() -> list[str]:
    from mapgauge.metrics.table import settings_rows

    return [f"{row['name']}=" for row in settings_rows()]


def _known_format(option: str) -> Callable[[str | None], str | None]:
    """Return a callback that accepts only names of formats, or none."""

    def check(name: str | None) -> str | None:
        if name is not None:
            from mapgauge.io import format_named

            valid(option, format_named, name)
        return name

    return check


def _engine(name: str | None) -> str | None:
    if name is not None and name not in ENGINES and "://" not in name:
        refuse("--engine", f"must be one of {', '.join(ENGINES)} or an address such as tcp://HOST:8786, got {name!r}")
    return name


def files_argument(metavar: str, text: str) -> Any:
    """Return an argument for files with options after their names."""
    return typer.Argument(metavar=metavar, help=text, parser=input_file, show_default=False)


PredictionsArgument: TypeAlias = Annotated[
    list[Path],
    files_argument(
        "PREDICTIONS", "One or more files of predictions. Options follow a name: FILE,rotate=-90,name=MapTR."
    ),
]
TruthArgument: TypeAlias = Annotated[Path, files_argument("TRUTH", "The file of the truth. It comes last.")]
ResultsArgument: TypeAlias = Annotated[
    list[Path],
    files_argument(
        "RESULTS", "Files written by `mapgauge evaluate -o`, or folders of them. A name can follow: FILE,name=MapTR."
    ),
]
MethodsArgument: TypeAlias = Annotated[
    list[Path],
    files_argument(
        "FILE",
        "Files written by `mapgauge evaluate -o`, or folders of them. Or files of predictions and, as the last, the "
        "file of the truth, which are evaluated by the protocol.",
    ),
]

ProtocolOption: TypeAlias = Annotated[
    Texts,
    option(
        "--protocol -p",
        "NAME,...",
        COMPUTED,
        "Names of the settings; see `mapgauge protocols`. With several, `evaluate` reads the files once and prints one "
        "table.  [default: paper-60x30]",
        autocompletion=_names("protocols", "PROTOCOLS"),
    ),
]
MetricsOption: TypeAlias = Annotated[
    Texts,
    option(
        "--metrics",
        "NAME,...",
        COMPUTED,
        "Metrics to compute; see `mapgauge metrics`. Default: all that the protocol has settings for, but completeness "
        "and causes.",
        autocompletion=_names("metrics.table", "METRICS"),
    ),
]
CutoffOption: TypeAlias = Annotated[
    Texts,
    option(
        "--cutoff -c",
        "METRES,...",
        COMPUTED,
        "Cutoffs of PLD. Tables show the protocol's own; `track` and `consistency` take one.",
    ),
]
SetOption: TypeAlias = Annotated[
    Texts,
    option(
        "--set",
        "NAME=VALUE",
        COMPUTED,
        "Change a setting of the protocol or of a metric, such as spacing=0.25 or track_pld.switch_cost=0.5; see "
        "`mapgauge metrics`. Can be repeated.",
        autocompletion=_settings,
    ),
]
ClassesOption: TypeAlias = Annotated[Texts, classes_option("those of the protocol")]
RangesOption: TypeAlias = Annotated[
    Texts, option("--ranges", "METRES,...", COMPUTED, "Bounds of rings around the ego, such as 0,10,20,30.")
]
FormatOption: TypeAlias = Annotated[
    str | None,
    option(
        "--format",
        "NAME",
        READ,
        "Format of the input; see `mapgauge formats`. Default: recognised from the content, which the truth "
        "always is unless it says its own: TRUTH,format=NAME.",
        callback=_known_format("--format"),
        autocompletion=_names("io", "FORMATS"),
    ),
]
ToOption: TypeAlias = Annotated[
    str | None,
    option(
        "--to",
        "NAME",
        WRITTEN,
        "Format to write, if the suffix is not .parquet or .geojson.",
        callback=_known_format("--to"),
        autocompletion=_writable_formats,
    ),
]
IgnoreUnknownOption: TypeAlias = Annotated[
    bool, flag("--ignore-unknown", READ, "Ignore predicted frames that are not in the truth.")
]
PosesOption: TypeAlias = Annotated[
    Path | None,
    option(
        "--poses",
        "FILE",
        READ,
        "File with the poses, scenes and time stamps of the frames, such as the truth. Default: the predictions.",
        parser=input_file,
    ),
]
RegionOption: TypeAlias = Annotated[
    str,
    option(
        "--region",
        "LENGTHxWIDTH",
        COMPUTED,
        "Region around the vehicle, in metres. The length is along the driving direction.",
    ),
]
WorkersOption: TypeAlias = Annotated[
    int | None,
    option(
        "--workers",
        "N",
        WORK,
        "Number of threads or processes. Default: one per processor.",
        callback=at_least("--workers", 1),
    ),
]
EngineOption: TypeAlias = Annotated[
    str | None,
    option(
        "--engine",
        "NAME|URL",
        WORK,
        f"How Parquet is evaluated: {', '.join(ENGINES)} on this machine, or the address of a Dask cluster, such as "
        "tcp://HOST:8786.",
        callback=_engine,
        autocompletion=lambda: list(ENGINES),
    ),
]
WorkOption: TypeAlias = Annotated[
    Path | None,
    option("--work", "FOLDER", WORK, "Folder for finished chunks of Parquet, to resume or to load the results."),
]
ResumeOption: TypeAlias = Annotated[
    bool, flag("--resume", WORK, "Continue an interrupted run from the folder of --work.")
]
OnErrorOption: TypeAlias = Annotated[
    str,
    choice(
        "--on-error",
        WORK,
        "What to do when a part of Parquet cannot be read: stop, or skip it with a warning.",
        "stop",
        "skip",
    ),
]
SamplesOption: TypeAlias = Annotated[
    int, option("--samples", "N", COMPUTED, "Number of bootstrap samples.", callback=at_least("--samples", 1))
]
LevelOption: TypeAlias = Annotated[
    float,
    option(
        "--level",
        "SHARE",
        COMPUTED,
        "Confidence level of the intervals.",
        callback=bounded("--level", "between 0 and 1", lambda level: 0 < level < 1),
    ),
]
SeedOption: TypeAlias = Annotated[
    int, option("--seed", "N", COMPUTED, "Seed of the random numbers.", callback=at_least("--seed", 0))
]
SceneOption: TypeAlias = Annotated[
    str | None,
    option(
        "--scene",
        "NAME",
        DRAWN,
        "Scene to draw over time. Default: no scene; for `plot strip` that with the highest T-PLD.",
    ),
]
TitleOption: TypeAlias = Annotated[str | None, option("--title", "TEXT", DRAWN, "Title of the figure or the page.")]
StyleOption: TypeAlias = Annotated[
    str, choice("--style", DRAWN, "Size of the figure and of its text.", "paper", "slides")
]
FramesOption: TypeAlias = Annotated[
    int,
    option("--frames", "N", WRITTEN, "Number of frames that the report can draw.", callback=at_least("--frames", 0)),
]
FailOnOption: TypeAlias = Annotated[
    str | None,
    choice(
        "--fail-on",
        WRITTEN,
        "Exit with code 1, after all work, if there are findings of this level or a more serious one.",
        "warning",
        "error",
    ),
]
QuietOption: TypeAlias = Annotated[
    bool,
    flag(
        "--quiet -q",
        WRITTEN,
        "Print the document only: no progress, no notes, no names of written files. Warnings and errors stay.",
        callback=set_quiet,
    ),
]
JsonOption: TypeAlias = Annotated[bool, flag("--json", WRITTEN, "Print JSON instead of text.")]
CsvOption: TypeAlias = Annotated[bool, flag("--csv", WRITTEN, "Print CSV instead of text.")]
LatexOption: TypeAlias = Annotated[
    bool,
    flag(
        "--latex",
        WRITTEN,
        "Print one LaTeX table (booktabs) instead of text, with AP in percent and the best values bold.",
    ),
]
