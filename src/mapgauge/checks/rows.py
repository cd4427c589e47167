"""The checks of the core, in the order in which findings of the same level are listed."""

from collections.abc import Iterable

from mapgauge.checks import confidences, coordinates, frames, instances, links, names, tracks
from mapgauge.checks.table import LINES, LINKS, SIDES, TRACKS, Check, Find

_OF_SIDES: tuple[Find, ...] = (
    names.no_frames,
    instances.on_the_right_side,
    names.duplicates,
    names.one_side_only,
    names.names,
    names.not_compared,
    instances.dimensions,
    coordinates.turned,
    coordinates.coordinates,
    frames.repeated,
    coordinates.not_for_region,
    coordinates.far_away,
    instances.height,
    instances.in_range,
    instances.all_equal,
    confidences.small,
    confidences.twice,
    confidences.order,
    names.exchanged,
    names.without_instances,
    instances.closed_on_one_side,
    instances.reversed_lines,
    instances.other_starts,
    instances.empty,
    instances.published,
    names.order,
)
_OF_LINES: tuple[Find, ...] = (
    instances.few_points,
    instances.copies,
    instances.closed_shares,
)


def checks_of_core() -> Iterable[Check]:
    """Yield the checks of the core."""
    for find in _OF_SIDES:
        yield _row(find, SIDES)
    yield Check(name="tracks.on_one_side", find=tracks.on_one_side, order=TRACKS)
    yield Check(name="tracks.unusual", find=tracks.unusual, find_in_side=tracks.of_side, order=TRACKS)
    yield Check(name="links.on_one_side", find=links.on_one_side, order=LINKS)
    yield Check(name="links.impossible", find=links.impossible, find_in_side=links.of_side, order=LINKS)
    for find in _OF_LINES:
        yield _row(find, LINES)


def _row(find: Find, order: int) -> Check:
    """Return the row of a function, with the name of its module and its own."""
    module = find.__module__.rpartition(".")[2]
    return Check(name=f"{module}.{find.__name__}", find=find, order=order)
