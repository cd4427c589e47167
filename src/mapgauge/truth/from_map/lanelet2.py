"""The elements of Lanelet2's maps as geometries."""

import shapely

from mapgauge.io.files.source import Content
from mapgauge.io.lanelet2 import ClassOf, read_elements
from mapgauge.truth.cutting.shapes import as_geometries
from mapgauge.truth.from_map.vectors import RawMap


def read_lanelet2(content: Content, class_of: ClassOf, *, geographic: bool) -> RawMap:
    """Read a map. ``class_of`` gives the class of a type of ways and of a subtype of lanelets and areas.

    Nodes have their local coordinates, unless ``geographic`` asks for longitude and latitude.
    """
    elements, crs = read_elements(content, class_of, geographic=geographic)
    shapes = [None if element.geometry is None else shapely.geometry.shape(element.geometry) for element in elements]
    names = [element.name for element in elements]
    kinds = [element.kind for element in elements]
    return RawMap(names, kinds, as_geometries(shapes), crs=crs)
