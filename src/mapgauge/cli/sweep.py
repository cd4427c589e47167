"""``mapgauge sweep``: evaluates with several cutoffs, samplings and regions."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mapgauge.cli import latex as la
from mapgauge.cli import options as o
from mapgauge.cli import output, parsing
from mapgauge.cli.inputs import Reading
from mapgauge.cli.targets import check_figure, check_targets
from mapgauge.markup import number

if TYPE_CHECKING:
    from mapgauge.protocols import Protocol

_VARIED = ("region", "spacing", "count")
_VARY_HELP = (
    "Values of a setting to try: spacing=0.25,0.5 or count=20,50 or region=60x30,100x50, to which both sides "
    "are cropped. Can be repeated."
)


def sweep(
    context: typer.Context,
    predictions: o.PredictionsArgument,
    truth: o.TruthArgument,
    cutoff: o.CutoffOption = None,
    vary: Annotated[parsing.Texts, o.option("--vary NAME=VALUE,...", o.COMPUTED, _VARY_HELP)] = None,
    protocol: o.ProtocolOption = None,
    metrics: o.MetricsOption = None,
    classes: o.ClassesOption = None,
    changes: o.SetOption = None,
    ignore_unknown: o.IgnoreUnknownOption = False,
    workers: o.WorkersOption = None,
    figure: Annotated[Path | None, o.figure_option("PLD over the cutoff")] = None,
    json: o.JsonOption = False,
    csv: o.CsvOption = False,
    latex: o.LatexOption = False,
    quiet: o.QuietOption = False,
) -> None:
    """Evaluate with several settings.

    Evaluates every combination of the given cutoffs, samplings and regions, and prints the means over classes.
    """
    form = parsing.form_of(json=json, csv=csv, latex=latex)
    settings = parsing.settings_of(parsing.one_protocol(protocol), cutoff=cutoff, classes=classes, changes=changes)
    chosen = parsing.metrics_of(settings, metrics)
    parsing.check_settings_used(context, chosen)
    varied = _varied(settings, vary) | {"cutoffs": parsing.numbers("--cutoff", cutoff) or None}
    names = parsing.file_names(predictions)
    check_targets([figure], [*predictions, truth])
    check_figure(figure)

    from mapgauge import sweep as sweep_settings

    sweeps = []
    number_of_settings = max(sum(len(varied.get(f"{name}s") or ()) for name in ("spacing", "count")), 1)
    number_of_settings *= len(varied.get("regions") or [None])
    how: dict[str, Any] = {"metrics": chosen, "unknown": "ignore" if ignore_unknown else "error", "workers": workers}
    for k, (called, x, y) in enumerate(Reading(workers=workers).each(names, predictions, truth, classes), 1):
        method = f"{called} ({k} of {len(names)})" if len(names) > 1 else called
        with output.progress(f"evaluating {method}", settings=number_of_settings) as advance:
            sweeps.append(sweep_settings(x, y, settings, **varied, **how, progress=advance))
        output.warn_of(sweeps[-1].results[0].findings)
    output.distrust(dict.fromkeys(finding for swept in sweeps for finding in swept.results[0].findings))
    rows = [{"name": called} | row for called, swept in zip(names, sweeps, strict=True) for row in swept.rows]
    _print(form, rows, settings)
    if figure is not None:
        from mapgauge import plot

        output.save_figure(plot.cutoffs(sweeps, names=names), figure)


def _varied(settings: "Protocol", vary: parsing.Texts) -> dict[str, Any]:
    """Return the values of each setting that varies, by the names of the arguments of ``sweep``."""
    varied: dict[str, Any] = {}
    for text in vary or ():
        name, equals, values = text.partition("=")
        if name not in _VARIED or not equals or not parsing.listed([values]):
            parsing.refuse(
                "--vary", f"must be NAME=VALUE,... with {', '.join(_VARIED)}, got {text!r}. Cutoffs: --cutoff"
            )
        if name == "region":
            tried: list[Any] = [parsing.parse_region(value, "--vary") for value in parsing.listed([values])]
        else:
            tried = parsing.numbers("--vary", [values], int if name == "count" else float)
        for value in tried:
            parsing.valid("--vary", settings.replace, **{name: value})
        varied.setdefault(f"{name}s", []).extend(tried)
    return varied


def _print(form: parsing.Form, rows: list[dict[str, Any]], settings: "Protocol") -> None:
    """Print a row per method and setting."""
    from mapgauge.evaluation.sweeps import SETTINGS, region_of, sampling_of
    from mapgauge.metrics.table import heading
    from mapgauge.protocols import full_name

    if form == "json":
        output.write_json(rows)
        return
    if form == "csv":
        output.write_csv([row | {"region": _size(row["region"])} for row in rows])
        return
    keys = [key for key in rows[0] if key not in (*SETTINGS, "name")]
    several = len({row["name"] for row in rows}) > 1
    title = f"Means over classes ({full_name(settings, without=('cutoffs',))})"
    header = [*["name"] * several, "region", "sampling", "cutoff"]
    heads = [
        [
            *[row["name"]] * several,
            region_of(row),
            sampling_of(row),
            "-" if row["cutoff"] is None else f"{row['cutoff']:g} m",
        ]
        for row in rows
    ]
    pairs = list(zip(heads, rows, strict=True))
    if form == "latex":  # nothing is bold, because values at different settings are not compared
        body = [[*map(la.escaped, head), *(f"${la.number(key, row[key])}$" for key in keys)] for head, row in pairs]
        sys.stdout.write(la.tabular([[la.escaped(text) for text in (*header, *map(la.titled, keys))]], body, [title]))
    else:
        body = [[*head, *(number(row[key]) for key in keys)] for head, row in pairs]
        output.show_table(output.Table(title, [*header, *map(heading, keys)], body, len(header)), gap=False)


def _size(region: tuple[float, float] | None) -> str:
    """Return a region for CSV, which has a column of its own that says whether the sides were cropped."""
    return "" if region is None else "x".join(f"{length:g}" for length in region)
