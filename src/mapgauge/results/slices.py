"""``slices``: the values of subsets of frames from one evaluation, with intervals, and the differences between them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np

from mapgauge.errors import InvalidInput
from mapgauge.markup import text_table
from mapgauge.metrics.table import METRICS, heading
from mapgauge.protocols import full_name
from mapgauge.results.comparison import Differences, Sampled, plain_keys, repeated, sorted_by_token
from mapgauge.results.intervals import FEWEST, LEVEL, SAMPLES, Difference, Estimate, check_draws, draw_units
from mapgauge.results.results import Results
from mapgauge.results.tags import Tags

_NAMED = 5  # slices that a note names
_MOST = 6  # slices whose differences are computed
Table: TypeAlias = tuple[list[str], list[list[str]]]  # header and rows


@dataclass(frozen=True, eq=False)
class Slices:
    """Values of subsets of frames with intervals, and the differences between each two subsets."""

    by: str
    slices: dict[str, Results]  # by name, without slices that have no frames
    empty: tuple[str, ...]  # names of slices without frames
    estimates: dict[str, dict[str, dict[str, Estimate]]]  # by slice, class name (or "mean") and key
    differences: Differences  # second minus first
    paired: frozenset[tuple[str, str]]  # slices that share scenes, so that both have the same draws
    drawn: str  # "scene" or "frame"
    units: dict[str, int]  # number of scenes or frames of each slice
    samples: int
    level: float

    def table(self, class_name: str = "mean") -> str:
        """Return the values of all slices and their differences as text, for a class or the mean over classes."""
        tables = "\n\n".join(text_table(*table) for table in self.tables(class_name))
        return "\n".join([tables, *self.notes])

    def tables(self, class_name: str = "mean") -> list[Table]:
        """Return the table of values, and the table of differences if there are any."""
        protocol = next(iter(self.slices.values())).protocol
        every = plain_keys(next(iter(self.estimates.values()))["mean"])
        keys = [key for key in every if repeated(key) not in every]
        titles = [heading(key, protocol) for key in keys]

        def cells(by_class: Mapping[str, Mapping[str, Estimate | Difference]]) -> list[str]:
            values = [by_class.get(class_name, {}).get(key, "-") for key in keys]
            return [f"{x.numbers}{' *' * (x.told_apart or 0)}" if isinstance(x, Difference) else str(x) for x in values]

        counts = ["frames", "scenes"] if self.drawn == "scene" else ["frames"]
        rows = [
            [name, str(len(part.tokens)), str(self.units[name])][: 1 + len(counts)] + cells(self.estimates[name])
            for name, part in self.slices.items()
        ]
        rows += [[name, "0", *["-"] * (len(counts) - 1 + len(keys))] for name in self.empty]
        apart = [
            [f"{second} minus {first}", "paired" if (first, second) in self.paired else "unpaired", *cells(changes)]
            for (first, second), changes in self.differences.items()
        ]
        values: Table = ([self.by, *counts, *titles], rows)
        return [values, (["difference, * told apart", "", *titles], apart)] if apart else [values]

    @property
    def notes(self) -> list[str]:
        """What limits the values, in words."""
        notes = [f"{name} has no frames" for name in self.empty]
        few = [f"{name} has {count}" for name, count in self.units.items() if count < FEWEST]
        if few:
            named = ", ".join(few[:_NAMED]) + (f", and {len(few) - _NAMED} more" if len(few) > _NAMED else "")
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
            "slices": [
                {
                    "name": name,
                    "frames": len(part.tokens),
                    f"{self.drawn}s_drawn": self.units[name],
                    "classes": part.classes,
                    "mean": part.mean,
                    "estimates": plain(self.estimates[name]),
                }
                for name, part in self.slices.items()
            ],
            "empty": list(self.empty),
            "differences": [
                {"first": pair[0], "second": pair[1], "paired": pair in self.paired, "classes": plain(changes)}
                for pair, changes in self.differences.items()
            ],
            "notes": self.notes,
        }


def slices(
    results: Results,
    by: str | Mapping[str, Sequence[str]] = "scene",
    *,
    tags: Tags | None = None,
    samples: int = SAMPLES,
    level: float = LEVEL,
    seed: int = 0,
) -> Slices:
    """Return the values of subsets of frames with intervals, and the differences between each two subsets.

    The values of a slice are the values of a separate evaluation of its frames, to the last bit.

    Args:
        results: Results of an evaluation.
        by: A column: ``"scene"``, or one of the tags. Or lists of tokens by the names of the slices, which may share
            frames.
        tags: Tags of frames or scenes, from ``read_tags``.
        samples: Number of bootstrap samples.
        level: The probability with which an interval covers the true value.
        seed: Seed of the draws. The same seed gives the same intervals.

    Returns:
        The slices. Scenes are drawn, or frames if the scenes are not known. A slice with fewer than five of them has no
        intervals, and differences to it are left out. If slices share scenes, all have the same draws. Two slices that
        share scenes are compared on them (paired). Otherwise each slice has its own draws. Differences are computed for
        at most six slices.

    >>> from mapgauge.demo import demo_world
    >>> import mapgauge as mg
    >>> results = mg.evaluate(*demo_world(20))
    >>> halves = slices(results, {"first": results.tokens[:10], "last": results.tokens[10:]})
    >>> print(*halves.notes)
    fewer than 5 scenes are too few for intervals and differences: first has 1, last has 1
    """
    check_draws(samples, level, seed)
    title, groups = (by, results.by(by, tags=tags)) if isinstance(by, str) else ("slice", _listed(results, by))
    parts = {name: sorted_by_token(group) for name, group in groups.items() if group is not None}
    if not parts:
        raise InvalidInput("the slices have no frames")
    _check_whole_scenes(results, parts)
    keys = {name: part.tokens if part.scenes is None else part.scenes for name, part in parts.items()}
    distinct = {name: set(of_slice) for name, of_slice in keys.items()}
    units = {name: len(of_slice) for name, of_slice in distinct.items()}
    shared = len(set().union(*distinct.values())) < sum(units.values())
    sampled = {}
    for names in [list(parts)] if shared else [[name] for name in parts]:
        joined = [key for name in names for key in keys[name]]
        unit_of_frame, weights = draw_units(joined, samples, np.random.default_rng(seed))
        ends = np.cumsum([len(keys[name]) for name in names])
        for name, of_slice in zip(names, np.split(unit_of_frame, ends[:-1]), strict=True):
            # One sample has no interval.
            sampled[name] = Sampled.of(parts[name], of_slice, weights if units[name] >= FEWEST else weights[:1])
    enough = [name for name in parts if units[name] >= FEWEST]
    pairs = list(combinations(enough, 2)) if len(enough) <= _MOST else []
    paired = frozenset((first, second) for first, second in pairs if distinct[first] & distinct[second])
    return Slices(
        by=title,
        slices=parts,
        empty=tuple(name for name, group in groups.items() if group is None),
        estimates={name: of_slice.estimates(level) for name, of_slice in sampled.items()},
        differences={
            (first, second): sampled[second].minus(sampled[first], level, paired=(first, second) in paired)
            for first, second in pairs
        },
        paired=paired,
        drawn="frame" if results.scenes is None else "scene",
        units=units,
        samples=samples,
        level=level,
    )


def _listed(results: Results, lists: Mapping[str, Sequence[str]]) -> dict[str, Results | None]:
    """Return the results of lists of tokens. Tokens that the results do not have are left out."""
    place = {token: frame for frame, token in enumerate(results.tokens)}
    frames = {name: sorted({place[token] for token in tokens if token in place}) for name, tokens in lists.items()}
    return {name: results.of_frames(chosen) if chosen else None for name, chosen in frames.items()}


def _check_whole_scenes(results: Results, groups: Mapping[str, Results]) -> None:
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
