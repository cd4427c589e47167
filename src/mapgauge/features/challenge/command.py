"""``mapgauge challenge init``, ``check``, ``score`` and ``board``, and ``mapgauge verify``."""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mapgauge.cli import options as o
from mapgauge.cli.command import command
from mapgauge.cli.emit import Document, Line, Piece, Printing, emit
from mapgauge.cli.helps import CommandGroup
from mapgauge.cli.inputs import InputReader, check_files, options_of, turned
from mapgauge.cli.output import Table, inform, printable, warn
from mapgauge.cli.parsing import Texts, listed, metrics_of_each, one_protocol, place, refuse, settings_of, valid
from mapgauge.cli.targets import PAGES, check_targets, make_folder
from mapgauge.markup import shortened
from mapgauge.words import counted

if TYPE_CHECKING:
    from mapgauge.features.challenge.manifest import Challenge
    from mapgauge.features.challenge.scoring import ScoredSubmission
    from mapgauge.features.challenge.submission import CheckedSubmission
    from mapgauge.features.challenge.verifying import Verification
    from mapgauge.scoring.prepare import Frames

challenge: typer.Typer = typer.Typer(
    name="challenge",
    cls=CommandGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Run a challenge: manifest, checks, scores of untrusted files, board.",
    context_settings={"help_option_names": ["-h", "--help"]},
)

MANIFEST = "challenge.json"
_MANIFEST_HELP = "The manifest of the challenge, which `mapgauge challenge init` writes."
_TRUTH_HELP = "The file of the truth."
_FORMATS_HELP = "Formats that submissions may have; see `mapgauge list formats`."
_RULES_HELP = "A file with the rules in words, or the rules themselves."
_LIMIT_HELP = (
    "Change a limit of submissions: bytes, instances_per_frame, points_per_line, seconds or memory_bytes. Can be "
    "repeated."
)
_NAME_HELP = "The name on the board. Default: the name of the file."
_LINK_HELP = "An address that the board links, such as that of a paper."

ManifestOption = Annotated[Path, o.option("--manifest FILE", o.READ, _MANIFEST_HELP, show_default=False)]
TruthOption = Annotated[Path, o.option("--truth FILE", o.READ, _TRUTH_HELP, parser=o.input_file, show_default=False)]
SubmissionArgument = Annotated[
    Path, typer.Argument(metavar="SUBMISSION", help="The file of a participant: predictions.", show_default=False)
]


@dataclass(frozen=True, kw_only=True)
class InitOptions:
    """The options of ``mapgauge challenge init``."""

    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the challenge.", show_default=False)]
    truth: TruthOption
    output: Annotated[Path, o.output_option("FOLDER", f"The folder of the challenge; {MANIFEST} in it is for all.")]
    protocol: o.ProtocolOption = None
    metrics: o.MetricsOption = None
    cutoff: o.CutoffOption = None
    classes: o.ClassesOption = None
    changes: o.SetOption = None
    formats: Annotated[Texts, o.option("--formats NAME,...", o.COMPUTED, _FORMATS_HELP)] = None
    limits: Annotated[Texts, o.option("--limit NAME=N", o.COMPUTED, _LIMIT_HELP)] = None
    show_scenes: Annotated[bool, o.option("--show-scenes", o.COMPUTED, "Allow values of scenes to be published.")] = (
        False
    )
    about: Annotated[str, o.option("--about TEXT|FILE", o.READ, _RULES_HELP)] = ""
    prior: Annotated[Path | None, o.PRIOR] = None
    quiet: o.QuietOption = False


@challenge.command("init")
@command
def init(options: InitOptions) -> None:
    """Write the manifest of a challenge.

    The manifest has the settings, the tokens, the limits and a digest of the truth, and no truth. The folder also gets
    results of simple baselines, for the organiser alone: the truth itself, an empty map, and a copy of --prior.
    """
    check_files(options.truth, *([options.prior] if options.prior else []))
    name = one_protocol(options.protocol)
    protocol = settings_of(name, cutoff=options.cutoff, classes=options.classes, changes=options.changes)
    (metrics,) = metrics_of_each([protocol], options.metrics)
    limits = _limits(options.limits)
    target = options.output / MANIFEST
    check_targets([target], [options.truth, options.prior], new_folder=options.output)

    from mapgauge.features.challenge.manifest import FORMATS_OF_PREDICTIONS, Challenge, ChallengeLimits, check_name
    from mapgauge.features.challenge.scoring import write_baselines
    from mapgauge.io import format_named

    valid("NAME", check_name, "the name of the challenge", options.name)
    formats = listed(options.formats) or list(FORMATS_OF_PREDICTIONS)
    for name in formats:
        valid("--formats", format_named, name)
    truth = InputReader().truth(options.truth)
    made = Challenge.of(
        options.name,
        truth,
        protocol,
        metrics=metrics,
        formats=formats,
        limits=valid("--limit", lambda given: ChallengeLimits(**given), limits),
        show_scenes=options.show_scenes,
        rules=_rules(options.about),
    )
    if options.prior is None:
        prior = None
    else:
        prior = InputReader().predictions(options.prior)
    made.save(target)
    write_baselines(made, truth, options.output, prior=prior)
    inform(f"manifest for all participants in {target}: {counted(len(made.tokens), 'frame')}, no truth")
    inform(f"{options.output / 'private'} is for the organiser alone: never publish it")


def _limits(texts: Texts) -> dict[str, int]:
    """Return limits by name."""
    known = ("bytes", "instances_per_frame", "points_per_line", "seconds", "memory_bytes")
    limits: dict[str, int] = {}
    for text in texts or ():
        name, _, value = text.partition("=")
        if name not in known or not (value.isascii() and value.isdigit() and len(value) < 19):
            refuse("--limit", f"expected NAME=N with a name of {', '.join(known)}, got {text!r}")
        limits[name] = int(value)
    return limits


def _rules(text: str) -> str:
    """Return rules: the text itself, or what a file of this name says."""
    from mapgauge.io.files.source import Content, is_plain_file

    if not is_plain_file(text):
        return text
    return Content(text, 1 << 20).data.decode("utf-8", "replace")


@dataclass(frozen=True, kw_only=True)
class CheckOptions(Printing):
    """The options of ``mapgauge challenge check``."""

    submission: SubmissionArgument
    manifest: ManifestOption
    json: o.JsonOption = False
    quiet: o.QuietOption = False


@challenge.command("check")
@command
def check(options: CheckOptions) -> None:
    """Check a submission without truth. The exit code is 1 if it would be refused."""
    from mapgauge import check_submission

    found = check_submission(_load(options.manifest), options.submission)
    emit(options, CheckedDocument(found))
    if not found.is_accepted:
        warn(f"{options.submission}: the submission would be refused")
        raise typer.Exit(1)


@dataclass(frozen=True)
class CheckedDocument(Document):
    """What a check found."""

    checked: "CheckedSubmission"

    def text(self) -> Iterator[Piece]:
        """Return what the file holds, the findings and the verdict."""
        found = self.checked
        if found.counts is not None:
            counts = ", ".join(f"{count} {name}" for name, count in found.counts.items())
            yield Line(printable(f"{found.name} ({found.format}): {counted(found.frames, 'frame')}, {counts}"))
        for finding in found.findings:
            yield Line(printable(finding.for_shell()), indent="  ", painted=finding.level)
        errors = sum(finding.level == "error" for finding in found.findings)
        if errors:
            yield Line(printable(f"{found.name} would be refused: {counted(errors, 'error')}"))
        else:
            yield Line(printable(f"{found.name} can be scored in the challenge {found.challenge}"))
        if found.file_digest:
            yield Line(f"SHA-256 of the file: {found.file_digest}")

    def to_dict(self) -> dict[str, Any]:
        """Return everything."""
        return self.checked.to_dict()


@dataclass(frozen=True, kw_only=True)
class ScoreOptions(Printing):
    """The options of ``mapgauge challenge score``."""

    submission: SubmissionArgument
    manifest: ManifestOption
    truth: TruthOption
    output: Annotated[Path, o.output_option("FOLDER", "The folder of the challenge.")]
    name: Annotated[str | None, o.option("--name NAME", o.WRITTEN, _NAME_HELP)] = None
    link: Annotated[str, o.option("--link URL", o.WRITTEN, _LINK_HELP)] = ""
    json: o.JsonOption = False
    quiet: o.QuietOption = False


@challenge.command("score")
@command
def score(options: ScoreOptions) -> None:
    """Check and evaluate a submission that nobody trusts.

    Writes public/NAME.json with what the manifest allows to show, and private/NAME.mg with the values of all frames.
    The exit code is 1 if the submission is refused.
    """
    from mapgauge import score_submission
    from mapgauge.features.challenge.scoring import check_link

    valid("--link", check_link, options.link)
    check_files(options.truth)
    made = _load(options.manifest)
    truth = InputReader().truth(options.truth)
    make_folder(options.output)
    scored = score_submission(made, options.submission, truth, options.output, name=options.name, link=options.link)
    emit(options, ScoredDocument(scored))
    if scored.unlimited:
        warn(scored.unlimited)
    if scored.document is None:
        warn(f"{options.submission}: the submission is refused")
        raise typer.Exit(1)
    inform(f"to publish: {scored.public}")
    inform(f"for the organiser alone: {scored.private}")


@dataclass(frozen=True)
class ScoredDocument(Document):
    """What a check found, the public values of a submission, and what the truth shows."""

    scored: "ScoredSubmission"

    def text(self) -> Iterator[Piece]:
        """Return what the check found. If the submission is accepted, also its values and what the truth shows."""
        yield from CheckedDocument(self.scored.checked).text()
        if self.scored.document is None:
            return
        yield self._values(self.scored.document)
        yield from self._findings()

    def _values(self, document: Mapping[str, Any]) -> Table:
        """Return the main values with their intervals."""
        from mapgauge.metrics.table import METRICS, title_of

        keys = [METRICS[name].main.key for name in document["settings"]["metrics"]]
        rows = []
        for name, values in document["values"].items():
            bounds = document["intervals"].get(name, {})
            rows.append([name, *(_cell(values.get(key), bounds.get(key)) for key in keys)])
        title = f"{document['name']}, with 95 % intervals"
        return Table(title=title, header=["class", *map(title_of, keys)], rows=rows, gap=False)

    def _findings(self) -> Iterator[Piece]:
        """Yield errors and warnings that the check without truth has not told. They are for the organiser alone."""
        scored = self.scored
        told = {(finding.code, finding.count) for finding in scored.checked.findings}
        for finding in scored.findings:
            if finding.level != "note" and (finding.code, finding.count) not in told:
                yield Line(printable(finding.for_shell()), indent="  ", painted=finding.level)
        errors = dict.fromkeys(finding.code for finding in scored.findings if finding.level == "error")
        if errors:
            file = shlex.quote(str(scored.private))
            yield Line(
                f"error: the truth shows {', '.join(errors)}: do not trust the values. On the board, the submission "
                f"has no rank. mapgauge inspect {file} says more",
                painted="error",
            )

    def to_dict(self) -> dict[str, Any]:
        """Return everything."""
        return self.scored.to_dict()


def _cell(value: float | None, bounds: list[float] | None) -> str:
    if value is None:
        return "-"
    if bounds is None:
        return f"{value:.3f}"
    return f"{value:.3f} [{bounds[0]:.3f}, {bounds[1]:.3f}]"


@dataclass(frozen=True, kw_only=True)
class BoardOptions(Printing):
    """The options of ``mapgauge challenge board``."""

    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of the challenge.", show_default=False)]
    output: Annotated[Path, o.output_option("FILE", "A page (.html). JSON and Markdown are written beside it.")]
    manifest: Annotated[
        Path | None, o.option("--manifest FILE", o.READ, f"{_MANIFEST_HELP} Default: {MANIFEST} in the folder.")
    ] = None
    json: o.JsonOption = False
    quiet: o.QuietOption = False


@challenge.command("board")
@command
def board(options: BoardOptions) -> None:
    """Write a page with the ranks of all submissions.

    Submissions whose difference cannot be decided can share a rank. A submission with an error against the truth has
    no rank. The page needs no server. JSON and Markdown have
    the same.
    """
    if options.output.suffix.lower() not in PAGES:
        refuse("--output", f"a board is an HTML page: expected a name that ends in .html, got {options.output}")
    manifest = options.manifest or options.folder / MANIFEST
    targets = [options.output, options.output.with_suffix(".json"), options.output.with_suffix(".md")]
    check_targets(targets, [manifest])

    from mapgauge import board as board_of

    made = board_of(options.folder, challenge=_load(manifest))
    page, data, text = made.save(options.output)
    emit(options, BoardDocument(made.to_dict()))
    inform(f"board in {page}, {data.name} and {text.name}")


@dataclass(frozen=True)
class BoardDocument(Document):
    """The rows of a board."""

    board: dict[str, Any]

    def text(self) -> Iterator[Piece]:
        """Return the ranks."""
        from mapgauge.features.challenge.board import rank_text
        from mapgauge.metrics.table import title_of

        key = self.board["key"]
        rows = [
            [
                rank_text(row["rank"], row["errors"]),
                row["name"],
                _cell(row["values"]["mean"].get(key), row["intervals"].get("mean", {}).get(key)),
                ", ".join(row["ties"]) or "-",
            ]
            for row in self.board["rows"]
        ]
        yield Line(printable(self.board["statement"]))
        yield Table(
            title=self.board["challenge"],
            header=["rank", "name", title_of(key), "ties with"],
            rows=rows,
            fixed=2,
            ids=1,
        )
        for note in self.board["notes"]:
            yield Line(printable(note))

    def to_dict(self) -> dict[str, Any]:
        """Return the board."""
        return self.board


@dataclass(frozen=True, kw_only=True)
class VerifyOptions(Printing):
    """The options of ``mapgauge verify``."""

    result: Annotated[
        Path,
        typer.Argument(
            metavar="RESULT",
            help="A file written by `mapgauge evaluate -o`, or a public file of a challenge.",
            show_default=False,
        ),
    ]
    predictions: Annotated[
        Path,
        o.option("--predictions FILE", o.READ, "The file of predictions.", parser=o.input_file, show_default=False),
    ]
    truth: TruthOption
    manifest: Annotated[
        Path | None, o.option("--manifest FILE", o.READ, f"{_MANIFEST_HELP} The results are also compared with it.")
    ] = None
    workers: o.WorkersOption = None
    json: o.JsonOption = False
    quiet: o.QuietOption = False


@command
def verify(options: VerifyOptions) -> None:
    """Evaluate again, and compare with a file of results.

    Compares the digests of the inputs, the settings, and all values to the last bit. The exit code is 1 if something
    differs.
    """
    check_files(options.predictions, options.truth)

    from mapgauge import verify as verified

    if options.manifest is None:
        challenge = None
    else:
        challenge = _load(options.manifest)
    predictions, truth = _sides(options)
    found = verified(
        options.result,
        predictions,
        truth,
        challenge=challenge,
        workers=options.workers,
    )
    emit(options, VerifiedDocument(found))
    if not found.holds:
        warn(f"{options.result}: these inputs do not give this file")
        raise typer.Exit(1)


def _sides(options: VerifyOptions) -> "tuple[Frames, Frames]":
    """Return both sides. A file that is given without options is read as the results say that it was read."""
    reading = InputReader(workers=options.workers)
    if not options_of(options.predictions):
        predictions: Frames = place(options.predictions)
        if not options_of(options.truth):
            return predictions, place(options.truth)
        return predictions, reading.truth(options.truth)
    # rotate=auto and project=auto follow the truth.
    truth = reading.truth(options.truth)
    return turned(options.predictions, reading.predictions(options.predictions), truth), truth


@dataclass(frozen=True)
class VerifiedDocument(Document):
    """Whether results are what their inputs give."""

    verification: "Verification"

    def text(self) -> Iterator[Piece]:
        """Return the verdict, and what differs."""
        yield Line(printable(self.verification.statement))
        wrong = self.verification.wrong
        if wrong:
            rows = [[row.kind, row.name, _plain(row.said), _plain(row.found)] for row in wrong[:_MOST]]
            yield Table(
                title="What differs", header=["kind", "name", "in the file", "from its inputs"], rows=rows, fixed=4
            )
        if len(wrong) > _MOST:
            yield Line(f"{len(wrong) - _MOST} more are in --json")

    def to_dict(self) -> dict[str, Any]:
        """Return all rows."""
        return self.verification.to_dict()


_MOST = 20  # rows that are printed
_LONGEST = 80  # characters of a value


def _plain(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return repr(value)
    return shortened(str(value), _LONGEST)


def _load(path: Path) -> "Challenge":
    from mapgauge import Challenge

    return Challenge.load(path)
