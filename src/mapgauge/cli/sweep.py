"""``mapgauge sweep``: evaluates with several cutoffs, samplings and regions."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mapgauge.cli import latex as la
from mapgauge.cli import options as o
from mapgauge.cli.inputs import Reading
from mapgauge.cli.output import (
    Table,
    distrust,
    exit_on,
    progress,
    save_figure,
    show_table,
    warn_of,
    write_csv,
    write_json,
)
from mapgauge.cli.parsing import (
    Form,
    Texts,
    check_settings_used,
    file_names,
    form_of,
    listed,
    metrics_of,
    numbers,
    one_protocol,
    parse_region,
    refuse,
    settings_of,
    valid,
)
from mapgauge.cli.targets import check_figure, check_targets
from mapgauge.markup import number

if TYPE_CHECKING:
    from mapgauge.protocols import Protocol

_SETTINGS = ("region", "spacing", "count", "cutoff")


def sweep(
    context: typer.Context,
    predictions: o.PredictionsArgument,
    truth: o.TruthArgument,
    cutoff: o.CutoffOption = None,
    vary: Annotated[
        Texts,
        o.option(
            "--vary",
            "NAME=VALUE,...",
            o.COMPUTED,
            "Values of a setting to try: spacing=0.25,0.5 or count=20,50 or region=60x30,100x50, to which both sides "
            "are cropped. Can be repeated.",
        ),
    ] = None,
    protocol: o.ProtocolOption = None,
    metrics: o.MetricsOption = None,
    classes: o.ClassesOption = None,
    changes: o.SetOption = None,
    format: o.FormatOption = None,
    ignore_unknown: o.IgnoreUnknownOption = False,
    workers: o.WorkersOption = None,
    figure: Annotated[Path | None, o.figure_option("PLD over the cutoff")] = None,
    json: o.JsonOption = False,
    csv: o.CsvOption = False,
    latex: o.LatexOption = False,
    fail_on: o.FailOnOption = None,
    quiet: o.QuietOption = False,
) -> None:
    """Evaluate with several settings.

    Evaluates every combination of the given cutoffs, samplings and regions, and prints the means over classes.
    """
    form = form_of(json=json, csv=csv, latex=latex)
    settings = settings_of(one_protocol(protocol), cutoff=cutoff, classes=classes, changes=changes)
    chosen = metrics_of(settings, metrics)
    check_settings_used(context, chosen)
    varied = _varied(settings, vary) | {"cutoffs": numbers("--cutoff", cutoff) or None}
    if varied.get("regions") and settings.crop:
        refuse("--vary", "crop=true has no effect with region, which crops both sides")
    names = file_names(predictions)
    check_targets([figure], [*predictions, truth])
    check_figure(figure)

    from mapgauge import sweep as sweep_settings

    sweeps = []
    number_of_settings = max(sum(len(varied.get(f"{one}s") or ()) for one in ("spacing", "count")), 1)
    number_of_settings *= len(varied.get("regions") or [None])
    how: dict[str, Any] = {"metrics": chosen, "unknown": "ignore" if ignore_unknown else "error", "workers": workers}
    for k, (called, x, y) in enumerate(Reading(format, workers).each(names, predictions, truth, classes), 1):
        method = f"{called} ({k} of {len(names)})" if len(names) > 1 else called
        with progress(f"evaluating {method}", settings=number_of_settings) as advance:
            sweeps.append(sweep_settings(x, y, settings, **varied, **how, progress=advance))
        warn_of(sweeps[-1].results[0].findings)
    findings = [finding for one in sweeps for finding in one.results[0].findings]
    distrust(dict.fromkeys(findings))
    rows = [{"name": called} | row for called, one in zip(names, sweeps, strict=True) for row in one.rows]
    _print(form, rows, settings)
    if figure is not None:
        from mapgauge import plot

        save_figure(plot.cutoffs(sweeps, names=names), figure)
    exit_on(fail_on, findings)


def _varied(settings: "Protocol", vary: Texts) -> dict[str, Any]:
    """Return the values of each setting that varies, by the names of the arguments of ``sweep``."""
    varied: dict[str, Any] = {}
    for text in vary or ():
        name, equals, values = text.partition("=")
        if name not in _SETTINGS[:3] or not equals or not listed([values]):
            refuse("--vary", f"must be NAME=VALUE,... with {', '.join(_SETTINGS[:3])}, got {text!r}. Cutoffs: --cutoff")
        if name == "region":
            tried: list[Any] = [parse_region(value, "--vary") for value in listed([values])]
        else:
            tried = numbers("--vary", [values], int if name == "count" else float)
        for value in tried:
            valid("--vary", settings.replace, **{name: value})
        varied.setdefault(f"{name}s", []).extend(tried)
    return varied


def _print(form: Form, rows: list[dict[str, Any]], settings: "Protocol") -> None:
    """Print a row per method and setting."""
    from mapgauge.evaluation.sweeps import region_of
    from mapgauge.protocols import full_name

    if form == "json":
        write_json(rows)
        return
    if form == "csv":
        write_csv([row | {"region": region_of(row) if row["region"] else ""} for row in rows])
        return
    table = _table(rows, full_name(settings, without=("cutoffs",)))
    if form == "latex":
        sys.stdout.write(_latex(table, rows))
    else:
        show_table(table, gap=False)


def _keys(rows: list[dict[str, Any]]) -> list[str]:
    """Return the keys of the values in rows."""
    return [key for key in rows[0] if key not in (*_SETTINGS, "name")]


def _latex(table: Table, rows: list[dict[str, Any]]) -> str:
    """Return the table for LaTeX. Nothing is bold, because values at different settings are not compared."""
    titles = [*table.header[: table.fixed], *map(la.titled, _keys(rows))]
    body = [
        [*map(la.escaped, cells[: table.fixed]), *(f"${la.number(key, row[key])}$" for key in _keys(rows))]
        for cells, row in zip(table.rows, rows, strict=True)
    ]
    return la.tabular([list(map(la.escaped, titles))], body, [table.title])


def _table(rows: list[dict[str, Any]], protocol: str) -> Table:
    from mapgauge.evaluation.sweeps import region_of, sampling_of
    from mapgauge.metrics.table import heading

    keys = _keys(rows)
    several = len({row["name"] for row in rows}) > 1
    body = [
        [
            *([row["name"]] if several else []),
            region_of(row),
            sampling_of(row),
            "-" if row["cutoff"] is None else f"{row['cutoff']:g} m",
            *(number(row[key]) for key in keys),
        ]
        for row in rows
    ]
    header = [*(["name"] if several else []), "region", "sampling", "cutoff", *map(heading, keys)]
    return Table(f"Means over classes ({protocol})", header, body, len(header) - len(keys))
