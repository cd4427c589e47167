"""The panel *where* of the report and of ``mapgauge view``: the error map, or the area around the vehicle."""

from collections.abc import Sequence
from contextlib import suppress

from mapgauge.errors import InvalidInput
from mapgauge.features.error_map.around import AroundEgo, around_ego
from mapgauge.features.error_map.error_map import ErrorMap, error_map, has_errors, has_poses
from mapgauge.features.error_map.panel import ego_panel, map_panel
from mapgauge.features.error_map.zones import Zones, zones_around, zones_of_map
from mapgauge.markup import Html
from mapgauge.results.results import Results
from mapgauge.typing import Progress
from mapgauge.views.report.drawings import is_map
from mapgauge.views.report.pack import Added, Section


class _ErrorSection(Section):
    """Fills the panel if the results have their data."""

    resource = "error_map"
    panel = "where"
    order = 40

    def added(self, methods: Sequence[Results], drawn: Sequence[int], wanted: bool | None) -> Added:
        """Return that the page needs the script."""
        if not _can_show(methods):
            return Added()
        return Added(meta={"errorMap": True})

    def has_scenes(self, methods: Sequence[Results]) -> bool:
        """Whether ``mapgauge view`` has the script. It gets the panel after the data were read."""
        return all(bool(method.protocol.cutoffs) for method in methods)

    def in_panel(self, methods: Sequence[Results], names: Sequence[str], progress: Progress | None = None) -> Html:
        """Return the map of the world if there are poses, and otherwise the area around the vehicle."""
        if not _can_show(methods):
            return Html("")
        trusted = [name for name, method in zip(names, methods, strict=True) if not has_errors(method)]
        if has_poses(methods[0]):
            # A report is written also if there is no common map: with poses that are no motions, or different truth.
            with suppress(InvalidInput):
                made = error_map(list(methods), names=list(names), progress=progress)
                return map_panel(made, trusted, _zones_of_map(made, methods[0]))
        if any(method.protocol.region is None or is_map(method) for method in methods):
            return Html("")
        maps = []
        for k, method in enumerate(methods):
            maps.append(around_ego(method, progress=_part_of(progress, k, len(methods))))
        cutoff = methods[0].cutoff_or_first(cutoff=None)
        return ego_panel(maps, names, cutoff, trusted=trusted, zones=_zones_around(maps, methods[0]))


def _zones_of_map(made: ErrorMap, first: Results) -> list[Zones]:
    """Return the zones of all methods; none if the data have no vehicle or no region."""
    region = first.protocol.region
    if region is None or is_map(first):
        return []
    _, truth = first.need_data().sides
    return [zones_of_map(made, k, region, forward=truth.forward or "x") for k in range(len(made.names))]


def _zones_around(maps: Sequence[AroundEgo], first: Results) -> list[Zones]:
    region = first.protocol.region
    assert region is not None
    return [zones_around(made, region) for made in maps]


def _part_of(progress: Progress | None, method: int, count: int) -> Progress | None:
    """Return the progress of one of some methods, as a part of the progress of all."""
    if progress is None:
        return None

    def advance(done: int, total: int) -> None:
        progress(method * total + done, count * total)

    return advance


SECTION = _ErrorSection()


def _can_show(methods: Sequence[Results]) -> bool:
    """Whether all methods have their data and a cutoff."""
    return all(method.geometry is not None and bool(method.protocol.cutoffs) for method in methods)
