"""``mapgauge splits``: overlap of training and validation, new splits, and a thinner set."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from math import inf, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mapgauge.cli import options as o
from mapgauge.cli import output as out
from mapgauge.cli import parsing
from mapgauge.cli.command import command
from mapgauge.cli.emit import Document, Line, Piece, Printing, emit
from mapgauge.cli.helps import HELP_ALL, CommandGroup
from mapgauge.cli.inputs import InputReader, check_files
from mapgauge.cli.methods import load_all
from mapgauge.cli.slices import tags_of
from mapgauge.cli.targets import check_figure, check_targets
from mapgauge.words import counted

if TYPE_CHECKING:
    from mapgauge.features.splits.diversity import Diversity
    from mapgauge.features.splits.joint import Joint
    from mapgauge.features.splits.overlap import SplitOverlap
    from mapgauge.features.splits.propose import Proposal
    from mapgauge.frames.map_frames import MapFrames
    from mapgauge.results.results import Results
    from mapgauge.results.slices import Slices

_OVERLAP = "overlap"
_SEARCH = "File for finished frames (.npz). The same command continues from it after an interruption."
_RADIUS = "Largest PLD between the truth of a frame that is left out and of a kept frame."
TruthArgument = Annotated[Path, o.files_argument("TRUTH", "File of truth. Options follow its name: FILE,poses=FILE.")]
SharesOption = Annotated[
    parsing.Texts, o.option("--shares NAME=SHARE,...", o.COMPUTED, "Splits, and the share of frames of each.")
]


class _Default(CommandGroup):
    """Commands, of which one need not be named: ``mapgauge splits TRAIN VAL``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the name of the default command before files, but not before a command that is spelled wrongly."""
        known = (*self.commands, "-h", "--help", HELP_ALL)
        if args and args[0] not in known and not get_close_matches(args[0], known, cutoff=0.8):
            args = [_OVERLAP, *args]
        return super().parse_args(ctx, args)


splits: typer.Typer = typer.Typer(
    name="splits",
    cls=_Default,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Measure overlap of splits, and make new splits. Without a command, `splits TRAIN VAL` is `overlap`.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@dataclass(frozen=True, kw_only=True)
class OverlapOptions(Printing):
    """The options of ``mapgauge splits overlap``."""

    train: Annotated[Path, o.files_argument("TRAIN", "Truth of the training frames.")]
    validation: Annotated[Path, o.files_argument("VAL", "Truth of the validation frames.")]
    results: Annotated[
        list[Path] | None, o.files_argument("RESULT...", "Results on the validation frames, from `evaluate -o`.")
    ] = None
    protocol: o.ProtocolOption = None
    figure: Annotated[Path | None, o.figure_option("the places of both sets, and the error over the distances")] = None
    search: Annotated[Path | None, o.option("--search FILE", o.WORK, _SEARCH)] = None
    workers: o.WorkersOption = None
    json: o.JsonOption = False
    csv: o.CsvOption = False
    quiet: o.QuietOption = False


@splits.command(_OVERLAP)
@command
def overlap(options: OverlapOptions) -> None:
    """Measure how near validation is to training.

    The distance of a validation frame in place is the distance to the nearest training pose. The distance in shape is
    the PLD to the most similar truth of a training frame. With results, the command prints the error over both.
    """
    given = list(options.results or ())
    check_targets([options.figure, options.search], [options.train, options.validation, *given])
    check_figure(options.figure)
    check_files(options.train, options.validation)
    if given:
        names = parsing.file_names(given)
    else:
        names = []
    reading = InputReader(workers=options.workers)

    from mapgauge.features.splits.overlap import splits as measure

    tags = tags_of([options.validation, options.train])
    if given:
        methods = load_all(given, names)
    else:
        methods = []
    of_training = reading.truth(options.train)
    of_validation = _with_poses_of(methods, reading.truth(options.validation))
    with out.progress("searching similar frames") as advance:
        found = measure(
            of_training,
            of_validation,
            protocol=parsing.one_protocol(options.protocol),
            tags=tags,
            work=options.search,
            workers=options.workers,
            progress=advance,
        )
    joint = {name: found.joint(method) for name, method in zip(names, methods, strict=True)}
    for note in found.notes:
        out.warn(note)
    emit(options, OverlapOfSplits(found, joint))
    if options.figure is not None:
        from mapgauge import plot

        out.save_figure(plot.splits(found, joint), options.figure)


@dataclass(frozen=True)
class OverlapOfSplits(Document):
    """How near validation is to training, and the error of methods over the distances."""

    found: "SplitOverlap"
    joint: "Mapping[str, Joint]"  # by the names of the methods

    def text(self) -> Iterator[Piece]:
        """Return the distances, and the error of each method over them."""
        from mapgauge.features.splits.joint import CLOSE

        found = self.found
        about = _summary(found)
        yield self._distances(about)
        if found.close is not None:
            yield Line(f"{found.close:.1%} of the validation frames lie within {CLOSE:g} m of a training frame")
        if isfinite(about["frechet_median"]):
            yield Line(f"Fréchet distance to the most similar training frame, median: {about['frechet_median']:.2f} m")
        share = 1 - about["compared"] / max(about["pairs"], 1)
        yield Line(
            f"{about['compared']:,} of {about['pairs']:,} pairs of frames were compared; bounds saved {share:.1%}"
        )
        for name, of in self.joint.items():
            yield from self._errors(name, of)

    def _distances(self, about: Mapping[str, Any]) -> out.Table:
        """Return the quartiles of the distances in place and in shape."""
        quartiles = {"shape (PLD)": about["shape_quartiles"]}
        if about["place_quartiles"] is not None:
            quartiles = {"place (m)": about["place_quartiles"]} | quartiles
        rows = [[name, *(f"{value:.2f}" for value in values)] for name, values in quartiles.items()]
        measured = counted(about["frames"], "validation frame", form=",")
        against = counted(about["training_frames"], "training frame", form=",")
        title = f"From {measured} to the nearest of {against}"
        return out.Table(title=title, header=["distance in", "25 %", "median", "75 %"], rows=rows, fixed=1)

    def _errors(self, name: str, of: "Joint") -> Iterator[Piece]:
        """Return the error of one method over both distances."""
        if of.place is not None:
            yield _by_distance(f"{name} by distance in place, in metres", of.place)
        yield _by_distance(f"{name} by distance in shape, as PLD to the most similar training frame", of.shape)
        if of.location is not None:
            yield Line(f"O_loc of {of.key}: {of.location} (far against close, with the same distances in shape)")
        elif self.found.place is not None:
            yield Line(f"O_loc of {of.key}: - (there are no close and far frames with the same distances in shape)")
        yield Line(f"O_geom of {of.key}: {of.geometry} (from the most to the least similar bin, by a straight line)")

    def to_dict(self) -> Any:
        """Return a summary, the values of methods, and all frames."""
        return {
            "summary": _summary(self.found),
            "methods": {name: _plain(of) for name, of in self.joint.items()},
            "frames": self.found.rows(),
        }

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each validation frame."""
        return self.found.rows()


def _by_distance(title: str, sliced: "Slices") -> out.Table:
    """Return the first table of values by groups of frames."""
    header, body = sliced.tables()[0]
    return out.Table(title=title, header=header, rows=body, fixed=1)


def _with_poses_of(methods: "Sequence[Results]", frames: "MapFrames") -> "MapFrames":
    """Return frames with the poses that results keep, if they have none and the results have all of the frames."""
    from mapgauge.frames.poses import take_poses

    for method in methods:
        drive = method.rows.drive
        if frames.poses is None and drive is not None and set(frames.tokens) <= set(method.tokens):
            kept = drive.frames(method.tokens, method.rows.scenes, name=str(method.origin))
            return take_poses(frames, kept)
    return frames


def _summary(found: "SplitOverlap") -> dict[str, Any]:
    import numpy as np

    def quartiles(values: Any) -> list[float]:
        known = values[np.isfinite(values)]
        if not len(known):
            return [np.nan] * 3
        three: list[float] = np.percentile(known, (25, 50, 75)).tolist()
        return three

    return {
        "frames": len(found.tokens),
        "training_frames": len(found.shape.among),
        "close": found.close,
        "place_quartiles": None if found.place is None else quartiles(found.place),
        "shape_quartiles": quartiles(found.shape.distance[:, 0]),
        "frechet_median": quartiles(found.frechet[:, 1])[1],
        "compared": found.shape.compared,
        "pairs": found.shape.pairs,
    }


def _plain(joint: "Joint") -> dict[str, Any]:
    return {
        "value": joint.key,
        "o_loc": None if joint.location is None else joint.location._asdict(),
        "o_geom": joint.geometry._asdict(),
        "place": None if joint.place is None else joint.place.to_dict(),
        "shape": joint.shape.to_dict(),
        "matched": {"close": joint.matched[0], "far": joint.matched[1]},
    }


@dataclass(frozen=True, kw_only=True)
class ProposeOptions(Printing):
    """The options of ``mapgauge splits propose``."""

    truth: TruthArgument
    output: Annotated[Path, o.output_option("FOLDER", "A folder for the token lists.")]
    shares: SharesOption = None
    apart: Annotated[
        float, o.option("--apart METRES", o.COMPUTED, "Smallest distance between frames of two splits.")
    ] = 5.0
    cell: Annotated[
        float,
        o.option(
            "--cell METRES",
            o.COMPUTED,
            "Side of the squares that go to one split.",
            callback=parsing.bounded("--cell", "a positive length in metres", lambda side: 0 < side < inf),
        ),
    ] = 200.0
    json: o.JsonOption = False
    quiet: o.QuietOption = False


@splits.command("propose")
@command
def propose(options: ProposeOptions) -> None:
    """Write token lists that are disjoint in space.

    The splits are balanced by tags (TRUTH,tags=FILE), by the amount of truth of each class and by curvature.
    """
    from mapgauge.features.splits.propose import SHARES, check_shares
    from mapgauge.features.splits.propose import propose as make

    truth = options.truth
    shares = parsing.valid("--shares", check_shares, _shares(options.shares) or SHARES)
    if not 0 <= options.apart < options.cell:
        parsing.refuse(
            "--apart", f"must be from 0 to less than a square (--cell), {options.cell:g} m, got {options.apart:g}"
        )
    check_files(truth)
    targets = {name: options.output / f"{name}.txt" for name in shares}
    check_targets(targets.values(), [truth], new_folder=options.output)
    frames = InputReader().truth(truth)
    made = make(frames, shares=shares, margin=options.apart, cell=options.cell, tags=tags_of([truth]))
    for name, path in targets.items():
        _save_tokens(path, made.splits[name])
    emit(options, ProposedSplits(made))
    for note in made.notes:
        out.warn(note)
    out.inform(f"token lists in {options.output}")


def _save_tokens(path: Path, tokens: Iterable[str]) -> None:
    from mapgauge.io.files.writing import save

    save(path, "".join(f"{token}\n" for token in tokens).encode())


def _shares(shares: parsing.Texts) -> dict[str, float]:
    """Return the share of each split by its name, which is also the name of a file."""
    wanted: dict[str, float] = {}
    for item in parsing.listed(shares) or ():
        name, _, share = item.partition("=")
        is_new = name.replace("-", "").replace("_", "").isalnum() and name not in wanted
        try:
            number = float(share)
        except ValueError:
            number = None
        if number is None or not is_new:
            parsing.refuse("--shares", f"expected NAME=SHARE, such as train=0.8, each name once, got {item!r}")
        wanted[name] = number
    return wanted


@dataclass(frozen=True)
class ProposedSplits(Document):
    """How large, how balanced and how far apart new splits are."""

    made: "Proposal"

    def text(self) -> Iterator[Piece]:
        """Return the shares of each group of frames, and distances."""
        made = self.made
        names = list(made.splits)
        rows = [["frames", *(f"{len(made.splits[name]):,}" for name in names)]]
        rows += [[group, *(f"{shares_of[name]:.1%}" for name in names)] for group, shares_of in made.balance.items()]
        yield out.Table(title="Shares of the frames of each group", header=["", *names], rows=rows, fixed=1)
        for (first, second), metres in made.nearest.items():
            apart = "in different cities"
            if isfinite(metres):
                apart = f"{metres:.1f} m apart"
            yield Line(f"{first} and {second} are {apart}")
        left = counted(len(made.dropped), "frame is", "frames are", form=",")
        yield Line(f"{left} left out, closer than {made.margin:g} m to another split")
        if made.cut_scenes:
            cut = counted(made.cut_scenes, "scene has", "scenes have", form=",")
            yield Line(f"{cut} frames in several splits")

    def to_dict(self) -> Any:
        """Return sizes, distances and the balance."""
        made = self.made
        return {
            "frames": {name: len(tokens) for name, tokens in made.splits.items()},
            "dropped": len(made.dropped),
            "nearest": [{"first": a, "second": b, "metres": metres} for (a, b), metres in made.nearest.items()],
            "balance": made.balance,
            "cut_scenes": made.cut_scenes,
            "notes": made.notes,
        }


@dataclass(frozen=True, kw_only=True)
class ThinOptions(Printing):
    """The options of ``mapgauge splits thin``."""

    truth: TruthArgument
    output: Annotated[Path, o.output_option("FILE", "A token list (.txt).")]
    radius: Annotated[
        float,
        o.option(
            "--radius PLD",
            o.COMPUTED,
            _RADIUS,
            callback=parsing.bounded("--radius", "from 0 to 1", lambda pld: 0 <= pld <= 1),
        ),
    ] = 0.3
    protocol: o.ProtocolOption = None
    json: o.JsonOption = False
    quiet: o.QuietOption = False


@splits.command("thin")
@command
def thin(options: ThinOptions) -> None:
    """Write tokens of frames without near duplicates.

    The command also says how diverse all frames and the kept frames are. With --json, it lists the frames that are left
    out, each with a kept frame within the radius, and pairs of near duplicates.
    """
    from mapgauge.features.splits.diversity import diversity
    from mapgauge.features.splits.diversity import thin as make

    check_targets([options.output], [options.truth])
    check_files(options.truth)
    frames = InputReader().truth(options.truth)
    name = parsing.one_protocol(options.protocol)
    with out.progress("thinning") as advance:
        thinned = make(frames, options.radius, protocol=name, progress=advance)
    _save_tokens(options.output, thinned.tokens)
    trees = {}
    for called, some in (("all", frames), ("kept", frames.of_tokens(thinned.tokens))):
        with out.progress(f"diversity of {called} frames") as advance:
            trees[called] = diversity(some, protocol=name, progress=advance)
    emit(options, ThinnedFrames(trees, thinned.like, options.radius))
    out.inform(f"tokens in {options.output}")


@dataclass(frozen=True)
class ThinnedFrames(Document):
    """How diverse all frames and the kept frames are."""

    trees: "Mapping[str, Diversity]"  # of all frames and of those that are kept
    left_out: Mapping[str, str]  # tokens, each with that of a kept frame
    radius: float

    def text(self) -> Iterator[Piece]:
        """Return the diversity of both."""
        rows = [[called, f"{len(tree.tokens):,}", f"{tree.total:.2f}"] for called, tree in self.trees.items()]
        title = "Diversity: the length of the minimum spanning tree"
        yield out.Table(title=title, header=["frames", "number", "diversity"], rows=rows, fixed=1)
        left = counted(len(self.left_out), "frame is", "frames are", form=",")
        yield Line(f"{left} left out, within {self.radius:g} of a kept frame")

    def to_dict(self) -> Any:
        """Return the diversity of both, the frames that are left out, and all near duplicates."""
        sets = {called: {"frames": len(tree.tokens), "diversity": tree.total} for called, tree in self.trees.items()}
        pairs = [{"first": a, "second": b, "pld": pld} for a, b, pld in self.trees["all"].duplicates(self.radius)]
        return {**sets, "left_out": self.left_out, "duplicates": pairs}
