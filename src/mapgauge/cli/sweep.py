"""``mapgauge sweep``: evaluates with several cutoffs, samplings and regions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mapgauge.cli import latex as la
from mapgauge.cli import options as o
from mapgauge.cli import output, parsing
from mapgauge.cli.command import command
from mapgauge.cli.emit import Document, Piece, Printing, emit
from mapgauge.cli.inputs import InputReader
from mapgauge.cli.targets import check_figure, check_targets
from mapgauge.markup import number

if TYPE_CHECKING:
    from mapgauge.evaluation.sweeps import Sweep
    from mapgauge.protocols import Protocol

_VARIED = ("region", "spacing", "count")
_VARY_HELP = (
    "Values of a setting to try: spacing=0.25,0.5 or count=20,50 or region=60x30,100x50, to which both sides "
    "are cropped. Can be repeated."
)


@dataclass(frozen=True, kw_only=True)
class SweepOptions(Printing):
    """The options of ``mapgauge sweep``."""

    predictions: o.PredictionsArgument
    truth: o.TruthArgument
    cutoff: o.CutoffOption = None
    vary: Annotated[parsing.Texts, o.option("--vary NAME=VALUE,...", o.COMPUTED, _VARY_HELP)] = None
    protocol: o.ProtocolOption = None
    metrics: o.MetricsOption = None
    classes: o.ClassesOption = None
    changes: o.SetOption = None
    ignore_unknown: o.IgnoreUnknownOption = False
    workers: o.WorkersOption = None
    figure: Annotated[Path | None, o.figure_option("PLD over the cutoff")] = None
    json: o.JsonOption = False
    csv: o.CsvOption = False
    latex: o.LatexOption = False
    quiet: o.QuietOption = False


@command
def sweep(options: SweepOptions) -> None:
    """Evaluate with several settings.

    Evaluates every combination of the given cutoffs, samplings and regions, and prints the means over classes.
    """
    name = parsing.one_protocol(options.protocol)
    settings = parsing.settings_of(name, cutoff=options.cutoff, classes=options.classes, changes=options.changes)
    chosen = parsing.metrics_of(settings, options.metrics)
    parsing.check_settings_used(chosen, cutoff=options.cutoff, changes=options.changes)
    varied = _varied(settings, options.vary)
    varied["cutoffs"] = parsing.numbers("--cutoff", options.cutoff) or None
    names = parsing.file_names(options.predictions)
    check_targets([options.figure], [*options.predictions, options.truth])
    check_figure(options.figure)
    sweeps = _sweeps(options, names, settings, varied=varied, metrics=chosen)
    findings = dict.fromkeys(finding for swept in sweeps for finding in swept.results[0].findings)
    output.distrust(findings)
    rows = [{"name": called} | row for called, swept in zip(names, sweeps, strict=True) for row in swept.rows]
    emit(options, SweptSettings(rows, settings))
    if options.figure is not None:
        from mapgauge import plot

        output.save_figure(plot.cutoffs(sweeps, names=names), options.figure)


def _sweeps(
    options: SweepOptions,
    names: Sequence[str],
    settings: "Protocol",
    varied: dict[str, Any],
    metrics: Sequence[str],
) -> "list[Sweep]":
    """Evaluate each method with all settings."""
    from mapgauge import sweep as sweep_settings

    samplings = max(sum(len(varied.get(f"{name}s") or ()) for name in ("spacing", "count")), 1)
    regions = len(varied.get("regions") or [None])
    reading = InputReader(workers=options.workers)
    sweeps = []
    read = reading.each(names, options.predictions, options.truth, classes=options.classes)
    for k, (called, x, y) in enumerate(read, 1):
        if len(names) > 1:
            method = f"{called} ({k} of {len(names)})"
        else:
            method = called
        with output.progress(f"evaluating {method}", settings=samplings * regions) as advance:
            swept = sweep_settings(
                x,
                y,
                settings,
                **varied,
                metrics=metrics,
                unknown="ignore" if options.ignore_unknown else "error",
                workers=options.workers,
                progress=advance,
            )
        sweeps.append(swept)
        output.warn_of(swept.results[0].findings)
    return sweeps


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


@dataclass(frozen=True)
class SweptSettings(Document):
    """Means over classes, a row per method and setting."""

    values: Sequence[dict[str, Any]]
    settings: "Protocol"

    def text(self) -> Iterator[Piece]:
        """Return one table."""
        from mapgauge.metrics.table import heading

        body = [[*self._head(row), *(number(row[key]) for key in self._keys)] for row in self.values]
        header = [*self._header, *map(heading, self._keys)]
        yield output.Table(title=self._title, header=header, rows=body, fixed=len(self._header))

    def to_dict(self) -> Any:
        """Return the rows."""
        return self.values

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows, with regions as text."""
        return [row | {"region": _size(row["region"])} for row in self.values]

    def latex(self) -> str:
        """Return one table. Nothing is bold, because values at different settings are not compared."""
        body = []
        for row in self.values:
            values = [f"${la.number(key, row[key])}$" for key in self._keys]
            body.append([*map(la.escaped, self._head(row)), *values])
        header = [*self._header, *map(la.titled, self._keys)]
        return la.tabular([list(map(la.escaped, header))], body, [self._title])

    @property
    def _title(self) -> str:
        from mapgauge.protocols import full_name

        return f"Means over classes ({full_name(self.settings, without=('cutoffs',))})"

    @property
    def _keys(self) -> list[str]:
        from mapgauge.evaluation.sweeps import SETTINGS

        return [key for key in self.values[0] if key not in (*SETTINGS, "name")]

    @property
    def _several(self) -> bool:
        return len({row["name"] for row in self.values}) > 1

    @property
    def _header(self) -> list[str]:
        settings = ["region", "sampling", "cutoff"]
        if self._several:
            return ["name", *settings]
        return settings

    def _head(self, row: dict[str, Any]) -> list[str]:
        """Return the cells that name a row."""
        from mapgauge.evaluation.sweeps import region_of, sampling_of

        if row["cutoff"] is None:
            cutoff = "-"
        else:
            cutoff = f"{row['cutoff']:g} m"
        settings = [region_of(row), sampling_of(row), cutoff]
        if self._several:
            return [row["name"], *settings]
        return settings


def _size(region: tuple[float, float] | None) -> str:
    """Return a region for CSV, which has a column of its own that says whether the sides were cropped."""
    if region is None:
        return ""
    return "x".join(f"{length:g}" for length in region)
