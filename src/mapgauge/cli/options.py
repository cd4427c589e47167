"""Declares the options and arguments of the commands. An option has one meaning in all commands that have it.

The panel of an option is its group in ``--help``. Commands list their options by use, the most used first.
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from mapgauge.cli.inputs import input_file
from mapgauge.cli.output import set_quiet
from mapgauge.cli.parsing import PROTOCOL, Texts, bounded, length_of_cutoff, refuse, valid
from mapgauge.evaluation.engines import ENGINES
from mapgauge.words import did_you_mean

# The panels of the help, by what options are about. The last has options that few users need.
COMPUTED = "What is computed"
READ = "Files"
DRAWN = "Figure"
WORK = "Where it runs"
WRITTEN = "Output"
RARE = "Seldom needed"


def option(names: str, panel: str, text: str, least: int | None = None, **settings: Any) -> Any:
    """Return an option from its names and its metavariable, ``"--cutoff -c METRES,..."``, or a flag without one.

    Values must not be below ``least``. The help ends with the default, if there is one.
    """
    first, *more = names.split()
    if (more or [first])[-1].startswith("-"):
        metavar = None
    else:
        metavar = more.pop()
    if least is not None:
        settings["callback"] = bounded(first, f"at least {least}", lambda value: value >= least)
    return typer.Option(first, *more, metavar=metavar, rich_help_panel=panel, help=text, **settings)


def choice(name: str, panel: str, text: str, *choices: str) -> Any:
    """Return an option with a few values."""

    def check(value: str | None) -> str | None:
        if value is not None and value not in choices:
            refuse(name, f"must be {' or '.join(choices)}, got {value!r}{did_you_mean(value, choices)}")
        return value

    return option(f"{name} {'|'.join(choices)}", panel, text, callback=check, autocompletion=lambda: list(choices))


def share_option(name: str, panel: str, text: str) -> Any:
    """Return an option for a number from 0 to 1."""
    within = bounded(name, "from 0 to 1", lambda value: 0 <= value <= 1)
    return option(f"{name} SHARE", panel, text, callback=within)


def output_option(metavar: str, what: str) -> Any:
    """Return the option that says where a command writes."""
    return option(f"--output -o {metavar}", WRITTEN, f"Where to write: {what[0].lower()}{what[1:]}")


def figure_option(what: str) -> Any:
    """Return the option of a figure that a command draws beside its tables."""
    return option("--figure FILE", WRITTEN, f"Also draw a figure (.png, .svg, .pdf). It shows {what}.")


def classes_option(default: str) -> Any:
    """Return the option that chooses classes."""
    return option("--classes NAME,...", COMPUTED, f"Classes to look at. Default: {default.removesuffix('.')}.")


def worst_option(what: str, least: int, **settings: Any) -> Any:
    """Return the option that says how many of the worst are listed."""
    return option(
        "--worst N", WRITTEN, f"Number of rows to list, the worst first. A row is {what}.", least=least, **settings
    )


def protocol_option(more: str = "") -> Any:
    """Return the option of a protocol, with what is particular to a command."""
    return option(
        "--protocol -p NAME,...",
        COMPUTED,
        f"Settings by name; see `mapgauge list protocols`.{more}  [default: {PROTOCOL}]",
        autocompletion=_names("protocols", "PROTOCOLS"),
    )


def metrics_option(default: str) -> Any:
    """Return the option of metrics."""
    return option(
        "--metrics NAME,...",
        COMPUTED,
        f"Metrics to compute; see `mapgauge list metrics`. Default: {default}.",
        autocompletion=_names("metrics.table", "METRICS"),
    )


def scene_option(default: str) -> Any:
    """Return the option of a scene."""
    return option("--scene NAME", DRAWN, f"Scene to draw over time. Default: {default.removesuffix('.')}.")


def files_argument(metavar: str, text: str) -> Any:
    """Return an argument for files with options after their names."""
    return typer.Argument(metavar=metavar, help=text, parser=input_file, show_default=False)


def _names(module: str, table: str) -> Callable[[], list[str]]:
    """Return a function that lists the names in a table, which is imported when they are completed."""
    return lambda: list(getattr(import_module(f"mapgauge.{module}"), table))


def _writable_formats() -> list[str]:
    from mapgauge.io import FORMATS

    return [row.name for row in FORMATS.values() if row.write]


def _settings() -> list[str]:
    from mapgauge.metrics.table import settings_rows

    return [f"{row['name']}=" for row in settings_rows()]


def _known_format(param: typer.CallbackParam, name: str | None) -> str | None:
    """Accept only names of formats, or none."""
    if name is not None:
        from mapgauge.io import format_named

        valid(param.opts[0], format_named, name)
    return name


def _engine(name: str | None) -> str | None:
    if name is not None and name not in ENGINES and "://" not in name:
        expected = f"must be one of {', '.join(ENGINES)} or an address such as tcp://HOST:8786"
        refuse("--engine", f"{expected}, got {name!r}{did_you_mean(name, ENGINES)}")
    return name


_PREDICTIONS = "One or more files of predictions. Options follow a name: FILE,rotate=-90,name=MapTR."
_RESULTS = "Files written by `mapgauge evaluate -o`, or folders of them."
_METHODS = (
    "Files written by `mapgauge evaluate -o`, or folders of them; or predictions and, as the last, the truth, "
    "which are evaluated by the protocol."
)
METHODS = "FILE"  # the metavariable of results, or predictions and truth
RESULTS = {"RESULT", "RESULTS"}  # those of results only
PredictionsArgument = Annotated[list[Path], files_argument("PREDICTIONS", _PREDICTIONS)]
TruthArgument = Annotated[Path, files_argument("TRUTH", "The file of the truth. It comes last.")]
ResultsArgument = Annotated[list[Path], files_argument("RESULTS", f"{_RESULTS} A name can follow: FILE,name=MapTR.")]
MethodsArgument = Annotated[list[Path], files_argument(METHODS, _METHODS)]

ProtocolOption = Annotated[Texts, protocol_option()]
MetricsOption = Annotated[Texts, metrics_option("all metrics of the protocol except completeness and causes")]
_CUTOFF = "Cutoffs of PLD. With several, tables show that of the protocol if it is among them, and else the first."
CutoffOption = Annotated[Texts, option("--cutoff -c METRES,...", COMPUTED, _CUTOFF)]
ONE_CUTOFF = option("--cutoff -c METRES", COMPUTED, "Cutoff of PLD.", callback=length_of_cutoff)
SetOption = Annotated[
    Texts,
    option(
        "--set NAME=VALUE",
        COMPUTED,
        "Change a setting, such as spacing=0.25; see `mapgauge list metrics`. Can be repeated.",
        autocompletion=_settings,
    ),
]
ClassesOption = Annotated[Texts, classes_option("the classes of the protocol. `all` takes every class that occurs")]
_RANGES = "Bounds of rings around the ego, such as 0,10,20,30."
PRIOR = option("--prior FILE", READ, "The prior map: frames in any format, or one map.", parser=input_file)
RangesOption = Annotated[Texts, option("--ranges METRES,...", COMPUTED, _RANGES)]
BY = "Look at subsets of frames: by scene, or by a tag (FILE,tags=TABLE)."
ByOption = Annotated[str | None, option("--by COLUMN", COMPUTED, BY)]
_WHERE = (
    "Only frames that meet a condition, such as \"pld > 0.8 and missed.boundary > 2 and scene = 'scene-0001'\". "
    "Columns are those of `frames --csv`; a class follows a dot. Signs: = != < <= > >= in (...), and, or, not."
)
WhereOption = Annotated[str | None, option("--where QUERY", COMPUTED, _WHERE)]
_TOKENS = "File with one frame token per line. Only these frames are used. With several, `evaluate` compares them."
TokensOption = Annotated[list[Path] | None, option("--tokens FILE", READ, _TOKENS, parser=input_file)]
_TO = "Format to write, if the suffix is not .parquet or .geojson."
ToOption = Annotated[
    str | None, option("--to NAME", WRITTEN, _TO, callback=_known_format, autocompletion=_writable_formats)
]
_UNKNOWN = "Ignore predicted frames that are not in the truth."
IgnoreUnknownOption = Annotated[bool, option("--ignore-unknown", RARE, _UNKNOWN)]
_POSES = "File with poses, scenes and time stamps of the frames, such as the truth. Default: those in the other files."
PosesOption = Annotated[Path | None, option("--poses FILE", READ, _POSES, parser=input_file)]
_REGION = "Region around the vehicle, in metres. The length is along the driving direction."
RegionOption = Annotated[str, option("--region LENGTHxWIDTH", COMPUTED, _REGION)]
_WORKERS = "Number of threads or processes. Default: one per processor."
WorkersOption = Annotated[int | None, option("--workers N", WORK, _WORKERS, least=1)]
EngineOption = Annotated[
    str | None,
    option(
        "--engine NAME|URL",
        WORK,
        f"How Parquet is evaluated: {', '.join(ENGINES)} on this machine, or the address of a Dask cluster, such as "
        "tcp://HOST:8786.",
        callback=_engine,
        autocompletion=lambda: list(ENGINES),
    ),
]
_WORK = "Folder for finished chunks of Parquet, to resume or to load the results."
WorkOption = Annotated[Path | None, option("--work FOLDER", WORK, _WORK)]
ResumeOption = Annotated[bool, option("--resume", WORK, "Continue an interrupted run from the folder of --work.")]
_ON_ERROR = "What to do when a part of Parquet cannot be read: stop, or skip it with a warning."
OnErrorOption = Annotated[str, choice("--on-error", WORK, _ON_ERROR, "stop", "skip")]
SamplesOption = Annotated[int, option("--samples N", RARE, "Number of bootstrap samples.", least=1)]
_LEVEL = bounded("--level", "between 0 and 1", lambda level: 0 < level < 1)
LevelOption = Annotated[float, option("--level SHARE", RARE, "Confidence level of the intervals.", callback=_LEVEL)]
SeedOption = Annotated[int, option("--seed N", RARE, "Seed of the random numbers.", least=0)]
_CORRECTION = "Correct the verdicts for the number of all differences that the command tests."
CorrectionOption = Annotated[str, choice("--correction", RARE, _CORRECTION, "none", "holm")]
_IMAGES = "Folder of nuScenes or Argoverse 2 with the camera images of the frames. It is read, never written."
ImagesOption = Annotated[Path | None, option("--images ROOT", READ, _IMAGES)]
TitleOption = Annotated[str | None, option("--title TEXT", RARE, "Title of the figure or the page.")]
StyleOption = Annotated[str, choice("--style", RARE, "Size of the figure and of its text.", "paper", "slides")]
_FRAMES = "Frames that the report draws: a number, or a condition as in `frames --where`. Default: all, up to 40 MB."
FramesOption = Annotated[str | None, option("--frames N|QUERY", WRITTEN, _FRAMES)]
_FAIL_ON = "Exit with code 1 if there are findings of this level or a more serious one. All files are written first."
FailOnOption = Annotated[str | None, choice("--fail-on", RARE, _FAIL_ON, "warning", "error")]
_QUIET = "Print no progress, no notes and no names of written files. Warnings and errors stay."
QuietOption = Annotated[bool, option("--quiet -q", WRITTEN, _QUIET, callback=set_quiet)]
JsonOption = Annotated[bool, option("--json", WRITTEN, "Print JSON instead of text.")]
CsvOption = Annotated[bool, option("--csv", WRITTEN, "Print CSV instead of text.")]
_LATEX = "Print one LaTeX table (booktabs), AP in percent, the best values bold."
LatexOption = Annotated[bool, option("--latex", WRITTEN, _LATEX)]
