"""Links in GeoJSON: a feature lists the links that begin at it, and names their targets by the ``id`` of a feature.

::

    {"type": "Feature", "id": 7, "properties": {...}, "geometry": {...},
     "links": [{"target": 8, "weight": 0.9, "kind": "successor"}, ...]}
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from mapgauge.frames.links import SUCCESSOR, Links
from mapgauge.frames.map_frames import MapFrames
from mapgauge.io._collect import Collector

_REMEDY = "Give each feature of the frame an id, and name the target of a link by its id"


class LinkObject(msgspec.Struct, gc=False):
    """A link of a feature."""

    target: int
    weight: float
    kind: str


def link_objects(frames: MapFrames) -> list[list[LinkObject]] | None:
    """Return the links of each instance. The id of an instance is its index in the file."""
    if frames.links is None:
        return None
    objects: list[list[LinkObject]] = [[] for _ in frames.label]
    for source, target, weight, kind in frames.links:
        objects[source].append(LinkObject(target, weight, kind))
    return objects


class FeatureLinks(NamedTuple):
    """The members of all features that describe links; ``msgspec.UNSET`` for a feature without such a member."""

    ids: Sequence[Any]
    links: Sequence[Any]
    stated: Any  # the member ``links`` of the collection: true if features may have links

    def read(self, collector: Collector, order: Sequence[int], frame: Sequence[int]) -> Links | None:
        """Return the links between instances.

        Args:
            collector: Creates errors.
            order: The feature of each instance.
            frame: The frame of each instance.
        """
        if self.stated not in (msgspec.UNSET, None, True, False):
            raise collector.error("$.links is neither true nor false")
        if self.stated is not True and all(given is msgspec.UNSET for given in self.links):
            return None
        found = self._instances(collector, order, frame)
        rows: dict[tuple[int, int, str], float] = {}
        for source, feature in enumerate(order):
            given = self.links[feature]
            if given is msgspec.UNSET or given is None:
                continue
            where = f"$.features[{feature}].links"
            if not isinstance(given, list):
                raise collector.error(f"{where} is not a list of links")
            for k, link in enumerate(given):
                at = f"{where}[{k}]"
                if not isinstance(link, dict) or "target" not in link:
                    raise collector.error(f"{at} has no target, expected the id of a feature", remedy=_REMEDY)
                name = _id_text(link["target"])
                target = None if name is None else found.get((frame[source], name))
                if target is None:
                    raise collector.error(
                        f"{at}.target is {link['target']!r}, expected the id of a feature of the same frame",
                        remedy=_REMEDY,
                    )
                kind = collector.check.text(link.get("kind", SUCCESSOR), f"{at}.kind")
                if (source, target, kind) in rows:
                    raise collector.error(f"{at}: the feature has another link of kind {kind} to the same target")
                weight = collector.check.number(link.get("weight", 1.0), f"{at}.weight")
                if not (math.isfinite(weight) and weight >= 0):
                    raise collector.error(f"{at}.weight is {weight}, expected a finite number of at least 0")
                rows[source, target, kind] = weight
        return Links.of(
            np.array([source for source, _, _ in rows], np.int64),
            np.array([target for _, target, _ in rows], np.int64),
            weight=list(rows.values()),
            kind=[kind for _, _, kind in rows],
        )

    def _instances(
        self, collector: Collector, order: Sequence[int], frame: Sequence[int]
    ) -> dict[tuple[int, str], int]:
        """Return the instance of each frame and id."""
        found: dict[tuple[int, str], int] = {}
        for row, feature in enumerate(order):
            given = self.ids[feature]
            if given is msgspec.UNSET or given is None:
                continue
            name = _id_text(given)
            if name is None:
                raise collector.error(f"$.features[{feature}].id is {given!r}, expected a text or a whole number")
            if found.setdefault((frame[row], name), row) != row:
                raise collector.error(f"$.features[{feature}].id is {given!r}, as in another feature of the frame")
        return found


def _id_text(value: Any) -> str | None:
    """Return an id as text; None if it cannot be an id."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    return f"{value}"
