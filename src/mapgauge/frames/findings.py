"""Findings: what a reader or a check noticed about the data."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from mapgauge.errors import InvalidInput, Remedy, with_remedy
from mapgauge.words import counted, did_you_mean

if TYPE_CHECKING:  # numpy is slow to import, and help needs this module
    from mapgauge.frames.map_frames import MapFrames
    from mapgauge.typing import Indices

Level: TypeAlias = Literal["error", "warning", "note"]

_SHOWN = 3  # examples in a line of text
# Letters of an example in the shell, and of its ends if it is longer.
_LONG = 24
_HEAD = 8
_TAIL = 12


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing noticed about the data.

    An ``error`` means that a number computed from the data would be wrong. A ``warning`` means that it is probably not
    what was intended. A ``note`` is for information.

    >>> print(Finding("note", "empty-frames", "3 frames of the truth have no instances", count=3, examples=("a", "b")))
    note: 3 frames of the truth have no instances (a, b, ...)
    """

    level: Level
    code: str  # stable, for programs: "tokens-missing"
    message: str  # for people, without the remedy
    count: int = 1  # number of affected frames, instances or values
    # A few of them, or all. A line of text has the first three.
    examples: tuple[str, ...] = field(default=(), repr=False)
    remedy: Remedy | None = None  # what to do

    def __str__(self) -> str:
        """One line, with the remedy for Python."""
        return f"{self.level}: {with_remedy(self.text, self.remedy.python if self.remedy else None)}"

    def for_shell(self) -> str:
        """One line, with the remedy for the command line. Long examples are shortened."""
        text = self._with(tuple(map(shortened, self.examples)))
        return f"{self.level}: {with_remedy(text, self.remedy.shell if self.remedy else None)}"

    @property
    def text(self) -> str:
        """The message with the first examples."""
        return self._with(self.examples)

    def _with(self, examples: tuple[str, ...]) -> str:
        shown = examples[:_SHOWN]
        more = ""
        if self.count > len(shown):
            more = ", ..."
        return self.message + (f" ({', '.join(shown)}{more})" if shown else "")


def findings_about(
    names: Sequence[str], level: Level, code: str, text: str, remedy: Remedy | None = None
) -> list[Finding]:
    """Return the finding about some elements, scenes or records, given their names. There is none without names."""
    examples = tuple(name for name in names[:_SHOWN] if name)  # frames without scenes have no name
    if not names:
        return []
    return [Finding(level, code, text, count=len(names), examples=examples, remedy=remedy)]


_INCOMPLETE = 0.5  # with a larger share of missing frames, numbers are about something else


def missing_frames(count: int, total: int, tokens: Sequence[str], cause: str, remedy: Remedy | None) -> Finding:
    """Return the finding about frames of the truth that are not in the predictions."""
    text = (
        f"{count} of {counted(total, 'frame')} of the truth ({share_of(count, total)}) {_are(count)} not in the "
        f"predictions{cause}. {'It counts' if count == 1 else 'They count'} as predicted empty"
    )
    level: Level = "warning"
    if count >= _INCOMPLETE * total:
        level = "error"
    other = Remedy.of("Check that the run was complete and on the same split")
    return Finding(level, "tokens-missing", text, count=count, examples=tuple(tokens), remedy=remedy or other)


def unknown_frames(count: int, total: int, tokens: Sequence[str], cause: str, remedy: Remedy | None) -> Finding:
    """Return the finding about frames of the predictions that are not in the truth."""
    text = (
        f"{count} of {counted(total, 'frame')} of the predictions ({share_of(count, total)}) {_are(count)} not in the "
        f"truth{cause}"
    )
    advice = "Check that the truth is complete and of the same split, or pass {} to leave them out"
    other = Remedy(advice.format('unknown="ignore"'), advice.format("--ignore-unknown"))
    return Finding("error", "tokens-unknown", text, count=count, examples=tuple(tokens), remedy=remedy or other)


def ignored_frames(finding: Finding) -> Finding:
    """Return the finding about unknown frames as it is if they are ignored on request."""
    return replace(finding, level="note", message=f"{finding.message}. They are ignored", remedy=None)


def _are(count: int) -> str:
    if count == 1:
        return "is"
    return "are"


def share_of(part: int, whole: int) -> str:
    """Format a share for messages."""
    return f"{100 * part / whole:.3g} %"


def left_out_of(path: object, names: Counter[str]) -> list[Finding]:
    """Return the finding about elements of a map that are left out, given the number of each kind."""
    counts = ", ".join(f"{count} {name}" for name, count in names.most_common())
    text = f"{path}: {counted(names.total(), 'element is', 'elements are')} left out: {counts}"
    if not names:
        return []
    return [Finding("note", "elements-left-out", text, count=names.total())]


def examples(frames: "MapFrames", instances: "Indices") -> tuple[str, ...]:
    """Return the tokens of the first frames that contain some of the instances."""
    return tuple(frames.tokens[i] for i in sorted(set(frames.frame[instances].tolist()))[:_SHOWN])


def shortened(text: str) -> str:
    """Return a long token or key without its middle. A text with spaces, such as an error, is kept.

    >>> shortened("3b3570b4-7b0b-3268-a571-b0889dbf40b6_315971916927482490"), shortened("scene-0000-0")
    ('3b3570b4…916927482490', 'scene-0000-0')
    """
    if len(text) <= _LONG or " " in text:
        return text
    return f"{text[:_HEAD]}…{text[-_TAIL:]}"


def summed(findings: Iterable[Finding], places: str) -> list[Finding]:
    """Merge findings from several places into one per code, with the message of the first and the sum of all counts.

    The same finding from two places counts once.

    >>> print(*summed([Finding("note", "odd", "a: 2 odd", 2), Finding("note", "odd", "b: 3 odd", 3)], "maps"))
    note: a: 2 odd; 5 in all 2 maps
    """
    by_code: dict[str, list[Finding]] = {}
    for finding in dict.fromkeys(findings):
        by_code.setdefault(finding.code, []).append(finding)
    result = []
    for first, *others in by_code.values():
        count = first.count + sum(finding.count for finding in others)
        if others:
            more = f"; {count} in all {len(others) + 1} {places}"
        else:
            more = ""
        result.append(replace(first, message=first.message + more, count=count))
    return result


def place_of(frames: "MapFrames", instance: int) -> str:
    """Return the file, the frame and the class of an instance, for error messages."""
    frame = frames.frame[instance]
    class_name = frames.classes[frames.label[instance]]
    place = f"frame {frames.tokens[frame]}, instance {instance - frames.offsets[frame]} ({class_name})"
    if frames.name:
        return f"{frames.name}: {place}"
    return place


def check_tokens(frames: "MapFrames", name: str) -> None:
    """Refuse tokens that occur more than once."""
    if len(frames.index) < len(frames):
        twice = [token for token, times in Counter(frames.tokens).items() if times > 1]
        raise InvalidInput(f"{name}: {len(twice)} tokens occur more than once (first: {twice[0]})")


def check_known(frames: "MapFrames", classes: Iterable[str]) -> None:
    """Refuse classes that the frames do not have."""
    unknown = [name for name in classes if name not in frames.classes]
    if unknown:
        where = frames.name or "frames"
        known = ", ".join(frames.classes) or "none"
        hint = did_you_mean(unknown[0], frames.classes)
        raise InvalidInput(f"{where}: no class {', '.join(unknown)}; available: {known}{hint}")
