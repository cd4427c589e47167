"""``mapgauge suspects``: where the truth may be wrong."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mapgauge.cli import options as o
from mapgauge.cli import output as out
from mapgauge.cli.command import command
from mapgauge.cli.emit import Document, Line, Piece, Printing, emit
from mapgauge.cli.inputs import InputReader
from mapgauge.cli.methods import Methods
from mapgauge.cli.parsing import refuse, valid
from mapgauge.cli.targets import check_targets

if TYPE_CHECKING:
    from mapgauge.cli.methods import Choose
    from mapgauge.features.suspects.suspicious_truth import SuspiciousPlace, SuspiciousTruth
    from mapgauge.frames.map_frames import MapFrames

_LABELS = {"not_found": "not found", "not_in_truth": "not in truth", "shifted": "shifted"}
_HEADER = ("", "kind", "class", "saves PLD", "frames", "of", "metres", "x", "y", "shift (m)", "first frame")
_OF_PLACES = ("frames", "of", "x", "y")  # columns that say nothing without poses
_GIVE_POSES = (
    "to join frames to places, give poses: --poses FILE, or evaluate with those of the truth, TRUTH,poses=FILE"
)
_COLUMNS = (
    "rank",
    "kind",
    "class_name",
    "saved",
    "frames",
    "seen",
    "length",
    "x",
    "y",
    "shift",
    "token",
)


@dataclass(frozen=True, kw_only=True)
class SuspectsOptions(Printing):
    """The options of ``mapgauge suspects``."""

    files: o.MethodsArgument
    output: Annotated[Path | None, o.output_option("FILE", "The places as lines, for QGIS and others (.geojson).")] = (
        None
    )
    poses: o.PosesOption = None
    worst: Annotated[int, o.worst_option("a place", least=0)] = 20
    protocol: o.ProtocolOption = None
    workers: o.WorkersOption = None
    json: o.JsonOption = False
    csv: o.CsvOption = False
    quiet: o.QuietOption = False


@command
def suspects(options: SuspectsOptions) -> None:
    """Say where the truth may be wrong.

    Two or more methods agree with each other there, and not with the truth: no method finds a true line, all see a line
    that the truth lacks, or all see a true line shifted the same way.
    """
    from mapgauge.features.suspects.writing import check_suffix

    check_targets([options.output], [*options.files, options.poses])
    if options.output is not None:
        valid("--output", check_suffix, options.output)
    sides = Methods.of("suspects", options.files, protocol=options.protocol, workers=options.workers)
    if len(sides.names) < 2:
        refuse("FILE", f"give the results of two or more methods; there is one: {sides.names[0]}")
    check_targets([options.output], [*sides.files, options.poses])

    from mapgauge import suspicious_truth
    from mapgauge.features.error_map.error_map import has_poses
    from mapgauge.features.suspects.suspicious_truth import no_place

    if options.output is None or options.poses is not None:
        choose = None
    else:
        choose = _refuse_without_poses(sides)
    methods = sides.load(cutoff=True, metrics=("pld",), choose=choose)
    if choose is not None and not any(has_poses(method) for method in methods):
        raise no_place(str(sides.files[0]))
    with out.progress("comparing methods") as advance:
        found = suspicious_truth(
            methods, names=sides.names, poses=options.poses, workers=options.workers, progress=advance
        )
    emit(options, SuspiciousPlaces(found, options.worst, [str(file) for file in options.files]))
    if options.output is not None:
        found.save(options.output)
        out.inform(f"places in {options.output}")


def _refuse_without_poses(sides: Methods) -> "Choose":
    """Return what refuses predictions and truth of which no file has poses, before the first of them is evaluated."""
    from mapgauge.features.suspects.suspicious_truth import no_place

    *predictions, truth = sides.files
    is_first = True

    def check(x: "MapFrames", y: "MapFrames") -> "tuple[MapFrames, MapFrames]":
        nonlocal is_first
        if is_first and x.poses is None and y.poses is None:
            reader = InputReader(workers=sides.workers)
            if all(reader.predictions(path).poses is None for path in predictions[1:]):
                raise no_place(str(truth))
        is_first = False
        return x, y

    return check


@dataclass(frozen=True)
class SuspiciousPlaces(Document):
    """Where the truth may be wrong."""

    found: "SuspiciousTruth"
    count: int  # the largest number of places in the text
    files: Sequence[str]  # that were given, for the command that draws a place

    @property
    def columns(self) -> Sequence[str]:
        """The columns of CSV."""
        return _COLUMNS

    def text(self) -> Iterator[Piece]:
        """Return the sentence, the places, and the command that draws the first."""
        from mapgauge.cli.overview import paragraphs

        return paragraphs(self._pieces())

    def _pieces(self) -> Iterator[Piece]:
        from mapgauge.cli.overview import command_lines

        found = self.found
        yield Line(f"{found.sentence} ({counted_frames(found)})")
        if not found.has_poses:
            yield Line(_GIVE_POSES)
        shown = found.places[: self.count]
        if not shown:
            return
        if found.has_poses:
            title = "Suspicious places"
            header = list(_HEADER)
        else:
            title = "Suspicious lines of single frames"
            header = [name for name in _HEADER if name not in _OF_PLACES]
        rows = [self._row(rank, place) for rank, place in enumerate(shown, start=1)]
        body = [[row[name] for name in header] for row in rows]
        yield out.Table(
            title=f"{title}, those first where correcting the truth saves most", header=header, rows=body, fixed=3
        )
        changes = [
            f"{name} {before:.3f} to {after:.3f}"
            for name, before, after in zip(found.names, found.before, found.after, strict=True)
        ]
        yield Line(f"mean PLD with all of them corrected: {', '.join(changes)}", gap=True)
        words = ["mapgauge", "show", *self.files, "--frame", shown[0].tokens[0], "-o", "frame.png"]
        yield Line(f"draw the first:\n{command_lines(words)}")

    def _row(self, rank: int, place: "SuspiciousPlace") -> dict[str, str]:
        cells = [
            str(rank),
            _LABELS[place.kind],
            place.class_name,
            f"{place.saved:.3f}",
            str(place.frames),
            str(place.seen),
            f"{place.length:.0f}",
            _number(place.x),
            _number(place.y),
            "-" if place.shift != place.shift else f"{place.shift:.2f}",
            place.tokens[0],
        ]
        return dict(zip(_HEADER, cells, strict=True))

    def to_dict(self) -> Any:
        """Return everything."""
        return self.found.to_dict()

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each place, with its first frame."""
        rows = []
        for rank, place in enumerate(self.found.places, start=1):
            row = {"rank": rank} | place.to_dict() | {"token": place.tokens[0]}
            rows.append({key: row[key] for key in _COLUMNS})
        return rows


def counted_frames(found: "SuspiciousTruth") -> str:
    """Return how many frames and methods were looked at, in words."""
    from mapgauge.words import counted

    return f"{counted(found.frames, 'frame', form=',')}, {counted(len(found.names), 'method')}"


def _number(value: float) -> str:
    return "-" if value != value else f"{value:.0f}"
