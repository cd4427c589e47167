"""Projections: from longitude and latitude, or from another reference system, to metres. They need pyproj."""

import math
import re
import warnings
from contextlib import suppress
from typing import Any

import numpy as np

from mapgauge.dependencies import require
from mapgauge.errors import InvalidInput, MissingDependency, Remedy
from mapgauge.geometry.reference_names import names_a_file
from mapgauge.typing import Points

METRE = "metre"
AUTO = "auto"  # a transverse Mercator projection at the first point
GEOGRAPHIC = "EPSG:4326"  # longitude and latitude
KINDS = ("tmerc", "utm", "local", "mercator")
_ORIGIN = re.compile(rf"({'|'.join(KINDS)}):([-+.0-9eE]+):([-+.0-9eE]+)")
_WIDEST = 2.0  # degrees; a map that is wider has other coordinates
_ARCTIC = 75.0  # degrees of latitude; few roads are beyond
_LOCAL = ("utm", "local", "tmerc")  # projections that differ by little near their origin
PROJECT = Remedy(
    'Pass project="auto" for the truth, and project=truth.crs for the predictions. With a known origin, such as that '
    'of poses, pass project="utm:LAT:LON", also to truth.own_map',
    "Write PREDICTIONS,project=auto TRUTH,project=auto, which projects both the same way. With a known origin, such as "
    "that of poses, write FILE,project=utm:LAT:LON, also in `mapgauge truth map`",
)
EXCHANGED = Remedy.of("A file has longitude first, and project=KIND:LAT:LON has latitude first")
_FORMS = (
    f"{AUTO}, a reference system in metres such as EPSG:32632, or one of "
    f"{', '.join(f'{kind}:LAT:LON' for kind in KINDS)}, with the origin in degrees"
)


def check_projection(projection: object) -> str:
    """Return the reference system of a projection, as PROJ writes it; refuse what is no projection to metres.

    >>> check_projection("tmerc:49.0:8.4")
    '+proj=tmerc +ellps=WGS84 +lat_0=49.0 +lon_0=8.4'
    """
    if isinstance(projection, str):
        origin = _ORIGIN.fullmatch(projection)
    else:
        origin = None
    with suppress(ValueError):
        if origin is not None:
            return _at_origin(origin[1], float(origin[2]), float(origin[3]))
        if (
            isinstance(projection, str)
            and not projection.startswith(KINDS)
            and _pyproj()
            and unit_of(projection) == METRE
        ):
            return projection
    raise InvalidInput(f"project={projection}: expected {_FORMS}")


def _at_origin(kind: str, latitude: float, longitude: float) -> str:
    if not (abs(latitude) <= 90 and abs(longitude) <= 180):
        raise ValueError
    if kind == "mercator":  # of Lanelet2: on a sphere, and the origin only scales it
        return f"+proj=merc +R=6378137 +k_0={math.cos(math.radians(latitude))!r}"
    if kind == "utm":  # less the coordinates of the origin
        utm = f"+proj=tmerc +ellps=WGS84 +k_0=0.9996 +lon_0={6 * ((longitude + 180) // 6 % 60) - 177}"
        x, y = _transformed(np.array([[longitude, latitude]]), GEOGRAPHIC, utm)[0].tolist()
        return f"{utm} +x_0={-x!r} +y_0={-y!r}"
    # The orthographic projection of the ellipsoid has the coordinates east and north of a plane that touches it.
    return f"+proj={'ortho' if kind == 'local' else kind} +ellps=WGS84 +lat_0={latitude!r} +lon_0={longitude!r}"


def projection_at(coords: Points, source: str) -> str:
    """Return a transverse Mercator projection whose origin is the first point."""
    longitude, latitude = _transformed(coords[:1], source, GEOGRAPHIC)[0].tolist()
    return f"tmerc:{latitude!r}:{longitude!r}"


def project_points(coords: Points, projection: str, source: str = GEOGRAPHIC) -> Points:
    """Return points of a reference system in metres. The height, if there is one, stays."""
    return np.column_stack([_transformed(coords, source, check_projection(projection)), coords[:, 2:]])


def _transformed(coords: Points, source: str, target: str) -> Points:
    """Return points of one reference system in another, x or longitude first."""
    pyproj = _pyproj()
    try:
        transformer = pyproj.Transformer.from_crs(_system(source), _system(target), always_xy=True)
        return np.column_stack(transformer.transform(*coords[:, :2].T, errcheck=True))
    except pyproj.exceptions.ProjError as error:
        raise InvalidInput(
            f"the coordinates cannot be projected from {source[:60]} to {target[:60]}: {error}"
        ) from error


def _pyproj() -> Any:
    return require("pyproj", "projecting coordinates", "geo")


def _system(crs: str) -> Any:
    """Return a reference system of pyproj. One that names a file is not known: PROJ would open that file."""
    pyproj = _pyproj()
    if names_a_file(crs):
        raise pyproj.exceptions.CRSError("a reference system that names a file")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # +init=epsg:32632 is an old way to write EPSG:32632
        return pyproj.CRS.from_user_input(crs)


def unit_of(crs: str) -> str:
    """Return the unit of a reference system in a plane; an empty text if it is not known, or without pyproj."""
    try:
        system = _system(crs)
    except (MissingDependency, RuntimeError):  # pyproj's errors are RuntimeErrors
        return ""
    if system.is_geographic or system.is_geocentric:
        if system.is_geographic:
            return "degree"
        return "metre from the centre of the earth"
    units = {axis.unit_name: axis.unit_conversion_factor for axis in system.axis_info[:2]}
    if set(units.values()) == {1.0}:
        return METRE
    return next(iter(units), "")


def looks_geographic(coords: Points) -> bool:
    """Whether the points of a map can be longitude and latitude: on the earth, and close to each other."""
    if not len(coords):
        return False
    low = coords[:, :2].min(axis=0)
    high = coords[:, :2].max(axis=0)
    on_earth = (low >= (-180, -90)).all() and (high <= (180, 90)).all()
    return bool(on_earth and (high - low <= _WIDEST).all())


def exchanged(coords: Points, projection: str) -> str:
    """Return in words why latitude seems to stand before longitude in a map; an empty text if it does not.

    A map lies near the origin of its projection, or where its reference system is used. With the projection ``auto``,
    only places without roads tell it.
    """
    if not len(coords):
        return ""
    x, y = np.median(coords[:, :2], axis=0).tolist()
    place = f"the coordinates are at longitude {x:.4g} and latitude {y:.4g}"
    origin = _ORIGIN.fullmatch(projection)
    if origin is not None:
        latitude = float(origin[2])
        longitude = float(origin[3])
        is_near = abs(x - longitude) <= _WIDEST and abs(y - latitude) <= _WIDEST
        is_near_exchanged = abs(y - longitude) <= _WIDEST and abs(x - latitude) <= _WIDEST
        if is_near or not is_near_exchanged:
            return ""
        return (
            f"{place}, and the origin of project={projection} at longitude {longitude:.4g} and latitude "
            f"{latitude:.4g}. In one of them, longitude and latitude are exchanged"
        )
    if projection == AUTO:
        if abs(y) <= _ARCTIC or abs(x) > _ARCTIC:
            return ""
        return f"{place}, where few roads are. Longitude and latitude may be exchanged"
    area = _system(check_projection(projection)).area_of_use
    if area is None or _is_in(area, x, y) or not _is_in(area, y, x):
        return ""
    return f"{place}, where {projection[:60]} is not used. It is if longitude and latitude are exchanged"


def _is_in(area: Any, longitude: float, latitude: float) -> bool:
    """Whether a place lies in the area of use of a reference system. Some areas reach across the date line."""
    west, south, east, north = area.bounds
    if west <= east:
        is_between = west <= longitude <= east
    else:
        is_between = longitude >= west or longitude <= east
    return bool(is_between and south <= latitude <= north)


def moved_by_others(places: Points, projection: str) -> dict[str, float]:
    """Return how far other projections with the same origin move places, which are metres, at most.

    Nothing is returned for a projection that has no origin, or is not local.
    """
    origin = _ORIGIN.fullmatch(projection)
    if origin is None or origin[1] not in _LOCAL or not len(places):
        return {}
    degrees = _transformed(places[:, :2], check_projection(projection), GEOGRAPHIC)
    moved = {}
    for kind in _LOCAL:
        if kind != origin[1]:
            others = project_points(degrees, f"{kind}:{origin[2]}:{origin[3]}")
            moved[kind] = float(np.sqrt(np.square(others - places[:, :2]).sum(axis=1)).max())
    return moved


def is_known_system(crs: str) -> bool:
    """Whether pyproj knows a reference system. Without pyproj, every system may be known.

    >>> is_known_system("EPSG:32632"), is_known_system("utm:49.0:8.4"), is_known_system("the yard")
    (True, True, False)
    """
    if _ORIGIN.fullmatch(crs):
        return True
    try:
        _system(crs)
    except MissingDependency:
        return True
    except RuntimeError:  # pyproj's errors are RuntimeErrors
        return False
    return True


def same_system(first: str, second: str) -> bool:
    """Whether two names are of the same reference system. Names that pyproj does not know, or without it, may be."""
    if first == second or _ORIGIN.fullmatch(first) or _ORIGIN.fullmatch(second):
        return first == second
    try:
        one = _system(first)
        other = _system(second)
    except (MissingDependency, RuntimeError):  # pyproj's errors are RuntimeErrors
        return True
    return bool(one.equals(other, ignore_axis_order=True))
