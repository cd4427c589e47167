"""``mapgauge why``: splits PLD by cause, and says what fixing one cause would bring."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from mapgauge.cli import options as o
from mapgauge.cli.by_cause import ByCause, differences_by_cause
from mapgauge.cli.command import command, without_effect
from mapgauge.cli.emit import Document, Line, Piece, Printing, emit, one_or_all
from mapgauge.cli.methods import Methods, with_data, with_data_if_there
from mapgauge.cli.output import Table, progress
from mapgauge.cli.parsing import refuse
from mapgauge.cli.slices import each_slice, tags_of
from mapgauge.words import did_you_mean

if TYPE_CHECKING:
    from mapgauge.results.causes import Causes
    from mapgauge.results.families import Correction, Tested
    from mapgauge.results.results import Results


@dataclass(frozen=True, kw_only=True)
class WhyOptions(Printing):
    """The options of ``mapgauge why``."""

    files: o.MethodsArgument
    fixes: Annotated[
        bool,
        o.option("--fixes", o.COMPUTED, "Also say what fixing one cause alone would bring. It evaluates ten times."),
    ] = False
    cause: Annotated[
        str | None, o.option("--cause NAME", o.WRITTEN, "Also list the frames in which this cause costs most.")
    ] = None
    worst: Annotated[int, o.worst_option("a frame of --cause", least=1)] = 10
    by: o.ByOption = None
    correction: o.CorrectionOption = "none"
    protocol: o.ProtocolOption = None
    workers: o.WorkersOption = None
    json: o.JsonOption = False
    csv: o.CsvOption = False
    quiet: o.QuietOption = False


@command
def why(options: WhyOptions) -> None:
    """Split PLD by cause.

    The causes exclude each other and add up to PLD. From results, the metric `causes`, the geometry in the file or the
    evaluated files are used. With several methods, the last table splits the difference to the first, with intervals.
    """
    options = replace(options, cause=_cause(options.cause))
    sides = Methods.of("why", options.files, protocol=options.protocol, workers=options.workers)
    _check(options, sides)
    names = sides.names
    methods = _load(sides, fixes=options.fixes)
    if options.by is not None:  # every slice is a method of its own
        parts = each_slice(names, methods, options.by, tags=tags_of(sides.files, options.by))
        names = [f"{name}, {called}" if len(names) > 1 else name for name in parts for called in names]
        methods = [part for some in parts.values() for part in some]
    emit(options, _split(options, names, methods))


def _split(options: WhyOptions, names: Sequence[str], methods: Sequence["Results"]) -> "SplitByCause":
    """Return the causes of each method, and of the differences to the first."""
    from mapgauge import causes
    from mapgauge.results.families import Tested, correct_together, count_tests
    from mapgauge.results.intervals import LEVEL

    splits: dict[str, Causes] = {}
    for called, method in zip(names, methods, strict=True):
        with progress(f"splitting {called}") as advance:
            splits[called] = causes(method, fixes=options.fixes, workers=options.workers, progress=advance)
    pairs: list[tuple[str, str]] = []
    if options.form != "csv" and options.by is None:
        pairs = [(names[0], name) for name in names[1:]]
    by_cause = differences_by_cause(names, methods, pairs)
    correction = cast("Correction", options.correction)
    tested = Tested(count_tests(by_cause.differences), correction, LEVEL, over="classes and causes")
    if correction == "holm":
        (corrected,) = correct_together(by_cause.differences)
        by_cause = replace(by_cause, differences=corrected)
    return SplitByCause(splits, by_cause, tested, cause=options.cause, worst=options.worst)


def _cause(name: str | None) -> str | None:
    """Return the key of a cause, which may be given as tables show it."""
    from mapgauge.metrics.causes import CAUSES, label_of

    if name is None:
        return None
    by_label = {_typed(label_of(key)): key for key in CAUSES}
    wanted = _typed(name)
    key = by_label.get(wanted, wanted)
    if key not in CAUSES:
        refuse("--cause", f"must be one of {', '.join(CAUSES)}, got {key!r}{did_you_mean(key, CAUSES)}")
    return key


def _typed(name: str) -> str:
    """Return a name as one word in small letters."""
    return name.strip().lower().replace(" ", "_").replace("-", "_")


def _check(options: WhyOptions, sides: Methods) -> None:
    """Refuse options that do not fit."""
    if options.cause is None:
        without_effect(options, ["worst"], "without --cause NAME")
    if options.form == "csv":
        without_effect(options, ["cause", "worst"], "with --csv, which has no frames. Text and --json have them")
        without_effect(options, ["fixes"], "with --csv, which has no fixes. Text and --json have them")
    if len(sides.names) == 1 or options.by is not None or options.form == "csv":
        without_effect(options, ["correction"], "without differences: with one method, with --by and with --csv")


def _load(sides: Methods, *, fixes: bool) -> list["Results"]:
    """Return results with the causes of PLD, completeness if there are several, and for fixes the geometry."""
    from mapgauge.evaluation.evaluate import with_metrics
    from mapgauge.metrics.causes import CAUSES_OF_PLD
    from mapgauge.metrics.completeness import COMPLETENESS
    from mapgauge.metrics.pld import PLD
    from mapgauge.results.instance_costs import check_settings

    wanted = [CAUSES_OF_PLD.name]
    if len(sides.names) > 1:
        wanted.append(COMPLETENESS.name)
    # Fixes need the causes of instances, and are also judged by the average precisions of the protocol.
    metrics = None
    if not fixes:
        metrics = (PLD.name, *wanted)
    methods = sides.load(data=False, cutoff=True, metrics=metrics)
    for method in methods:
        check_settings(method.protocol)
    if sides.from_results:
        methods = [
            _with_data(method, path, wanted, fixes=fixes) for method, path in zip(methods, sides.files, strict=True)
        ]
    return [method if method.geometry is None else with_metrics(method, wanted, sides.workers) for method in methods]


def _with_data(method: "Results", path: Path, wanted: Sequence[str], *, fixes: bool) -> "Results":
    """Return results with the geometry, if something is still to be computed from it."""
    from mapgauge.metrics.causes import CAUSES_OF_PLD

    if fixes or CAUSES_OF_PLD.name not in method.metrics:
        return with_data(method, path)
    if set(wanted) <= set(method.metrics):
        return method
    return with_data_if_there(method, path)


@dataclass(frozen=True)
class SplitByCause(Document):
    """The causes of methods, and of their differences to the first."""

    splits: "Mapping[str, Causes]"  # by the names of the methods
    by_cause: ByCause
    tested: "Tested"
    cause: str | None  # whose worst frames are listed
    worst: int  # how many of them

    def text(self) -> Iterator[Piece]:
        """Return the causes of each method, then of the differences."""
        from mapgauge.cli.overview import paragraphs

        return paragraphs(self._pieces())

    def _pieces(self) -> Iterator[Piece]:
        for called, split in self.splits.items():
            of = ""
            if len(self.splits) > 1:
                of = f" of {called}"
            yield from self._of_method(of, split)
        for first, second in self.by_cause.differences:
            yield from self.by_cause.text(first, second, "mean")
        if self.tested.count:
            yield Line(str(self.tested))

    def _of_method(self, of: str, split: "Causes") -> Iterator[Piece]:
        """Return the causes of one method, its fixes, and the frames with most of a cause. ``of`` names the method."""
        from mapgauge.metrics.causes import label_of
        from mapgauge.protocols import full_name

        (header, rows), *fixes = split.tables(about=True)
        title = f"{split.title}{of} by cause ({full_name(split.protocol)})"
        yield Table(title=title, header=header, rows=rows, fixed=2)
        yield Line(split.sentence())
        if split.mean["localisation"] > 0:
            yield Line(
                "Localisation is not Loc of `mapgauge evaluate`. It also has unmatched points beside the true line, "
                f"and missing confidence of matches that do not fit (normalised SOSPA from {split.thresholds.worth:g})"
            )
        for header, rows in fixes:
            title = f"What fixing one cause alone would bring{of}: changes of means over classes"
            yield Table(title=title, header=header, rows=rows, fixed=2)
            yield Line(
                "A fix of several causes repairs all of them. Other errors stay as they are, but ideal confidences "
                "also remove false predictions of every cause. Fixes do not add up"
            )
        if self.cause is not None:
            body = [[token, f"{cost:.3f}"] for token, cost in split.frames(self.cause, count=self.worst)]
            title = f"Frames{of} with most of the cause {label_of(self.cause)}"
            yield Table(title=title, header=["token", "cost (a missed line = 0.5)"], rows=body)

    def to_dict(self) -> Any:
        """Return the causes of each method, its difference to the first, and the frames with most of a cause."""
        return one_or_all([self._document(called, split) for called, split in self.splits.items()])

    def _document(self, called: str, split: "Causes") -> dict[str, Any]:
        document = {"name": called} | split.to_dict() | {"lengths": self.by_cause.to_dict()[called]}
        if self.cause is not None:
            frames = [{"token": token, "cost": cost} for token, cost in split.frames(self.cause, count=self.worst)]
            document["frames"] = {self.cause: frames}
        first = next(iter(self.splits))
        if (first, called) in self.by_cause.differences:
            classes = {
                class_name: {key: change._asdict() for key, change in changes.items()}
                for class_name, changes in self.by_cause.differences[first, called].items()
            }
            document["difference"] = {
                "to": first,
                "correction": self.tested.correction,
                "tested": self.tested.count,
                "classes": classes,
            }
        return document

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each method and class."""
        from mapgauge.protocols import full_name

        return [
            {"name": called, "protocol": full_name(split.protocol), "class": class_name}
            | {"pld": split.pld[class_name]}
            | costs
            for called, split in self.splits.items()
            for class_name, costs in [*split.classes.items(), ("mean", split.mean)]
        ]
