"""``sweep``: evaluates at several cutoffs, samplings and regions, as in the studies of the paper."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np

from mapgauge.errors import InvalidInput
from mapgauge.evaluation.evaluate import evaluate
from mapgauge.markup import block, line, number, text_table
from mapgauge.markup import table as html_table
from mapgauge.metrics.metric import ValueKey
from mapgauge.metrics.table import METRICS
from mapgauge.protocols import Protocol
from mapgauge.protocols import protocol as protocol_of
from mapgauge.results.results import Results
from mapgauge.scoring.prepare import Frames, loaded
from mapgauge.typing import Progress

SETTINGS = ("region", "crop", "spacing", "count", "cutoff")  # the keys of a row that are not values


@dataclass(frozen=True, eq=False)
class Sweep:
    """Results at each setting, and their means as rows."""

    results: tuple[Results, ...]  # one per region and sampling; each has all cutoffs

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row per region, sampling and cutoff, with the means over classes. The cutoffs ascend."""
        rows = []
        for results in self.results:
            protocol = results.protocol
            setting: dict[str, Any] = {
                "region": protocol.region,
                "crop": protocol.crop,
                "spacing": protocol.spacing,
                "count": protocol.count,
            }
            rows += [
                setting | {"cutoff": cutoff} | _values(results, cutoff)
                for cutoff in sorted(protocol.cutoffs) or (None,)
            ]
        return rows

    def table(self) -> str:
        """Return the rows as text."""
        return text_table(*self._cells())

    def _repr_html_(self) -> str:
        return block(line(f"Sweep of {len(self.rows)} settings, means over classes"), html_table(*self._cells()))

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        """Return the header and the rows of the table."""
        rows = self.rows
        keys = [key for key in rows[0] if key not in SETTINGS]
        body = [
            [
                region_of(row),
                sampling_of(row),
                "-" if row["cutoff"] is None else f"{row['cutoff']:g}",
                *(number(row[key]) for key in keys),
            ]
            for row in rows
        ]
        return ["region", "sampling", "cutoff", *keys], body


def sampling_of(row: dict[str, Any]) -> str:
    """Return a short description of the sampling in a row of a sweep.

    >>> sampling_of({"spacing": 0.5, "count": None}), sampling_of({"spacing": None, "count": 200})
    ('0.5 m', 'N = 200')
    """
    if row["count"] is None:
        how = "as is"
    else:
        how = f"N = {row['count']}"
    if row["spacing"] is None:
        return how
    return f"{row['spacing']:g} m"


def region_of(row: dict[str, Any], unit: str = "") -> str:
    """Return the region of a row of a sweep, and whether both sides were cropped to it; "as is" without a region.

    >>> region_of({"region": (60, 30), "crop": True}), region_of({"region": (60, 30), "crop": False})
    ('60x30, cropped', '60x30')
    """
    if row["region"] is None:
        return "as is"
    size = "x".join(f"{length:g}" for length in row["region"])
    if row["crop"]:
        return f"{size}{unit}, cropped"
    return f"{size}{unit}"


def _values(results: Results, cutoff: float | None) -> dict[str, float | None]:
    """Return the means over classes at one cutoff: the main and headline values of each metric."""
    values = {}
    for metric in map(METRICS.__getitem__, results.metrics):
        setting = None
        if metric.at_cutoffs and len(results.protocol.cutoffs) > 1:
            setting = cutoff
        for value in metric.with_role("main", "headline"):
            values[value.key] = results.mean[str(ValueKey(value.key, setting))]
    return values


def sweep(
    predictions: Frames,
    truth: Frames,
    protocol: str | Protocol = "paper-60x30",
    *,
    cutoffs: Sequence[float] | None = None,
    spacings: Sequence[float] | None = None,
    counts: Sequence[int] | None = None,
    regions: Sequence[tuple[float, float]] | None = None,
    metrics: Sequence[str] | None = None,
    unknown: Literal["error", "ignore"] = "error",
    workers: int | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Evaluate at several cutoffs, samplings and regions.

    Files are read once. Polylines are resampled once per sampling.

    Args:
        predictions: ``MapFrames`` with confidences, or a file to read them from.
        truth: ``MapFrames``, or a file to read them from.
        protocol: All other settings, by name or as a ``Protocol``.
        cutoffs: Cutoffs of PLD in metres. If None, the cutoffs of the protocol.
        spacings: Distances between samples in metres.
        counts: Numbers of samples per polyline, evaluated after the spacings. If both are None, the sampling of the
            protocol.
        regions: Regions ``(length, width)`` around the ego vehicle, to which both sides are cropped. If None, the
            setting of the protocol.
        metrics: As for ``evaluate``.
        unknown: As for ``evaluate``.
        workers: As for ``evaluate``.
        progress: As for ``evaluate``. It counts the frames of all regions and samplings.

    >>> import mapgauge as mg
    >>> truth = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}})
    >>> moved = mg.MapFrames.of({"a": {"divider": [[[0, 0.3], [9, 0.3]]]}}, confidence={"a": {"divider": [1]}})
    >>> settings = mg.protocol("paper-60x30", classes=["divider"])
    >>> print(sweep(moved, truth, settings, cutoffs=[0.5, 1.5], metrics=["pld"]).table())
    region  sampling  cutoff    pld  localisation  detection
    60x30      0.5 m     0.5  0.857         0.857      0.000
    60x30      0.5 m     1.5  0.500         0.500      0.000
    """
    settings = protocol_of(protocol)
    for name, given in (("cutoffs", cutoffs), ("spacings", spacings), ("counts", counts), ("regions", regions)):
        if given is not None and np.ndim(given) == 0:
            raise InvalidInput(f"{name} must be a sequence of values, got {given!r}", remedy="Put it in a list")
        if given is not None and not len(given):
            raise InvalidInput(f"{name} is empty, expected at least one value, or None for the setting of the protocol")
    if cutoffs is not None:
        settings = settings.replace(cutoffs=tuple(cutoffs))
    samplings: list[dict[str, Any]] = []
    if spacings is not None:
        samplings += [{"spacing": spacing} for spacing in spacings]
    if counts is not None:
        samplings += [{"count": count} for count in counts]
    areas: list[dict[str, Any]] = []
    if regions is not None:
        areas += [{"region": tuple(region), "crop": True} for region in regions]
    x = loaded(predictions)
    y = loaded(truth)
    unchanged: list[dict[str, Any]] = [{}]
    pairs = product(areas or unchanged, samplings or unchanged)
    runs = [settings.replace(**area, **sampling) for area, sampling in pairs]

    def counted(k: int) -> Progress | None:
        if progress is None:
            return None
        return lambda done, of: progress(k * of + done, len(runs) * of)

    results = []
    for k, run in enumerate(runs):
        results.append(
            evaluate(x, y, run, metrics=metrics, unknown=unknown, workers=workers, progress=counted(k)),
        )
    return Sweep(tuple(results))
