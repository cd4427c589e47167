"""``mapgauge confidence``: says what confidences are worth, and at which threshold to operate."""

from math import floor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mapgauge.cli import Attempts
from mapgauge.cli import options as o
from mapgauge.cli.methods import Methods
from mapgauge.cli.output import (
    Table,
    inform,
    progress,
    save_figure,
    say,
    show_table,
    warn_of,
    write_csv,
    write_json,
)
from mapgauge.cli.parsing import Form, bounded, form_of, refuse, without_effect
from mapgauge.cli.targets import check_figure, check_targets

if TYPE_CHECKING:
    from mapgauge.features.confidence.confidence import Confidence


def confidence(
    context: typer.Context,
    files: o.MethodsArgument,
    hit: Annotated[
        float,
        o.option(
            "--hit SHARE",
            o.COMPUTED,
            "Largest normalised SOSPA of a prediction that hits its truth.",
            callback=bounded("--hit", "at least 0 and less than 1", lambda hit: 0 <= hit < 1),
        ),
    ] = 0.5,
    bins: Annotated[int, o.option("--bins N", o.COMPUTED, "Number of bins of confidence.", least=1)] = 10,
    protocol: o.ProtocolOption = None,
    samples: o.SamplesOption = 1000,
    level: o.LevelOption = 0.95,
    seed: o.SeedOption = 0,
    workers: o.WorkersOption = None,
    thresholds: Annotated[
        Path | None,
        o.option(
            "--thresholds FILE",
            o.WRITTEN,
            "Also write the recommended thresholds of each class (.json). With one method only.",
        ),
    ] = None,
    figure: Annotated[
        Path | None, o.figure_option("PLD, precision, recall and AP over the threshold, and calibration")
    ] = None,
    json: o.JsonOption = False,
    csv: o.CsvOption = False,
    quiet: o.QuietOption = False,
) -> None:
    """Say what confidences are worth.

    Prints PLD as it is and with the best threshold of each class (predictions below it are dropped, the others are
    certain), calibration, and one sentence
    of advice. `--json` has all values. From results, the geometry in the file or the evaluated files are used.
    """
    form = form_of(json=json, csv=csv)
    if form == "csv":
        without_effect(context, ["level", "seed"], "with --csv, which has no intervals")
        if figure is None:
            without_effect(context, ["bins"], "with --csv, which has no calibration, without --figure FILE")
    sides = Methods.of(context, files)
    names = sides.names
    if thresholds is not None and len(names) > 1:
        refuse("--thresholds", f"is the file of one method, got {len(names)} methods")
    check_targets([thresholds, figure], sides.files)
    check_figure(figure)
    methods = sides.load(cutoff=True)

    from mapgauge.features.confidence.confidence import confidence as measure

    measured: dict[str, Confidence] = {}
    how: dict[str, Any] = {"hit": hit, "bins": bins, "samples": samples, "level": level, "seed": seed}
    for called, method in zip(names, methods, strict=True):
        with progress(f"assigning {called}", "blocks") as advance:
            measured[called] = measure(method, **how, workers=workers, progress=advance)
        warn_of(measured[called].findings)
    outputs = Attempts()
    with outputs.attempt():
        _print(form, measured)
    if thresholds is not None:
        with outputs.attempt():
            measured[names[0]].save_thresholds(thresholds)
            inform(f"thresholds in {thresholds}")
    if figure is not None:
        from mapgauge import plot

        with outputs.attempt():
            save_figure(plot.confidence(list(measured.values()), names=names), figure)
    outputs.end()


def _print(form: Form, methods: "dict[str, Confidence]") -> None:
    """Print all methods in the form that was asked for."""
    if form == "json":
        documents = [method.to_dict() | {"name": called} for called, method in methods.items()]
        write_json(documents[0] if len(documents) == 1 else documents)
    elif form == "csv":
        write_csv(
            [
                {"name": called, "class": class_name} | row
                for called, method in methods.items()
                for class_name in method.classes
                for row in method.rows(class_name)
            ]
        )
    else:
        for k, (called, method) in enumerate(methods.items()):
            of = ""
            if len(methods) > 1:
                of = f" of {called}"
            title = f"Thresholds{of}: PLD, cutoff {method.cutoff:g} m, and calibration, lower is better"
            show_table(Table(title, *method.values()), gap=k > 0)
            say(method.about())
            advice = method.advice()
            thresholds = method.thresholds()["classes"]
            if method.gains:
                chosen = (f"confidence={name}:{floor(1e4 * at['best_pld']) / 1e4:g}" for name, at in thresholds.items())
                advice.insert(1, f"To apply it: mapgauge evaluate PREDICTIONS,{','.join(chosen)},certain TRUTH")
            for text in advice:
                say(text)
