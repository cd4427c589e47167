"""``mapgauge errors``: which pieces of the road are not found, and where the worst places are."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mapgauge.cli import options as o
from mapgauge.cli import output as out
from mapgauge.cli.command import command
from mapgauge.cli.emit import Document, Line, Piece, Printing, emit
from mapgauge.cli.methods import Methods
from mapgauge.cli.parsing import valid
from mapgauge.cli.targets import check_figure, check_targets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mapgauge.features.error_map.error_map import ErrorMap
    from mapgauge.features.error_map.places import ErrorPlace, Kind

_CONFIDENCE = "Leave out predictions with a lower confidence. They do not find anything."
_TITLES = {
    "missed": "Not found, {name}",
    "beside": "Found, but beside the true line, {name}",
    "difference": "Not found by {name}, but by {first}",
    "gained": "Found by {name}, but not by {first}",
}
# What is said of differences between methods if there are no such places.
_BETWEEN: "dict[Kind, str]" = {
    "difference": "No place is found much less often by {name} than by {first}",
    "gained": "No place is found much more often by {name} than by {first}",
}


@dataclass(frozen=True, kw_only=True)
class ErrorsOptions(Printing):
    """The options of ``mapgauge errors``."""

    files: o.MethodsArgument
    output: Annotated[
        Path | None, o.output_option("FILE", "The pieces as lines, for QGIS and others (.geojson or .parquet).")
    ] = None
    confidence: Annotated[float, o.share_option("--confidence", o.COMPUTED, _CONFIDENCE)] = 0.0
    cutoff: Annotated[float | None, o.ONE_CUTOFF] = None
    poses: o.PosesOption = None
    worst: Annotated[int, o.worst_option("a place: connected pieces of one class", least=0)] = 5
    figure: Annotated[Path | None, o.figure_option("the road network, coloured by what is not found")] = None
    title: o.TitleOption = None
    protocol: o.ProtocolOption = None
    workers: o.WorkersOption = None
    json: o.JsonOption = False
    csv: o.CsvOption = False
    quiet: o.QuietOption = False


@command
def errors(options: ErrorsOptions) -> None:
    """Show where on the map a method fails.

    The true lines of all frames are placed in the world by the poses of the frames and cut into pieces of half a metre.
    Each piece counts the frames that saw it and the frames that found it.
    """
    from mapgauge.features.error_map.writing import check_suffix

    written = [options.output, options.figure]
    check_targets(written, [*options.files, options.poses])
    if options.output is not None:
        valid("--output", check_suffix, options.output)
    check_figure(options.figure)
    sides = Methods.of("errors", options.files, protocol=options.protocol, workers=options.workers)
    check_targets(written, [*sides.files, options.poses])

    from mapgauge import error_map
    from mapgauge.features.error_map.error_map import has_errors

    methods = sides.load(cutoff=True, metrics=("pld",))
    with out.progress("mapping errors") as advance:
        made = error_map(
            methods,
            names=sides.names,
            confidence=options.confidence,
            cutoff=options.cutoff,
            poses=options.poses,
            workers=options.workers,
            progress=advance,
        )
    doubtful = [name for name, method in zip(sides.names, methods, strict=True) if has_errors(method)]
    emit(options, WorstPlaces(made, _places(made, options.worst), doubtful))
    if options.output is not None:
        made.save(options.output)
        out.inform(f"error map in {options.output}")
    if options.figure is not None:
        from mapgauge import plot

        out.save_figure(plot.errors(made, worst=options.worst, title=options.title), options.figure)


_Places = dict[tuple[str, "Kind"], list["ErrorPlace"]]
_KEYS = (
    "name",
    "kind",
    "rank",
    "class_name",
    "x",
    "y",
    "length",
    "lost",
    "not_found",
    "low",
    "high",
    "offset",
    "frames",
    "scenes",
    "token",
)


def _places(made: "ErrorMap", count: int) -> _Places:
    """Return the worst places of each kind, of each method."""
    places: _Places = {}
    for k, name in enumerate(made.names):
        kinds: tuple[Kind, ...] = ("missed", "beside", "difference", "gained") if k else ("missed", "beside")
        for kind in kinds:
            places[name, kind] = made.worst(name, kind=kind, count=count)
    return places


def _each(places: _Places) -> list[tuple[str, str, int, "ErrorPlace"]]:
    return [
        (name, kind, rank, place) for (name, kind), some in places.items() for rank, place in enumerate(some, start=1)
    ]


def _row(name: str, rank: int, place: "ErrorPlace") -> dict[str, Any]:
    """Return a place as a row of CSV: one frame in place of all."""
    row = {"name": name, "kind": place.kind, "rank": rank} | place.to_dict()
    del row["tokens"]
    row["token"] = place.tokens[0]
    return row


@dataclass(frozen=True)
class WorstPlaces(Document):
    """What of the map is not found, and the worst places of each method."""

    made: "ErrorMap"
    places: _Places
    doubtful: Sequence[str]  # methods with errors among their findings, about which nothing is said

    @property
    def columns(self) -> Sequence[str]:
        """The columns of CSV."""
        return _KEYS

    def text(self) -> "Iterator[Piece]":
        """Return the overall values, the worst places, and a sentence for each method."""
        from mapgauge.cli.overview import paragraphs

        return paragraphs(self._pieces())

    def _pieces(self) -> "Iterator[Piece]":
        from mapgauge.features.error_map.places import sentence_of

        yield self._overall()
        made = self.made
        yield Line(f"found: matched within {made.cutoff:g} m, with a confidence of at least {made.confidence:g}")
        yield Line("flips: how often a piece changes between found and not found in two consecutive frames that saw it")
        found = {(name, kind): some for (name, kind), some in self.places.items() if some}
        for (name, kind), some in found.items():
            yield self._worst(name, kind, some)
        lacking = [
            (name, kind)
            for (name, kind), some in self.places.items()
            if not some and kind in _BETWEEN and name not in self.doubtful
        ]
        for k, (name, kind) in enumerate(lacking if found else ()):
            yield Line(_BETWEEN[kind].format(name=name, first=self.made.names[0]), gap=k == 0)
        said = [(name, some) for (name, _), some in found.items() if name not in self.doubtful]
        for k, (name, some) in enumerate(said):
            yield Line(sentence_of(some[0], name), gap=k == 0)

    def _overall(self) -> out.Table:
        from mapgauge.features.error_map.places import overall

        made = self.made
        rows = []
        for name in made.names:
            values = overall(made, name)
            rows.append([name, f"{values['length'] / 1000:.2f}", _share(values["not_found"]), _share(values["flips"])])
        about = f"Pieces of the map over {len(made.tokens):,} frames"
        return out.Table(title=about, header=["name", "road (km)", "not found ↓", "flips ↓"], rows=rows)

    def _worst(self, name: str, kind: "Kind", places: "Sequence[ErrorPlace]") -> out.Table:
        from mapgauge.features.error_map.places import interval_of

        header = ["", "class", "x", "y", "metres", "not found", "beside (m)", "frames", "scenes"]
        if kind in _BETWEEN:
            header[5] = "difference"
        body = [
            [
                str(rank),
                place.class_name,
                f"{place.x:.0f}",
                f"{place.y:.0f}",
                f"{place.length:.0f}",
                interval_of(place),
                "-" if place.offset != place.offset else f"{place.offset:.2f}",
                f"{place.frames:,}",
                f"{place.scenes:,}" if place.scenes else "-",
            ]
            for rank, place in enumerate(places, start=1)
        ]
        return out.Table(
            title=_TITLES[kind].format(name=name, first=self.made.names[0]), header=header, rows=body, fixed=2
        )

    def to_dict(self) -> Any:
        """Return the overall values and all places of each method."""
        from mapgauge.features.error_map.places import overall

        made = self.made
        methods = []
        for name in made.names:
            document: dict[str, Any] = {"name": name} | overall(made, name)
            for (of, kind), some in self.places.items():
                if of == name:
                    document[kind] = [place.to_dict() for place in some]
            methods.append(document)
        about = {"confidence": made.confidence, "cutoff": made.cutoff, "frames": len(made.tokens)}
        return about | {"pieces": len(made.pieces.x), "methods": methods}

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each place."""
        return [_row(name, rank, place) for name, _, rank, place in _each(self.places)]


def _share(value: float) -> str:
    return "-" if value != value else f"{100 * value:.1f} %"
