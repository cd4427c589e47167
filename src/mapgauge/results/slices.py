"""``Slices``: the results of subsets of frames, with intervals, and the differences between them."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from mapgauge.errors import InvalidInput
from mapgauge.markup import text_table
from mapgauge.metrics.table import METRICS, heading
from mapgauge.protocols import full_name
from mapgauge.results.bootstrap import check_draws, draw_units
from mapgauge.results.comparison import Differences, Sampled, plain_keys, sorted_by_token
from mapgauge.results.families import (
    Correction,
    Tested,
    TestedDifferences,
    check_correction,
    correct_together,
    count_tests,
    repeated,
)
from mapgauge.results.frame_query import FrameTable
from mapgauge.results.intervals import FEWEST, Difference, Estimate
from mapgauge.results.tags import Tags

if TYPE_CHECKING:
    from mapgauge.results.results import Results

_NAMED = 5  # slices that a note names
_MOST = 6  # slices whose differences are computed
OVER = "slices, classes and values"  # what is tested
Table: TypeAlias = tuple[list[str], list[list[str]]]  # header and rows
Groups: TypeAlias = str | Callable[[str], Hashable] | Mapping[str, Sequence[str]]  # how frames are divided


@dataclass(frozen=True, eq=False, kw_only=True)
class Slices(TestedDifferences, Mapping[Any, "Results"]):
    """The results of subsets of frames, by name. Intervals and differences are computed when they are first needed."""

    over = OVER
    by: str
    parts: dict[Any, "Results"]  # by name, without slices that have no frames
    empty: tuple[str, ...]  # names of slices without frames
    drawn: str  # "scene" or "frame"
    samples: int
    level: float
    seed: int
    correction: Correction = "none"
    # What ``together`` sets: the corrected differences, and all that were tested together.
    corrected: Differences | None = None
    family: Tested | None = None

    @classmethod
    def of(
        cls,
        results: "Results",
        by: Groups,
        tags: Tags | None,
        *,
        samples: int,
        level: float,
        seed: int,
        correction: Correction = "none",
    ) -> "Slices":
        """Return the slices of results. ``Results.by`` says what the arguments are."""
        check_draws(samples, level, seed)
        check_correction(correction)
        groups = _frames_of(results, by, tags)
        parts = {name: results.of_frames(frames) for name, frames in groups.items() if frames}
        if not parts:
            raise InvalidInput("the slices have no frames")
        _check_whole_scenes(results, parts)
        empty = tuple(name for name in groups if name not in parts)
        drawn = "scene"
        if results.scenes is None:
            drawn = "frame"
        return cls(
            by=by if isinstance(by, str) else "slice",
            parts=parts,
            empty=empty,
            drawn=drawn,
            samples=samples,
            level=level,
            seed=seed,
            correction=correction,
        )

    def __getitem__(self, name: Any) -> "Results":
        """Return the results of a slice."""
        return self.parts[name]

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the names."""
        return iter(self.parts)

    def __len__(self) -> int:
        """Return the number of slices with frames."""
        return len(self.parts)

    @cached_property
    def _units(self) -> dict[Any, set[str]]:
        """The scenes or frames of each slice, which are drawn."""
        return {name: set(part.scenes or part.tokens) for name, part in self.items()}

    @property
    def units(self) -> dict[Any, int]:
        """The number of scenes or frames of each slice, which are drawn."""
        return {name: len(units) for name, units in self._units.items()}

    @property
    def _pairs(self) -> list[tuple[Any, Any]]:
        """The slices whose difference is computed."""
        enough = [name for name, count in self.units.items() if count >= FEWEST]
        if len(enough) <= _MOST:
            return list(combinations(enough, 2))
        return []

    @cached_property
    def paired(self) -> frozenset[tuple[Any, Any]]:
        """The pairs of slices that share scenes, so that both have the same draws."""
        return frozenset(pair for pair in self._pairs if self._units[pair[0]] & self._units[pair[1]])

    @cached_property
    def _sampled(self) -> dict[Any, Sampled]:
        """The draws of each slice. If slices share scenes, all have the same draws."""
        parts = {name: sorted_by_token(part) for name, part in self.items()}
        keys = {name: part.scenes or part.tokens for name, part in parts.items()}
        shared = len(set().union(*self._units.values())) < sum(self.units.values())
        sampled = {}
        if shared:
            drawn_together = [list(parts)]
        else:
            drawn_together = [[name] for name in parts]
        for names in drawn_together:
            joined = [key for name in names for key in keys[name]]
            unit_of_frame, weights = draw_units(joined, self.samples, np.random.default_rng(self.seed))
            ends = np.cumsum([len(keys[name]) for name in names])
            for name, of_slice in zip(names, np.split(unit_of_frame, ends[:-1]), strict=True):
                # One sample has no interval.
                few = self.units[name] < FEWEST
                sampled[name] = Sampled.of(parts[name], of_slice, weights[:1] if few else weights)
        return sampled

    @cached_property
    def estimates(self) -> dict[Any, dict[str, dict[str, Estimate]]]:
        """The values with intervals, by slice, class name (or "mean") and key."""
        return {name: of_slice.estimates(self.level) for name, of_slice in self._sampled.items()}

    @cached_property
    def differences(self) -> Differences:
        """The differences between each two slices, second minus first, by class name (or "mean") and key."""
        if self.corrected is not None:
            return self.corrected
        if self.correction == "holm":
            (corrected,) = correct_together(self._uncorrected, level=self.level)
            return dict(corrected)
        return self._uncorrected

    @cached_property
    def _uncorrected(self) -> Differences:
        return {
            pair: self._sampled[pair[1]].minus(self._sampled[pair[0]], self.level, paired=pair in self.paired)
            for pair in self._pairs
        }

    @property
    def _all_differences(self) -> Differences:
        """The differences that are tested."""
        return self.differences

    @staticmethod
    def together(sliced: "Sequence[Slices]") -> "list[Slices]":
        """Return the slices of several methods, with one count of tests and one correction over all of them."""
        if not sliced:
            return []
        tables = [of_method._uncorrected for of_method in sliced]
        first = sliced[0]
        family = Tested(sum(map(count_tests, tables)), first.correction, first.level, over=OVER)
        if first.correction == "holm":
            # The number of the method keeps the differences of several methods apart.
            (corrected,) = correct_together(dict(enumerate(tables)), level=first.level)
            tables = [corrected[k] for k in range(len(tables))]
        return [
            replace(of_method, corrected=table, family=family) for of_method, table in zip(sliced, tables, strict=True)
        ]

    def table(self, class_name: str = "mean") -> str:
        """Return the values of all slices and their differences as text, for a class or the mean over classes."""
        tables = "\n\n".join(text_table(*table) for table in self.tables(class_name))
        return "\n".join([tables, *filter(None, [self.tests]), *self.notes])

    def tables(self, class_name: str = "mean") -> list[Table]:
        """Return the table of values, and the table of differences if there are any."""
        protocol = next(iter(self.values())).protocol
        every = plain_keys(next(iter(self.estimates.values()))["mean"])
        keys = [key for key in every if repeated(key) not in every]
        titles = [heading(key, protocol) for key in keys]

        def cells(by_class: Mapping[str, Mapping[str, Estimate | Difference]]) -> list[str]:
            known = by_class.get(class_name, {})
            return [_cell(known.get(key)) for key in keys]

        counts = ["frames"]
        if self.drawn == "scene":
            counts.append("scenes")
        rows = []
        for name, part in self.items():
            sizes = [str(len(part.tokens))]
            if self.drawn == "scene":
                sizes.append(str(self.units[name]))
            rows.append([str(name), *sizes, *cells(self.estimates[name])])
        for name in self.empty:
            unknown = ["-"] * (len(counts) - 1 + len(keys))
            rows.append([name, "0", *unknown])
        apart = []
        for (first, second), changes in self.differences.items():
            if (first, second) in self.paired:
                how = "paired"
            else:
                how = "unpaired"
            apart.append([f"{second} minus {first}", how, *cells(changes)])
        values: Table = ([self.by, *counts, *titles], rows)
        if apart:
            return [values, (["difference, * decided", "", *titles], apart)]
        return [values]

    @property
    def notes(self) -> list[str]:
        """What limits the values, in words."""
        notes = [f"{name} has no frames" for name in self.empty]
        few = [f"{name} has {count}" for name, count in self.units.items() if count < FEWEST]
        if few:
            named = ", ".join(few[:_NAMED])
            if len(few) > _NAMED:
                named += f", and {len(few) - _NAMED} more"
            notes.append(f"fewer than {FEWEST} {self.drawn}s are too few for intervals and differences: {named}")
        if len(self.units) - len(few) > _MOST:
            notes.append(f"differences are computed for at most {_MOST} slices")
        return notes

    def to_dict(self) -> dict[str, Any]:
        """Return values, intervals and differences as plain Python values."""

        def plain(values: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
            return {name: {key: value._asdict() for key, value in of.items()} for name, of in values.items()}

        return {
            "by": self.by,
            "drawn": self.drawn,
            "samples": self.samples,
            "level": self.level,
            "correction": self.correction,
            "tested": self.tested,
            "slices": [
                {
                    "name": name,
                    "frames": len(part.tokens),
                    f"{self.drawn}s_drawn": self.units[name],
                    "classes": part.classes,
                    "mean": part.mean,
                    "estimates": plain(self.estimates[name]),
                }
                for name, part in self.items()
            ],
            "empty": list(self.empty),
            "differences": [
                {"first": pair[0], "second": pair[1], "paired": pair in self.paired, "classes": plain(changes)}
                for pair, changes in self.differences.items()
            ],
            "notes": self.notes,
        }


def _frames_of(results: "Results", by: Groups, tags: Tags | None) -> dict[Any, list[int]]:
    """Return the frames of each slice. Tokens of lists that the results do not have are left out."""
    groups: dict[Any, list[int]] = {}
    if isinstance(by, Mapping):
        place = {token: frame for frame, token in enumerate(results.tokens)}
        for name, tokens in by.items():
            if isinstance(tokens, str) or not isinstance(tokens, Sequence):
                raise InvalidInput(
                    f"by must have a list of tokens for each name, got {tokens!r} for {name!r}",
                    remedy="Pass groups.get for a dictionary from token to group",
                )
            groups[name] = sorted({place[token] for token in tokens if token in place})
        return groups
    if by != "scene" and not callable(by):
        return dict(FrameTable(results, tags).groups(by))
    if by == "scene" and results.scenes is None:
        raise InvalidInput("cannot group by 'scene': no scenes are known")
    names: Sequence[Hashable] = results.scenes or ()
    if callable(by):
        names = [by(token) for token in results.tokens]
    for frame, called in enumerate(names):
        groups.setdefault(called, []).append(frame)
    return groups


def _cell(value: Estimate | Difference | None) -> str:
    """Return a value of a table. A difference that is decided has a star."""
    if value is None:
        return "-"
    if not isinstance(value, Difference):
        return str(value)
    if value.decided:
        return f"{value.numbers} *"
    return value.numbers


def _check_whole_scenes(results: "Results", groups: Mapping[Any, "Results"]) -> None:
    """Refuse metrics of whole scenes if a slice has only some frames of a scene."""
    of_scenes = [name for name in results.metrics if METRICS[name].level == "scene"]
    if not of_scenes or results.scenes is None:
        return
    frames = Counter(results.scenes)
    for name, group in groups.items():
        for scene, count in Counter(group.scenes).items():
            if count < frames[scene]:
                raise InvalidInput(
                    f"{', '.join(of_scenes)} of {full_name(results.protocol)} are values of whole scenes, and the "
                    f"slice {name} has only some frames of {scene}",
                    remedy="Slice by scenes, or evaluate without these metrics",
                )
