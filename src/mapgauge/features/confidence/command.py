"""``mapgauge confidence``: says what confidences are worth, and at which threshold to operate."""

from dataclasses import dataclass
from math import floor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mapgauge.cli import Attempts
from mapgauge.cli import options as o
from mapgauge.cli.command import command, without_effect
from mapgauge.cli.emit import Document, Line, Piece, Printing, emit, one_or_all
from mapgauge.cli.methods import Methods
from mapgauge.cli.output import Table, inform, progress, save_figure, warn_of
from mapgauge.cli.parsing import bounded, refuse
from mapgauge.cli.targets import check_figure, check_targets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mapgauge.features.confidence.confidence import Confidence
    from mapgauge.results.results import Results


@dataclass(frozen=True, kw_only=True)
class ConfidenceOptions(Printing):
    """The options of ``mapgauge confidence``."""

    files: o.MethodsArgument
    hit: Annotated[
        float,
        o.option(
            "--hit SHARE",
            o.COMPUTED,
            "Largest normalised SOSPA between a prediction and its true line for which it counts as a hit.",
            callback=bounded("--hit", "at least 0 and less than 1", lambda hit: 0 <= hit < 1),
        ),
    ] = 0.5
    bins: Annotated[int, o.option("--bins N", o.COMPUTED, "Number of bins of confidence.", least=1)] = 10
    protocol: o.ProtocolOption = None
    workers: o.WorkersOption = None
    thresholds: Annotated[
        Path | None,
        o.option(
            "--thresholds FILE",
            o.WRITTEN,
            "Also write the recommended thresholds of each class (.json). With one method only.",
        ),
    ] = None
    figure: Annotated[
        Path | None, o.figure_option("PLD, precision, recall and AP over the threshold, and calibration")
    ] = None
    json: o.JsonOption = False
    csv: o.CsvOption = False
    quiet: o.QuietOption = False


@command
def confidence(options: ConfidenceOptions) -> None:
    """Find thresholds for confidences, and check their calibration.

    Prints PLD as it is and with the best threshold of each class (predictions below it are dropped, the others are
    certain), calibration, and one sentence
    of advice. `--json` has all values. From results, the geometry in the file or the evaluated files are used.
    """
    if options.form == "csv" and options.figure is None:
        without_effect(options, ["bins"], "with --csv, which has no calibration, without --figure FILE")
    sides = Methods.of("confidence", options.files, protocol=options.protocol, workers=options.workers)
    names = sides.names
    if options.thresholds is not None and len(names) > 1:
        refuse("--thresholds", f"is the file of one method, got {len(names)} methods")
    check_targets([options.thresholds, options.figure], sides.files)
    check_figure(options.figure)
    measured = _measured(options, names, sides.load(cutoff=True))
    outputs = Attempts()
    with outputs.attempt():
        emit(options, ConfidenceOfMethods(measured))
    if options.thresholds is not None:
        with outputs.attempt():
            measured[names[0]].save_thresholds(options.thresholds)
            inform(f"thresholds in {options.thresholds}")
    if options.figure is not None:
        from mapgauge import plot

        with outputs.attempt():
            save_figure(plot.confidence(list(measured.values()), names=names), options.figure)
    outputs.end()


def _measured(
    options: ConfidenceOptions, names: "Sequence[str]", methods: "Sequence[Results]"
) -> "dict[str, Confidence]":
    """Return what the confidences of each method are worth."""
    from mapgauge.features.confidence.confidence import confidence as measure

    measured = {}
    for called, method in zip(names, methods, strict=True):
        with progress(f"assigning {called}", "blocks") as advance:
            measured[called] = measure(
                method,
                hit=options.hit,
                bins=options.bins,
                workers=options.workers,
                progress=advance,
            )
        warn_of(measured[called].findings)
    return measured


@dataclass(frozen=True)
class ConfidenceOfMethods(Document):
    """What the confidences of methods are worth."""

    methods: "Mapping[str, Confidence]"  # by name

    def text(self) -> "Iterator[Piece]":
        """Return thresholds, calibration and advice for each method."""
        from mapgauge.cli.overview import paragraphs

        return paragraphs(self._pieces())

    def _pieces(self) -> "Iterator[Piece]":
        from mapgauge.cli.overview import command_lines

        for called, method in self.methods.items():
            of = ""
            if len(self.methods) > 1:
                of = f" of {called}"
            title = f"Thresholds{of}: PLD, cutoff {method.cutoff:g} m, and calibration, lower is better"
            header, rows = method.values()
            yield Table(title=title, header=header, rows=rows)
            yield Line(method.about())
            advice = method.advice()
            thresholds = method.thresholds()["classes"]
            if method.gains:
                chosen = (f"confidence={name}:{floor(1e4 * at['best_pld']) / 1e4:g}" for name, at in thresholds.items())
                keep, *advice = advice
                yield Line(keep)
                words = ["mapgauge", "evaluate", f"PREDICTIONS,{','.join(chosen)},certain", "TRUTH"]
                yield Line(f"To apply it:\n{command_lines(words)}")
            for text in advice:
                yield Line(text)

    def to_dict(self) -> Any:
        """Return all values of each method."""
        return one_or_all([method.to_dict() | {"name": called} for called, method in self.methods.items()])

    def rows(self) -> list[dict[str, Any]]:
        """Return the values at each threshold, by method and class."""
        return [
            {"name": called, "class": class_name} | row
            for called, method in self.methods.items()
            for class_name in method.classes
            for row in method.rows(class_name)
        ]
