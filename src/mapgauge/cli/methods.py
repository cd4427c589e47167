"""The methods that a command looks at: results in files, or predictions that it evaluates itself."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import typer

from mapgauge.cli.output import distrust, progress, warn_of
from mapgauge.cli.parsing import Texts, refuse, without_effect
from mapgauge.cli.reading import Reading
from mapgauge.cli.results_files import all_results, check_one_protocol, check_there, each_results, load_all
from mapgauge.errors import InvalidInput

if TYPE_CHECKING:
    from mapgauge.frames.map_frames import MapFrames
    from mapgauge.protocols import Protocol
    from mapgauge.results.results import Results

# Chooses the frames of predictions and truth to evaluate.
Choose: TypeAlias = Callable[["MapFrames", "MapFrames"], "tuple[MapFrames, MapFrames]"]

_OF_EVALUATION = (
    *(known.name for known in fields(Reading) if known.compare),
    *("protocol", "cutoff", "chamfer", "frechet", "sospa", "spacing", "count", "classes", "crop", "ignore_unknown"),
)


def results_or_sides(files: list[Path]) -> tuple[bool, list[Path]]:
    """Return whether files are results, and the files: all results, or predictions and then the truth."""
    if all_results(files):
        return True, each_results(files)
    if len(files) < 2:
        check_there(files[0])
        refuse("TRUTH", f"give predictions and truth, or results. {files[0]} is no file of results")
    return False, files


def load_methods(context: typer.Context, files: Sequence[Path], names: Sequence[str]) -> list["Results"]:
    """Load results. Options that change how files are read or compared are refused."""
    without_effect(context, _OF_EVALUATION, "on results, which have been read and compared already")
    methods = load_all(files, names)
    check_one_protocol(names, methods)
    return methods


def load_with_data(context: typer.Context, files: Sequence[Path], names: Sequence[str]) -> list["Results"]:
    """Load results with a cutoff, and their geometry."""
    from mapgauge.protocols import full_name

    methods = load_methods(context, files, names)
    if not methods[0].protocol.cutoffs:
        raise InvalidInput(
            f"{files[0]}: the protocol {full_name(methods[0].protocol)} has no cutoff to match points by",
            remedy="Give the files of predictions and truth, and --cutoff 1.5",
        )
    return [method.with_data() for method in methods]


def evaluate_methods(
    settings: "Protocol",
    reading: Reading,
    files: Sequence[Path],
    names: Sequence[str],
    classes: Texts,
    ignore_unknown: bool,
    workers: int | None,
    *,
    metrics: Sequence[str] | None = None,
    choose: Choose | None = None,
) -> list["Results"]:
    """Evaluate predictions by a protocol with a cutoff.

    Args:
        settings: The protocol.
        reading: How to read the files.
        files: Predictions, then the truth.
        names: Names of the methods.
        classes: Names of classes, as given.
        ignore_unknown: Whether predicted frames that the truth lacks are left out.
        workers: Number of threads.
        metrics: Names of metrics. If None, those of the protocol.
        choose: Chooses the frames. If None, all frames.
    """
    from mapgauge.protocols import full_name

    if not settings.cutoffs:
        refuse(
            "--cutoff", f"the protocol {full_name(settings)} has no cutoff to match points by. Give one: --cutoff 1.5"
        )

    from mapgauge import evaluate

    unknown: Literal["error", "ignore"] = "ignore" if ignore_unknown else "error"
    methods = []
    for called, predictions, truth in reading.each(names, files[:-1], files[-1], classes):
        x, y = (predictions, truth) if choose is None else choose(predictions, truth)
        with progress(f"evaluating {called}") as advance:
            methods.append(
                evaluate(x, y, settings, metrics=metrics, unknown=unknown, workers=workers, progress=advance)
            )
        warn_of(methods[-1].findings)
    distrust(finding for method in methods for finding in method.findings)
    return methods
