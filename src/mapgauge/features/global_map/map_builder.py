"""The rule ``globalmapnet``: how GlobalMapNet's map builder fuses every fourth frame of a drive.

Predictions with a score above 0.4 are matched with the elements of the map, class by class, where both lie in the box
of the frame. A matched prediction replaces the stretch of its element that it covers. Others are added. Then elements
that overlap with better ones are suppressed.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapgauge import kernels
from mapgauge.features.global_map.region import boxes_of, distances_along, shapely_module
from mapgauge.typing import Bounds, Flags, Floats, Points

# The numbers of GlobalMapNet's public configurations.
INTERVAL = 4  # frames between two updates
FAINT = 0.4  # predictions up to this score are left out
POINTS = 100  # of a line, whose mean distance to another line decides about a match
SIMPLER = 1.0  # metres by which merged lines are simplified
SLIVER = 0.05  # metres; shorter parts in a box are dropped
OVERLAP = 0.1  # of buffers, from which the worse element is suppressed
ROUND = 16  # segments of a quarter of a circle in these buffers
# Metres by class: the largest distance of a match, and the radius of the buffers.
DISTANCES = {"boundary": 2.0, "divider": 1.0, "ped_crossing": 0.5}
_OTHER = 1.0  # of classes that GlobalMapNet does not have


@dataclass(slots=True, eq=False)
class BuiltElement:
    """A line of the map."""

    points: Points
    label: int
    score: float
    bounds: Floats = field(init=False)  # smallest x and y, largest x and y

    def __post_init__(self) -> None:
        """Compute the bounds."""
        self.replace(self.points)

    def replace(self, points: Points) -> None:
        """Replace the points."""
        self.points = points
        self.bounds = np.concatenate([points.min(axis=0), points.max(axis=0)])


def _meeting(elements: list[BuiltElement], others: Floats, reach: float = 0.0) -> Flags:
    """Return which elements have bounds within ``reach`` of any of some ``(others, 4)`` bounds."""
    low, high = np.array([each.bounds for each in elements]).reshape(-1, 1, 2, 2).transpose(2, 0, 1, 3)
    meets = np.all((low <= others[:, 2:] + reach) & (high >= others[:, :2] - reach), axis=2)
    return np.asarray(meets.any(axis=1))


def update(
    elements: list[BuiltElement], seen: list[BuiltElement], box: Points, distances: Floats
) -> list[BuiltElement]:
    """Return the elements of a map after a frame.

    ``box`` has the corners of the frame, and ``distances`` the largest distance of a match of each class.
    """
    shapely = shapely_module()
    area = shapely.polygons(box)
    added = []
    changed = []
    near = _meeting(elements, np.concatenate([box.min(axis=0), box.max(axis=0)])[None])
    shown = [elements[k] for k in np.flatnonzero(near).tolist()]
    inner = [(element, part) for element in shown for part in shapely.get_parts(_part(element.points, area))]
    new = [
        (BuiltElement(shapely.get_coordinates(part), each.label, each.score), part)
        for each in seen
        for part in shapely.get_parts(_part(each.points, area))
    ]
    for label in range(len(distances)):
        old = [(element, part) for element, part in inner if element.label == label and part is not None]
        own = [(each, part) for each, part in new if each.label == label and part is not None]
        matched = _matches([part for _, part in old], [part for _, part in own], distances[label])
        for i, j in matched:
            element = old[i][0]
            prediction = own[j][0]
            element.replace(_replaced(element.points, prediction.points))
            changed.append(element)
            share = min(_length(_simplified(prediction.points)) / _length(element.points), 1.0)
            element.score = share * prediction.score + (1 - share) * element.score
        taken = {j for _, j in matched}
        added += [each for j, (each, _) in enumerate(own) if j not in taken]
    elements = [*elements, *added]
    # Elements that overlapped before are gone already, so only those near a change are compared.
    bounds = np.array([each.bounds for each in (*changed, *added)]).reshape(-1, 4)
    involved = _meeting(elements, bounds, 2 * float(distances.max(initial=0.0)))
    apart = [elements[k] for k in np.flatnonzero(~involved).tolist()]
    return apart + _suppressed([elements[k] for k in np.flatnonzero(involved).tolist()], distances)


def _length(points: Points) -> float:
    return max(float(distances_along(points)[-1]), 1e-9)


def _part(points: Points, area: Any) -> Any:
    """Return the part of a line in a box; None if there is none."""
    shapely = shapely_module()
    inside = shapely.intersection(shapely.linestrings(points), area)
    parts = shapely.get_parts(shapely.line_merge(inside) if inside.geom_type == "MultiLineString" else inside)
    parts = [part for part in parts if part.geom_type == "LineString" and part.length > 0]
    if len(parts) > 1:
        parts = [part for part in parts if part.length > SLIVER]
    if not parts:
        return None
    if len(parts) == 1:
        return parts[0]
    return shapely.multilinestrings(parts)


def _matches(old: list[Any], new: list[Any], most: float) -> list[tuple[int, int]]:
    """Return the pairs of the assignment with the smallest sum of distances that are near enough."""
    if not old or not new:
        return []
    cost = np.array([[min(_one_way(a, b), _one_way(b, a)) for b in new] for a in old])
    partner, _ = kernels.assignment.assign(cost.max() + 1.0 - cost)
    return [(i, int(j)) for i, j in enumerate(partner.tolist()) if j >= 0 and cost[i, j] <= most]


def _one_way(first: Any, second: Any) -> float:
    """Return the mean distance of points of one line to another line."""
    shapely = shapely_module()
    at = shapely.line_interpolate_point(first, np.linspace(0, 1, POINTS), normalized=True)
    return float(shapely.distance(at, second).mean())


def _simplified(points: Points) -> Points:
    shapely = shapely_module()
    made: Points = shapely.get_coordinates(
        shapely.simplify(shapely.linestrings(points), SIMPLER, preserve_topology=False)
    )
    if len(made) > 1:
        return made
    return points[[0, -1]]


def _replaced(element: Points, prediction: Points) -> Points:
    """Return an element whose vertices beside a prediction are replaced by it."""
    shapely = shapely_module()
    base = _simplified(element)
    new = _simplified(prediction)
    line = shapely.linestrings(base)
    place = shapely.line_locate_point(line, shapely.points(new))
    if place[0] > place[-1]:
        new = new[::-1]
    # A vertex counts where its point lies first on the line. The last vertex of a ring counts at the end.
    along = shapely.line_locate_point(line, shapely.points(base))
    if (base[0] == base[-1]).all():
        along[-1] = line.length
    is_beside = (along >= place.min()) & (along <= place.max())
    if not is_beside.any():
        return base
    first = int(is_beside.argmax())
    return _simplified(np.concatenate([base[:first], new, base[first:][~is_beside[first:]]]))


def _suppressed(elements: list[BuiltElement], distances: Floats) -> list[BuiltElement]:
    """Return the elements that overlap with no better one of their class."""
    shapely = shapely_module()
    kept = []
    for label, radius in enumerate(distances.tolist()):
        own = sorted((each for each in elements if each.label == label), key=lambda each: -each.score)
        areas: list[Any] = []
        for each in own:
            area = shapely.buffer(shapely.linestrings(each.points), radius, quad_segs=ROUND)
            common = shapely.area(shapely.intersection(area, np.array(areas, object)))
            either = area.area + shapely.area(np.array(areas, object)) - common
            if not (common > OVERLAP * either).any():
                areas.append(area)
                kept.append(each)
    return kept


def build(
    frames: list[list[BuiltElement]], poses: NDArray[np.float64], box: Bounds, classes: tuple[str, ...]
) -> list[BuiltElement]:
    """Return the map of a drive. ``frames`` have elements in the world, by time."""
    distances = np.array([DISTANCES.get(name, _OTHER) for name in classes])
    elements: list[BuiltElement] = []
    for k in range(0, len(frames), INTERVAL):
        sure = [each for each in frames[k] if each.score > FAINT]
        elements = update(elements, sure, boxes_of(poses[k : k + 1], box)[0], distances=distances)
    return elements
