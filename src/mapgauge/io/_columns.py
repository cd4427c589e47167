"""The instances of a file as columns, and the rule for degenerate instances."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import Remedy, UnreadableFile
from mapgauge.frames.columns import Values
from mapgauge.frames.findings import Finding
from mapgauge.frames.links import Links, kept_links
from mapgauge.frames.map_frames import members_of
from mapgauge.geometry.polylines import Polylines
from mapgauge.io.files.json_documents import MakeError
from mapgauge.typing import Confidences, Degenerate, Indices, Points

EXAMPLES = 3  # number of places that a finding names


class InstanceColumns(NamedTuple):
    """One value per instance, sorted by frame."""

    frame: Indices
    label: Indices
    confidence: Confidences | None
    sizes: Indices  # number of points
    coords: Points  # (points, dimension): the points of all instances
    links: Links | None = None
    columns: Mapping[str, Values] = {}  # rows of ``COLUMNS``, by name

    def without_degenerate(
        self, name: str, degenerate: Degenerate, locate: Callable[[int], str]
    ) -> tuple["InstanceColumns", list[Finding]]:
        """Leave out degenerate instances, and return findings that count them; or raise an error for the first one."""
        count = len(self.frame)
        keep = np.ones(count, np.bool_)
        findings: list[Finding] = []
        for code, bad, what in self._faults():
            rows = np.flatnonzero(bad & keep)
            if not len(rows):
                continue
            places = tuple(locate(i) for i in rows[:EXAMPLES].tolist())
            if degenerate == "strict":
                if len(rows) > 1:
                    more = f" ({len(rows)} of {count} instances do)"
                else:
                    more = ""
                raise UnreadableFile(f"{name}: {places[0]} has {what}{more}", remedy=DROP)
            keep &= ~bad
            text = f"{name}: {len(rows)} of {count} instances were dropped because they have {what}"
            findings.append(Finding("warning", f"dropped-{code}", text, count=len(rows), examples=places))
        if keep.all():
            return self, findings
        links = kept_links(self.links, np.flatnonzero(keep), count)
        if self.confidence is None:
            confidence = None
        else:
            confidence = self.confidence[keep]
        kept = InstanceColumns(
            frame=self.frame[keep],
            label=self.label[keep],
            confidence=confidence,
            sizes=self.sizes[keep],
            coords=self.coords[np.repeat(keep, self.sizes)],
            links=links,
            columns={name: values[keep] for name, values in self.columns.items()},
        )
        if self.links is not None and links is not None and len(links) < len(self.links):
            lost = len(self.links) - len(links)
            text = f"{name}: {lost} of {len(self.links)} links were dropped together with one of their instances"
            findings.append(Finding("warning", "dropped-links", text, count=lost))
        return kept, findings

    def _faults(self) -> list[tuple[str, NDArray[np.bool_], str]]:
        """Return the kinds of degenerate instances: a code, which instances they are, and a description."""
        broken = np.zeros(len(self.frame), np.bool_)
        with np.errstate(over="ignore", invalid="ignore"):
            total = self.coords.sum()
        if not np.isfinite(total):  # a coordinate is not finite, or all of them together are too large
            finite = np.isfinite(self.coords)
            broken[np.repeat(np.arange(len(self.frame)), self.sizes)[~finite.all(axis=1)]] = True
        faults = [
            ("few-points", self.sizes < 2, "fewer than 2 points"),
            ("not-finite", broken, "a coordinate that is not a finite number"),
        ]
        if self.confidence is not None:
            unsure = ~np.isfinite(self.confidence)
            faults.append(("confidence-not-finite", unsure, "a confidence that is not a finite number"))
        return faults

    def members(self) -> dict[str, Any]:
        """Return the columns as arguments of ``MapFrames``. They must have no degenerate instances."""
        members = {"frame": self.frame, "label": self.label, "confidence": self.confidence, "links": self.links}
        polylines = Polylines.unchecked(self.coords, np.concatenate([[0], self.sizes]).cumsum())
        return members | {"polylines": polylines} | members_of(self.columns)


def check_corners(
    columns: InstanceColumns, boxes: Sequence[bool], error: MakeError, locate: Callable[[int], str]
) -> None:
    """Refuse boxes that are not two corners, the smallest first."""
    if not any(boxes):
        return
    rows = np.flatnonzero(np.array([*boxes, False])[columns.label])
    two = columns.sizes[rows] == 2
    first = (columns.sizes.cumsum() - columns.sizes)[rows[two]]
    rising = (columns.coords[first, :2] <= columns.coords[first + 1, :2]).all(axis=1)
    wrong = [*rows[~two].tolist(), *rows[two][~rising].tolist()]
    if wrong:
        raise error(
            f"{locate(min(wrong))} is a box in an image, expected two points: the smallest and the largest corner"
        )


DROP = Remedy(
    'Pass degenerate="drop" to leave such instances out',
    "Give the file as FILE,degenerate=drop to leave such instances out",
)
