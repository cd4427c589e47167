"""The result of ``consistency``: the flicker of each class at each lag, with its parts and intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mapgauge.arguments import check_whole
from mapgauge.display.tables import text_table
from mapgauge.errors import InvalidInput
from mapgauge.frames.findings import Finding
from mapgauge.metrics.pld import PLD, Parts, added, normalised_parts, normalised_pld
from mapgauge.results.intervals import Draws, Estimate, estimate
from mapgauge.scoring.exact import exact_sums, rounded
from mapgauge.typing import Bounds, Floats, Indices

FLICKER = "flicker"  # the key of the value
KEYS = (FLICKER, *Parts._fields)
MEAN = "mean"


class Transitions(NamedTuple):
    """Pairs of frames of one scene, as columns."""

    lag: Indices  # number of frames from the earlier to the later
    scene: tuple[str, ...]
    earlier: tuple[str, ...]  # tokens
    later: tuple[str, ...]
    area: Floats  # square metres that both frames show
    sums: Floats  # (transitions, classes, 6): the five parts of PLD and the mass


@dataclass(frozen=True, eq=False)
class Consistency:
    """How much the output changes from frame to frame, for each class and lag.

    ``flicker`` is the normalised PLD between the earlier output, moved into the later frame, and the later output, in
    the region that both frames show. It is 0 for a map that stands still, and 1 if nothing stays. Its five parts add up
    to it:

    - ``matched_points``: lines that stay move.
    - ``unmatched_points``: lines that stay become longer or shorter.
    - ``confidence``: the confidence of lines that stay changes.
    - ``missed``: lines disappear.
    - ``false``: lines appear.
    """

    name: str  # of the predictions
    class_names: tuple[str, ...]
    lags: tuple[int, ...]
    region: Bounds  # what a frame shows
    margin: float  # metres at the edge of the region that are not compared
    cutoff: float  # metres
    spacing: float  # metres
    transitions: Transitions
    estimates: dict[int, dict[str, dict[str, Estimate]]]  # by lag, class name (or "mean") and key
    scenes: int
    samples: int
    level: float
    findings: tuple[Finding, ...] = ()

    def __repr__(self) -> str:
        """Return the flicker at each lag in one line."""
        found = ", ".join(
            f"lag {lag}: {self.estimates[lag][MEAN][FLICKER]}" for lag in self.lags if self.estimates[lag]
        )
        return f"<Consistency {self.name or 'predictions'}: flicker {found or 'without value'}>"

    @property
    def flicker(self) -> float | None:
        """The flicker at the smallest lag, as the mean over classes; None if no class has output."""
        found = self.estimates[self.lags[0]]
        return found[MEAN][FLICKER].value if found else None

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row for each lag and class, and for the mean over classes. Values are None where there is no output."""
        counts = {lag: int(np.count_nonzero(self.transitions.lag == lag)) for lag in self.lags}
        return [
            {"lag": lag, "class": name, "transitions": counts[lag]} | _plain(self.estimates[lag].get(name))
            for lag in self.lags
            for name in (*self.class_names, MEAN)
        ]

    def worst(self, count: int = 10, *, lag: int | None = None) -> list[dict[str, Any]]:
        """Return the transitions with the largest flicker, all classes pooled.

        Args:
            count: The number of transitions.
            lag: The lag; the smallest if None.
        """
        chosen = self.lags[0] if lag is None else lag
        if chosen not in self.lags:
            raise InvalidInput(f"lag must be one of {', '.join(map(str, self.lags))}, got {lag!r}")
        all_of, (found, columns) = self.transitions, self._pooled
        own = np.flatnonzero(all_of.lag == chosen).tolist()
        own.sort(key=lambda i: (-found[i], all_of.scene[i], all_of.later[i]))
        return [
            {
                "lag": chosen,
                "scene": all_of.scene[i],
                "earlier": all_of.earlier[i],
                "later": all_of.later[i],
                "area": float(all_of.area[i]),
                FLICKER: float(found[i]),
                **dict(zip(Parts._fields, columns[i].tolist(), strict=True)),
            }
            for i in own[: check_whole("count", count, 0)]
        ]

    @property
    def _pooled(self) -> tuple[Floats, Floats]:
        """The flicker of each transition and its parts, all classes pooled."""
        if not self.class_names:
            return np.zeros(len(self.transitions.lag)), np.zeros((len(self.transitions.lag), 5))
        sums = added(np.moveaxis(self.transitions.sums, 1, 0))
        return np.minimum(normalised_pld(sums, 1.0), 1.0), normalised_parts(sums)

    def table(self) -> str:
        """Return the values of all lags and classes as text."""
        header = ["lag", "class", "transitions", "flicker", *(value.title for value in PLD.with_role("part"))]
        return text_table(header, [cells_of(row) for row in self.rows])

    def to_dict(self) -> dict[str, Any]:
        """Return the settings, all values and the worst transitions as plain values, for JSON."""
        return {
            "name": self.name,
            "lags": list(self.lags),
            "region": list(self.region),
            "margin": self.margin,
            "cutoff": self.cutoff,
            "spacing": self.spacing,
            "scenes": self.scenes,
            "samples": self.samples,
            "level": self.level,
            FLICKER: self.flicker,
            "values": self.rows,
            "worst": [row for lag in self.lags for row in self.worst(lag=lag)],
        }


def _plain(found: dict[str, Estimate] | None) -> dict[str, float | None]:
    """Return the values of a class as plain numbers, and the interval of the flicker."""
    if found is None:
        return dict.fromkeys((FLICKER, "low", "high", *Parts._fields))
    _, low, high = found[FLICKER]
    ends = {"low": None if np.isnan(low) else low, "high": None if np.isnan(high) else high}
    return {FLICKER: found[FLICKER].value, **ends, **{key: found[key].value for key in Parts._fields}}


def cells_of(row: dict[str, Any]) -> list[str]:
    """Return the cells of a row of values as text."""
    if row[FLICKER] is None:
        return [str(row["lag"]), row["class"], str(row["transitions"]), "-", *("-" for _ in Parts._fields)]
    bounds = [np.nan if row[end] is None else row[end] for end in ("low", "high")]
    return [
        *(str(row["lag"]), row["class"], str(row["transitions"]), str(Estimate(row[FLICKER], *bounds))),
        *(f"{row[key]:.3f}" for key in Parts._fields),
    ]


def estimates_of(
    transitions: Transitions, lag: int, classes: Sequence[str], samples: int, level: float, seed: int
) -> dict[str, dict[str, Estimate]]:
    """Return the values of all classes at one lag with their intervals; empty if there is no output.

    Whole scenes are drawn, because transitions of one scene are similar.
    """
    own = np.flatnonzero(transitions.lag == lag)
    scenes = sorted({transitions.scene[i] for i in own.tolist()})
    number = {scene: k for k, scene in enumerate(scenes)}
    owner = np.array([number[transitions.scene[i]] for i in own.tolist()], np.int64)
    by_scene = np.zeros((len(scenes), len(classes), len(Parts._fields) + 1))
    np.add.at(by_scene, owner, transitions.sums[own])
    weights = np.zeros((samples, 0))
    if scenes:
        share = np.full(len(scenes), 1 / len(scenes))
        weights = np.random.default_rng(seed).multinomial(len(scenes), share, samples).astype(np.float64)
    values: dict[str, Floats] = {}
    drawn: dict[str, Floats] = {}
    units: dict[str, int] = {}
    for c, name in enumerate(classes):
        pooled = np.array([rounded(total) for total in exact_sums(transitions.sums[own, c])])
        if pooled[-1] > 0:
            values[name] = _values(pooled)
            drawn[name] = _values(np.einsum("su,uc->sc", weights, by_scene[:, c]))
            units[name] = int(np.count_nonzero(by_scene[:, c, -1]))
    if not values:
        return {}
    found = {
        name: {
            key: estimate(float(values[name][k]), Draws(drawn[name][:, k], units[name]), level, (0.0, 1.0))
            for k, key in enumerate(KEYS)
        }
        for name in values
    }
    stacked = np.stack(list(drawn.values()))
    there = np.isfinite(stacked)
    means = np.where(there, stacked, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    any_class = int(np.count_nonzero(by_scene[..., -1].any(axis=1)))
    mean = {}
    for k, key in enumerate(KEYS):
        parts = tuple(Draws(drawn[name][:, k], units[name]) for name in values)
        value = float(added([values[name][k] for name in values])) / len(values)
        samples_of = np.where(there[..., k].any(axis=0), means[:, k], np.nan)
        mean[key] = estimate(value, Draws(samples_of, any_class, parts), level, (0.0, 1.0))
    return found | {MEAN: mean}


def _values(sums: Floats) -> Floats:
    """Return the flicker and its five parts from sums ``(..., 6)``; NaN where there is no output."""
    flicker = np.minimum(normalised_pld(sums, 1.0), 1.0)[..., None]
    values = np.concatenate([flicker, normalised_parts(sums)], axis=-1)
    return np.where(sums[..., -1:] > 0, values, np.nan)
