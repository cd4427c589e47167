"""The result of ``confidence``."""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from mapgauge.calibration.operating import CRITERIA, ClassConfidence
from mapgauge.calibration.reliability import Reliability
from mapgauge.display.tables import number, text_table
from mapgauge.errors import InvalidInput
from mapgauge.files.writing import save
from mapgauge.frames.findings import Finding
from mapgauge.markup.html import block, line, note, table
from mapgauge.markup.svg import interval
from mapgauge.results.intervals import Estimate
from mapgauge.version import __version__

Target: TypeAlias = Literal["hit", "soft"]
ALL = "all"  # the predictions of all classes
GRID = tuple(k / 100 for k in range(101))  # thresholds of ``rows``


class Common(NamedTuple):
    """The best common threshold of all classes, as means over classes."""

    threshold: float
    pld: float  # as it is
    rounded: float  # with confidences rounded at the threshold

    def in_words(self) -> str:
        """Return the values as a sentence."""
        at, change = f"{self.threshold:.2f}", self.rounded - self.pld
        return f"rounding confidences at {at} would give a mean PLD of {self.rounded:.3f} ({change:+.3f})"


@dataclass(frozen=True, eq=False)
class Confidence:
    """What confidences are worth, for each class.

    ``classes`` has the values over the threshold, the recommended thresholds, the price of confidence and the effect of
    recalibration. ``calibration`` has the reliability of each class and of ``"all"`` predictions, for the targets
    ``"hit"`` (1 or 0) and ``"soft"`` (1 less the normalised SOSPA to the assigned truth, 0 if unassigned).
    """

    name: str  # of the predictions
    protocol: str
    cutoff: float  # metres
    hit: float  # largest normalised SOSPA of a hit
    classes: dict[str, ClassConfidence]
    common: Common | None
    calibration: dict[str, dict[Target, Reliability]]
    unit: Literal["scene", "frame"]  # what is drawn and split
    units: int
    samples: int
    level: float
    findings: tuple[Finding, ...] = ()

    def __repr__(self) -> str:
        """Return the best common threshold in one line."""
        found = "no threshold"
        if self.common is not None:
            at, as_is, rounded = self.common
            found = f"mean PLD {as_is:.3f}, {rounded:.3f} if rounded at {at:.3f}"
        return f"<Confidence {self.name or 'predictions'}: {found}>"

    def _repr_html_(self) -> str:
        """Return the tables for a notebook, with a drawing of the price of confidence."""
        prices = [one.price for one in self.classes.values()]
        bounds = np.array([price for price in prices if price is not None] or [Estimate(0.0, 0.0, 1.0)])
        span = float(np.nanmin(bounds)), float(np.nanmax(bounds))
        drawn = ["-" if price is None else interval(*price, span) for price in prices]
        pieces: list[str] = [line(f"Confidence of {self.name or 'predictions'}, {self.units:,} {self.unit}s")]
        for k, (title, header, rows) in enumerate(self.tables()):
            more = [[picture] for picture in drawn] if k == 0 else [[]] * len(rows)
            cells = [[*row, *picture] for row, picture in zip(rows, more, strict=True)]
            pieces += [line(title), table([*header, *(["price"] if k == 0 else [])], cells)]
        words = [] if self.common is None else [self.common.in_words()]
        worrying = [finding.message for finding in self.findings if finding.level != "note"]
        return block(*pieces, *map(note, [*words, *worrying]))

    def thresholds(self) -> dict[str, Any]:
        """Return the recommended thresholds of each class, with the settings they were chosen with.

        Keep predictions of at least the threshold. Classes without truth or without predictions have none.
        """
        return {
            "mapgauge": __version__,
            "predictions": self.name,
            "protocol": self.protocol,
            "cutoff": self.cutoff,
            "hit": self.hit,
            "criteria": list(CRITERIA),
            "classes": {name: found.thresholds for name, found in self.classes.items() if found.thresholds},
            "common": None if self.common is None else {CRITERIA[0]: self.common.threshold},
        }

    def save_thresholds(self, path: str | os.PathLike[str]) -> None:
        """Write the recommended thresholds as JSON, for deployment."""
        save(Path(path), (json.dumps(self.thresholds(), indent=2, ensure_ascii=False) + "\n").encode())

    def rows(self, class_name: str, thresholds: Sequence[float] = GRID) -> list[dict[str, Any]]:
        """Return the values of a class at some thresholds. None where there is no value.

        Args:
            class_name: The class.
            thresholds: Predictions of at least this confidence are kept.
        """
        if class_name not in self.classes:
            raise InvalidInput(f"no class {class_name!r}. Available: {', '.join(self.classes)}")
        levels = self.classes[class_name].levels
        place = levels.place(np.asarray(thresholds, np.float64))
        columns = {
            "kept": levels.kept,
            "dropped": levels.pld("dropped"),
            "rounded": levels.pld("rounded"),
            "precision": levels.precision,
            "recall": levels.recall,
            "f1": levels.f1,
            **levels.ap,
        }
        return [
            {"threshold": float(at)} | {key: _plain(column[k]) for key, column in columns.items()}
            for at, k in zip(thresholds, place.tolist(), strict=True)
        ]

    def table(self) -> str:
        """Return the values of each class as text: PLD and its price, the thresholds, and calibration."""
        return "\n\n".join(text_table(header, rows) for _, header, rows in self.tables())

    def tables(self) -> list[tuple[str, list[str], list[list[str]]]]:
        """Return the tables with their titles, headers and cells."""
        price = [
            [
                name,
                str(one.pld),
                number(one.thresholds.get(CRITERIA[0])),
                "-" if one.best is None else str(one.best),
                "-" if one.price is None else str(one.price),
                "-" if one.held_out is None else str(one.held_out.pld),
                "-" if one.recalibrated is None else str(one.recalibrated.pld_after),
            ]
            for name, one in self.classes.items()
        ]
        chosen = [[name, *(number(one.thresholds.get(key)) for key in CRITERIA)] for name, one in self.classes.items()]
        calibration = [
            [
                name,
                str(found["hit"].error),
                str(found["hit"].brier),
                *(number(round(value, 3) + 0.0) for value in _parts(found["hit"])),  # not -0.000
                _after(self.classes.get(name)),
                number(found["soft"].error.value),
                number(found["soft"].brier.value),
            ]
            for name, found in self.calibration.items()
        ]
        held, parts = f"other half of {self.unit}s", ["reliability", "resolution", "uncertainty", "remainder"]
        return [
            (
                f"Price of confidence: PLD, cutoff {self.cutoff:g} m, lower is better",
                ["class", "PLD", "threshold", "rounded", "price", held, "recalibrated"],
                price,
            ),
            ("Recommended thresholds", ["class", *(key.replace("_", " ") for key in CRITERIA)], chosen),
            (
                f"Calibration, lower is better (hit: SOSPA of at most {self.hit:g}; soft: 1 - SOSPA)",
                ["class", "ECE", "Brier", *parts, "Brier recalibrated", "ECE soft", "Brier soft"],
                calibration,
            ),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return all values as plain Python values, for JSON. Curves have the thresholds 0, 0.01, ..., 1."""
        return {
            "mapgauge": __version__,
            "name": self.name,
            "protocol": self.protocol,
            "cutoff": self.cutoff,
            "hit": self.hit,
            "unit": self.unit,
            "units": self.units,
            "samples": self.samples,
            "level": self.level,
            "common": None if self.common is None else self.common._asdict(),
            "classes": {name: one.to_dict() | {"curve": self.rows(name)} for name, one in self.classes.items()},
            "calibration": {
                name: {key: one.to_dict() for key, one in found.items()} for name, found in self.calibration.items()
            },
            "findings": [asdict(finding) for finding in self.findings],
        }


def _parts(found: Reliability) -> tuple[float, ...]:
    return found.reliability, found.resolution, found.uncertainty, found.remainder


def _after(found: ClassConfidence | None) -> str:
    return "-" if found is None or found.recalibrated is None else str(found.recalibrated.brier_after)


def _plain(value: Any) -> float | int | None:
    plain: float | int = value.item()
    return None if plain != plain else plain
