"""Checks and scores the files of strangers, and keeps what is public apart from what is the organiser's."""

import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mapgauge.errors import InvalidInput, MapgaugeError, Remedy
from mapgauge.evaluation.evaluate import evaluate
from mapgauge.features.challenge.manifest import Challenge, check_name, frames_of, truth_of
from mapgauge.features.challenge.public import RESULT_KEY, RESULT_VERSION
from mapgauge.features.challenge.sandbox import ProcessAnswer, ask
from mapgauge.features.challenge.submission import CheckedSubmission, finding_from
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames
from mapgauge.io.files.source import Content
from mapgauge.io.files.writing import save
from mapgauge.scoring.prepare import Frames

PUBLIC = "public"  # folders in the folder of a challenge
PRIVATE = "private"
BASELINES = "baselines"  # in the private one
MOST_BYTES = 1 << 26  # of a public file


@dataclass(frozen=True, kw_only=True)
class ScoredSubmission:
    """What was found in a submission, and the public values if it could be scored."""

    checked: CheckedSubmission
    findings: tuple[Finding, ...] = ()  # of the checks against the truth, the most severe first; without tokens
    document: Mapping[str, Any] | None = None  # what the public file has
    public: Path | None = None
    private: Path | None = None
    unlimited: str = ""  # what this system cannot limit, in words

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "checked": self.checked.to_dict(),
            "findings": [asdict(finding) for finding in self.findings],
            "result": None if self.document is None else dict(self.document),
            "public": None if self.public is None else str(self.public),
            "private": None if self.private is None else str(self.private),
            "unlimited": self.unlimited,
        }


def check_submission(challenge: Challenge, submission: str | os.PathLike[str]) -> CheckedSubmission:
    """Check a submission without truth, in a process of its own with the limits of the challenge.

    Args:
        challenge: The challenge.
        submission: The file.

    >>> import mapgauge as mg
    >>> import pathlib, tempfile
    >>> predictions, truth = mg.demo.demo_world(3)
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "submission.geojson"
    >>> mg.write(predictions, file)
    >>> mg.check_submission(mg.Challenge.of("Demo", truth), file).is_accepted
    True
    """
    path = Path(submission)
    return _checked(challenge, path, ask(challenge, path))


def score_submission(
    challenge: Challenge,
    submission: str | os.PathLike[str],
    truth: Frames,
    folder: str | os.PathLike[str],
    *,
    name: str | None = None,
    link: str = "",
) -> ScoredSubmission:
    """Check and evaluate a submission, and write a public and a private file.

    The file is read and evaluated in a process of its own with the limits of the challenge. Nothing is written if the
    check without truth has a finding of the level ``error``. If only the checks against the truth have one, such as
    turned axes, the files are written, and the submission has no rank on the board.

    Args:
        challenge: The challenge.
        submission: The file.
        truth: The truth, or its file. Another truth than that of the challenge is refused.
        folder: The folder of the challenge. ``public/NAME.json`` in it has the values that the challenge allows to
            show. ``private/NAME.mg`` has the values of every frame, for the board and for the organiser alone.
        name: The name on the board. If None, that of the file.
        link: An address that the board links, such as that of a paper.

    >>> import mapgauge as mg
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> predictions, truth = mg.demo.demo_world(3)
    >>> mg.write(predictions, folder / "ours.geojson")
    >>> scored = mg.score_submission(mg.Challenge.of("Demo", truth), folder / "ours.geojson", truth, folder)
    >>> sorted(str(file.relative_to(folder)) for file in (scored.public, scored.private))
    ['private/ours.mg', 'public/ours.json']
    """
    path = Path(submission)
    called = check_name("the name of a submission", name if name is not None else path.name.partition(".")[0])
    check_link(link)
    frames = truth_of(truth)
    challenge.check_truth(frames)
    target = Path(folder)
    public = target / PUBLIC / f"{called}.json"
    private = target / PRIVATE / f"{called}.mg"
    before = _scored_before(public)
    answer = ask(challenge, path, frames)
    found = _checked(challenge, path, answer)
    if answer.document is None:
        unlimited = ""
    else:
        unlimited = str(answer.document["unlimited"])
    if answer.document is None or answer.results is None:
        return ScoredSubmission(checked=found, unlimited=unlimited)
    if before not in ("", found.file_digest):
        raise InvalidInput(
            f"{public}: another submission has the name {called}",
            remedy=Remedy("Pass name= with another name", "Give another name with --name, or delete this file"),
        )
    values = answer.document["values"]
    document = {
        RESULT_KEY: RESULT_VERSION,
        "name": called,
        "challenge": challenge.name,
        "date": datetime.now(UTC).date().isoformat(),
        "link": link,
        **values,
    }
    document["digests"] = {
        "manifest": challenge.digest,
        "submission": found.file_digest,
        **values["digests"],
    }
    make_folders(target)
    save(private, answer.results)
    save(public, f"{json.dumps(document, indent=2, allow_nan=False)}\n".encode())
    return ScoredSubmission(
        checked=found,
        findings=tuple(map(finding_from, answer.document["findings"])),
        document=document,
        public=public,
        private=private,
        unlimited=unlimited,
    )


def check_link(link: str) -> None:
    """Refuse an address that a page should not link, such as a script."""
    if link and not link.startswith(("https://", "http://")):
        raise InvalidInput(f"a link must begin with https:// or http://, got {link!r:.80}")


def _checked(challenge: Challenge, path: Path, answer: ProcessAnswer) -> CheckedSubmission:
    """Return what was found, from the answer of the process."""
    if answer.document is None:
        assert answer.problem is not None  # the one or the other
        return CheckedSubmission(
            name=path.name, challenge=challenge.name, findings=(answer.problem,), file_digest=answer.file_digest
        )
    said = answer.document["checked"]
    return CheckedSubmission(
        name=said["name"],
        challenge=said["challenge"],
        findings=tuple(map(finding_from, said["findings"])),
        file_digest=answer.file_digest,
        digest=said["digest"],
        format=said["format"],
        frames=said["frames"],
        counts=said["counts"],
    )


def _scored_before(public: Path) -> str:
    """Return the SHA-256 of the submission that a public file is about; "" if there is no such file."""
    if not public.exists():
        return ""
    return str(read_public(public)["digests"]["submission"])


def read_public(path: Path) -> dict[str, Any]:
    """Read a public file."""
    content = Content(path, MOST_BYTES)
    if content.kind != "json":
        raise content.error("this is no public result of a challenge, which is JSON")
    document = content.document
    if not isinstance(document, dict) or document.get(RESULT_KEY) != RESULT_VERSION:
        raise content.error(f"this is no public result of a challenge: {RESULT_KEY} must be {RESULT_VERSION}")
    expected = {
        "name": str,
        "challenge": str,
        "date": str,
        "link": str,
        "mapgauge": str,
        "settings": dict,
        "digests": dict,
        "frames": dict,
        "values": dict,
        "intervals": dict,
        "draws": dict,
        "findings": list,
    }
    for key, kind in expected.items():
        if not isinstance(document.get(key), kind):
            raise content.error(f"this is no public result of a challenge: {key} is missing or not a {kind.__name__}")
    check_link(document["link"])
    digests = document["digests"]
    for key in ("predictions", "truth", "settings", "submission"):
        if not isinstance(digests.get(key), str):
            raise content.error(f"this is no public result of a challenge: it has no digest of the {key}")
    return document


def make_folders(folder: Path) -> None:
    """Make the folders of a challenge. Others can neither enter the private one, nor does git add it by accident."""
    private = folder / PRIVATE
    try:
        (folder / PUBLIC).mkdir(parents=True, exist_ok=True)
        private.mkdir(mode=0o700, exist_ok=True)
        (private / BASELINES).mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise MapgaugeError(f"{folder}: the folder cannot be made: {error.strerror or error}") from error
    ignore = private / ".gitignore"
    if not ignore.exists():
        save(ignore, b"*\n")


def write_baselines(challenge: Challenge, truth: MapFrames, folder: Path, prior: Frames | None = None) -> list[Path]:
    """Evaluate the truth itself, an empty map, and a copy of a prior map if there is one. Returns the private files."""
    certain = truth.with_ignore(ignore=None).with_confidence(1.0)
    sides = {"the truth itself": certain, "empty map": certain.at([])}
    if prior is not None:
        copied = frames_of(prior)
        known = [token for token in copied.tokens if token in truth]
        sides["copy of the prior"] = copied.of_tokens(known).with_confidence(1.0)
    make_folders(folder)
    written = []
    for name, predictions in sides.items():
        # They have no file that could be read again.
        nameless = replace(predictions, name="", history=None)
        results = evaluate(nameless, truth, challenge.protocol, metrics=challenge.metrics)
        target = folder / PRIVATE / BASELINES / f"{name}.mg"
        with contextlib.suppress(FileNotFoundError):
            target.unlink()
        results.save(target)
        written.append(target)
    return written
