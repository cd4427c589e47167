"""``mapgauge confidence``: says what confidences are worth, and at which threshold to operate."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mapgauge.cli import options as o
from mapgauge.cli.documents import Form, form_of, write_csv, write_json
from mapgauge.cli.failures import Attempts
from mapgauge.cli.inputs import input_file
from mapgauge.cli.methods import evaluate_methods, load_with_data, results_or_sides
from mapgauge.cli.output import Table, exit_on, inform, progress, say, show_table, warn_of
from mapgauge.cli.parsing import file_names, refuse, settings_of, without_effect
from mapgauge.cli.reading import Reading
from mapgauge.cli.targets import check_figure, check_targets

if TYPE_CHECKING:
    from mapgauge.features.confidence.confidence import Confidence


def confidence(
    context: typer.Context,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="Files of results. Or files of predictions and, as the last, the file of the truth.",
            parser=input_file,
            show_default=False,
        ),
    ],
    hit: Annotated[
        float,
        typer.Option("--hit", metavar="SHARE", help="Largest normalised SOSPA of a prediction that hits its truth."),
    ] = 0.5,
    bins: Annotated[int, typer.Option("--bins", metavar="N", help="Number of bins of confidence.")] = 10,
    thresholds: Annotated[
        Path | None,
        typer.Option(
            "--thresholds",
            metavar="FILE",
            help="Also write the recommended thresholds of each class (.json). With one method only.",
            show_default=False,
        ),
    ] = None,
    figure: Annotated[
        Path | None,
        typer.Option(
            "--figure",
            metavar="FILE",
            help="Also draw PLD, precision, recall and AP over the threshold, and calibration (.png, .svg, .pdf).",
            show_default=False,
        ),
    ] = None,
    protocol: o.ProtocolOption = "paper-60x30",
    cutoff: o.CutoffOption = None,
    chamfer: o.ChamferOption = None,
    frechet: o.FrechetOption = None,
    sospa: o.SospaOption = None,
    spacing: o.SpacingOption = None,
    count: o.CountOption = None,
    classes: o.ClassesOption = None,
    crop: o.CropOption = False,
    format: o.FormatOption = None,
    truth_format: o.TruthFormatOption = None,
    rotate: o.RotateOption = 0.0,
    auto_axes: o.AutoAxesOption = False,
    rename: o.RenameOption = None,
    rename_truth: o.RenameTruthOption = None,
    planar: o.PlanarOption = False,
    certain: o.CertainOption = False,
    unshrink: o.UnshrinkOption = False,
    properties: o.PropertiesOption = None,
    degenerate: o.DegenerateOption = "strict",
    ignore_unknown: o.IgnoreUnknownOption = False,
    samples: o.SamplesOption = 1000,
    level: o.LevelOption = 0.95,
    seed: o.SeedOption = 0,
    name: o.NamesOption = None,
    workers: o.WorkersOption = None,
    json: o.JsonOption = False,
    csv: o.CsvOption = False,
    fail_on: o.FailOnOption = None,
    quiet: o.QuietOption = False,
) -> None:
    """Say what confidences are worth.

    Prints PLD as it is and with confidences rounded at the best threshold of each class, recommended thresholds, and
    calibration. From results, the geometry in the file or the evaluated files are used.
    """
    form = form_of(json=json, csv=csv)
    _check(hit, bins, samples, level, seed)
    if form == "csv":
        without_effect(context, ["level", "seed"], "with --csv, which has no intervals")
        if figure is None:
            without_effect(context, ["bins"], "with --csv, which has no calibration, without --figure FILE")
    from_results, files = results_or_sides(files)
    names = file_names(files if from_results else files[:-1], name)
    if thresholds is not None and len(names) > 1:
        refuse("--thresholds", f"is the file of one method, got {len(names)} methods")
    check_targets([thresholds, figure], files)
    check_figure(figure)
    if from_results:
        methods = load_with_data(context, files, names)
    else:
        lists: dict[str, Any] = {"cutoff": cutoff, "chamfer": chamfer, "frechet": frechet, "sospa": sospa}
        settings = settings_of(protocol, **lists, spacing=spacing, count=count, classes=classes, crop=crop)
        methods = evaluate_methods(settings, Reading.of(context), files, names, classes, ignore_unknown, workers)

    from mapgauge.features.confidence.confidence import confidence as measure

    measured: dict[str, Confidence] = {}
    for called, method in zip(names, methods, strict=True):
        with progress(f"assigning {called}", "blocks") as advance:
            measured[called] = measure(
                method,
                hit=hit,
                bins=bins,
                samples=samples,
                level=level,
                seed=seed,
                workers=workers,
                progress=advance,
            )
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
            plot.save(plot.confidence(list(measured.values()), names=names), figure)
            inform(f"figure in {figure}")
    outputs.end()
    of_results = [finding for method in methods for finding in method.findings]
    exit_on(
        fail_on,
        [*of_results, *(finding for measured_method in measured.values() for finding in measured_method.findings)],
    )


def _check(hit: float, bins: int, samples: int, level: float, seed: int) -> None:
    if not 0 <= hit < 1:
        refuse("--hit", f"must be at least 0 and less than 1, got {hit}")
    if not 0 < level < 1:
        refuse("--level", f"must be between 0 and 1, got {level}")
    for option, value, least in (("--bins", bins, 1), ("--samples", samples, 1), ("--seed", seed, 0)):
        if value < least:
            refuse(option, f"must be at least {least}, got {value}")


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
            _show(called if len(methods) > 1 else "", method, gap=k > 0)


def _show(called: str, method: "Confidence", *, gap: bool) -> None:
    """Print the tables of one method, and the best common threshold."""
    for k, (title, header, rows) in enumerate(method.tables()):
        if rows:
            show_table(Table(f"{title}, {called}" if called else title, header, rows), gap=gap or k > 0)
    if method.common is not None:
        say()
        say(method.common.in_words())
