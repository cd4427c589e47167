"""``mapgauge changes``: splits PLD by what changed since a prior map."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mapgauge.cli import options as o
from mapgauge.cli import output as out
from mapgauge.cli import summary
from mapgauge.cli.command import command, without_effect
from mapgauge.cli.emit import Document, Line, Piece, Printing, emit, one_or_all
from mapgauge.cli.inputs import InputReader, check_files, options_of
from mapgauge.cli.methods import Methods
from mapgauge.cli.parsing import place, refuse, settings_of
from mapgauge.features.priors import TRUE_STATES
from mapgauge.hooks import PriorTables

if TYPE_CHECKING:
    from mapgauge.features.priors.changes import Changes
    from mapgauge.frames.map_frames import MapFrames
    from mapgauge.results.results import Results
    from mapgauge.scoring.prepare import Frames

_LABELS = {"mapc": "mAPC", "macc": "mACC"}
_SAME_HELP = "Largest normalised SOSPA between a true line and one of the prior for which the true line counts as kept."


@dataclass(frozen=True, kw_only=True)
class ChangesOptions(Printing):
    """The options of ``mapgauge changes``."""

    files: o.MethodsArgument
    prior: Annotated[Path, o.PRIOR]
    same: Annotated[float, o.share_option("--same", o.COMPUTED, _SAME_HELP)] = 0.25
    floor: Annotated[
        float,
        o.share_option("--floor", o.COMPUTED, "Least confidence of predictions that count when changes are detected."),
    ] = 0.4
    only: Annotated[
        str | None,
        o.choice("--only", o.COMPUTED, "Evaluate true lines in this state only. Ignore the others.", *TRUE_STATES),
    ] = None
    protocol: o.ProtocolOption = None
    workers: o.WorkersOption = None
    json: o.JsonOption = False
    csv: o.CsvOption = False


@command
def changes(options: ChangesOptions) -> None:
    """Split PLD by what changed since a prior map.

    Prints PLD of lines that were kept, moved and inserted, of stale and of invented predictions, the same of a copy of
    the prior, and the gain over it; then how well changes are detected. With --only, prints the tables of evaluate.
    """
    sides = Methods.of("changes", options.files, protocol=options.protocol, workers=options.workers)
    check_files(options.prior)
    if options.only is not None:
        _evaluate_only(options, options.only, sides)
        return
    measured = since_prior(
        sides.load(cutoff=True, metrics=["pld"]),
        sides.names,
        options.prior,
        same=options.same,
        floor=options.floor,
        workers=options.workers,
    )
    emit(options, SplitByChange(measured))


def since_prior(
    results: "Sequence[Results]", names: Sequence[str], prior: Path, *, workers: int | None, **how: Any
) -> "dict[str, Changes]":
    """Return what each method makes of a prior, by name. Warnings about the prior are printed."""
    from mapgauge.features.priors.changes import changes

    given = _read(prior, workers)
    measured = {}
    for called, method in zip(names, results, strict=True):
        with out.progress(f"comparing {called}", "blocks") as advance:
            measured[called] = changes(method, given, workers=workers, progress=advance, **how)
    out.warn_of(measured[names[0]].findings)
    return measured


def _read(prior: Path, workers: int | None) -> "Frames":
    """Read a prior, or return its place, with its options, if it may be a map."""
    from mapgauge.features.priors.prior import MapOptions

    given = options_of(prior)
    if not given:
        return place(prior)
    reading = InputReader(workers=workers)
    if not set(given) <= {"properties", "rename", "project"}:
        return reading.truth(prior)
    return MapOptions(path=Path(prior), read=lambda: reading.truth(prior), options=given)


def _evaluate_only(options: ChangesOptions, state: str, sides: Methods) -> None:
    """Evaluate truth of which only lines in one state count, and print the tables of ``evaluate``."""
    from mapgauge.features.priors.prior import mark_ignored
    from mapgauge.metrics.table import METRICS, chosen_metrics

    without_effect(options, ["floor"], "with --only, which evaluates all predictions")
    if sides.from_results:
        refuse("--only", "needs predictions and truth, not results, which have been compared already")
    settings = settings_of(sides.protocol)
    prior = _read(options.prior, options.workers)
    marked: list[MapFrames] = []  # all methods have the same truth

    def choose(x: "MapFrames", y: "MapFrames") -> "tuple[MapFrames, MapFrames]":
        if not marked:
            marked.append(mark_ignored(y, prior, state, protocol=settings, same=options.same, workers=options.workers))
        return x, marked[0]

    able = [name for name in chosen_metrics(settings, metrics=None) if METRICS[name].ignores]
    if not able:
        refuse("--protocol", f"{settings.name} has no metric that can ignore lines")
    results = sides.load(metrics=able, choose=choose)
    emit(options, OneState(results, sides.names, state))


@dataclass(frozen=True)
class OneState(Document):
    """The results of methods for true lines in one state."""

    results: "Sequence[Results]"
    names: Sequence[str]
    state: str

    def text(self) -> Iterator[Piece]:
        """Return the tables of all metrics, and which lines count."""
        yield from summary.tables_of(self.results, self.names)
        yield from summary.frame_lines(self.results, self.names)
        yield Line(
            f"Only {self.state} lines of the truth count. Predictions that are matched with other true lines are "
            "ignored."
        )

    def to_dict(self) -> Any:
        """Return the summary of each method."""
        return one_or_all(summary.documents_of(self.results, self.names))

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each class and the means of each method."""
        return summary.csv_rows_of(self.results, self.names)


def _rules(measured: "Changes") -> list[str]:
    """Return which lines are kept, and how lines are sampled, as sentences."""
    same = measured.same
    cutoff = measured.protocol.cutoffs[0]
    # Lines with as many points, each d from its partner, have the normalised SOSPA 2 d / (c + d).
    apart = cutoff * same / (2 - same)
    rules = [
        f"A line is kept if its normalised SOSPA to a line of the prior is at most {same:g}, as that of parallel lines "
        f"{apart:.2f} m apart"
    ]
    if measured.protocol.sampling == "even":
        effect = "the first point of a closed line has no effect"
        if not measured.protocol.directed:
            effect = "neither the direction of a line nor the first point of a closed one has an effect"
        rules.append(f"Lines are sampled evenly, so that {effect}. PLD of the paper's sampling is a little different")
    return rules


@dataclass(frozen=True)
class SplitByChange(Document):
    """PLD of methods by what changed since a prior."""

    methods: "Mapping[str, Changes]"  # by name

    def text(self) -> Iterator[Piece]:
        """Return PLD by change, the detection of changes and the accuracy over frames."""
        from mapgauge.features.priors.changes import cells_of

        first = next(iter(self.methods.values()))
        settings = f"cutoff {first.protocol.cutoffs[0]:g} m, {first.protocol.sampling_in_words}"
        title = f"PLD by change ({settings}), and the gain over a copy ({first.level:.0%} of draws of {first.units})"
        header, rows = cells_of(dict(self.methods))
        yield out.Table(title=title, header=header, rows=rows, fixed=2)
        for sentence in _rules(first):
            yield Line(sentence)
        yield self._detection(first.floor)
        yield from self._by_labels()
        for called, method in self.methods.items():
            yield Line(
                f"{called}: the prior of {method.changed.sum()} of {len(method.tokens)} frames is changed. "
                f"{method.stated_changed.sum()} are called so; mean accuracy {method.mean_accuracy:.3f}"
            )

    def _detection(self, floor: float) -> out.Table:
        head = ["of", "state", "lines", "stated", "right", "precision ↑", "recall ↑", "F1 ↑"]
        rows = []
        for called, method in self.methods.items():
            for row in method.detection():
                counts = [str(row[key]) for key in ("state", "true", "stated", "right")]
                shares = ["-" if row[key] is None else f"{row[key]:.3f}" for key in ("precision", "recall", "f1")]
                rows.append([called, *counts, *shares])
        return out.Table(title=f"Changes of the prior, from a confidence of {floor:g}", header=head, rows=rows, fixed=2)

    def _by_labels(self) -> Iterator[Piece]:
        """Return the scores by the labels of the files, if files have some."""
        labels = {called: method.labels for called, method in self.methods.items() if method.labels is not None}
        if not labels:
            return
        kinds = [(score, key) for score, values in next(iter(labels.values())).items() for key in values]
        rows = [[called, *(f"{of[score][key]:.3f}" for score, key in kinds)] for called, of in labels.items()]
        head = ["of", *(f"{_LABELS[score]} {key} ↑" for score, key in kinds)]
        yield out.Table(title="Changes by the labels in the files", header=head, rows=rows, fixed=1)

    def to_dict(self) -> Any:
        """Return all values of each method."""
        return one_or_all([method.to_dict() | {"name": called} for called, method in self.methods.items()])

    def rows(self) -> list[dict[str, Any]]:
        """Return the values of each method."""
        return [{"name": called} | row for called, method in self.methods.items() for row in method.values()]


def text_of(methods: "Mapping[str, Changes]") -> Iterator[Piece]:
    """Return tables and sentences about what ``since_prior`` returned."""
    return SplitByChange(methods).text()


TABLES = PriorTables(measure=since_prior, text=text_of, key="changes")
