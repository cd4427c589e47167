"""Reference systems of hostile files: PROJ opens the files that a system names, so it does not get such systems."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import shapely

import mapgauge as mg
from mapgauge.geometry.reference_names import names_a_file

pyogrio = pytest.importorskip("pyogrio")
pytest.importorskip("pyproj")

DEGREES = (
    "CS[ellipsoidal,2],AXIS['latitude',north],AXIS['longitude',east],ANGLEUNIT['degree',0.0174532925199433]".replace(
        "'", '"'
    )
)


def systems(path: str) -> dict[str, str]:
    """Reference systems of all kinds that name a file."""
    datum = f'DATUM["d",SPHEROID["s",6378137,298.25],EXTENSION["PROJ4_GRIDS","{path}"]]'
    degrees = f'GEOGCS["y",{datum},PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]]'
    own = f'GEOGCRS["y",DATUM["d",ELLIPSOID["s",6378137,298.25]],{DEGREES}]'
    usual = f'GEOGCRS["WGS 84",DATUM["World Geodetic System 1984",ELLIPSOID["WGS 84",6378137,298.257223563]],{DEGREES}]'
    shift = f'METHOD["NTv2",ID["EPSG",9615]],PARAMETERFILE["Latitude and longitude difference file","{path}"]'
    return {
        "list": f"+init={path}:1",
        "list without a plus": f"init={path}:1",
        "steps": f"+proj=pipeline +step +proj=hgridshift +grids={path}",
        "shifts": f"+proj=utm +zone=32 +ellps=bessel +nadgrids = {path} +units=m",
        "extension of WKT": f'PROJCS["x",{degrees},PROJECTION["Mercator_1SP"],PARAMETER["central_meridian",0],'
        'PARAMETER["scale_factor",1],PARAMETER["false_easting",0],PARAMETER["false_northing",0],UNIT["metre",1]]',
        "parameter of WKT": f'BOUNDCRS[SOURCECRS[{own}],TARGETCRS[{usual}],ABRIDGEDTRANSFORMATION["t",{shift}]]',
        "members of JSON": json.dumps({"init": f"{path}:1"}),
        "escapes of JSON": json.dumps({"proj": "pipeline", "step": "", "grids": path}).replace("/", "\\u002f"),
    }


SYSTEMS = tuple(systems(""))


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_system_that_names_a_file_is_noticed(name: str) -> None:
    assert names_a_file(systems("/home/me/list")[name])
    assert names_a_file(systems("../list")[name])


def test_a_parameter_of_json_that_names_a_file_is_noticed() -> None:
    parameter = {"name": "Latitude and longitude difference file", "value": "/home/me/grid"}
    assert names_a_file(json.dumps({"type": "BoundCRS", "transformation": {"parameters": [parameter]}}))


@pytest.mark.parametrize("code", [4326, 3857, 32632, 25832, 31467, 2154, 2263, 5555])
def test_common_systems_are_not_refused_in_any_writing(code: int) -> None:
    import pyproj

    system = pyproj.CRS.from_epsg(code)
    for text in (
        system.to_wkt(),
        system.to_wkt("WKT1_GDAL"),
        system.to_wkt("WKT1_ESRI"),
        system.to_json(),
        f"urn:ogc:def:crs:EPSG::{code}",
        f"http://www.opengis.net/def/crs/EPSG/0/{code}",
        f"+init=epsg:{code}",
        system.name,
    ):
        assert not names_a_file(text), text


def maps(folder: Path, name: str, system: str) -> list[Path]:
    """The same line, in every kind of file that declares a reference system by a text."""
    line = shapely.LineString([(500_000, 5_500_000), (500_009, 5_500_000)])
    shapes = shapely.to_wkb(np.array([line]))
    classes = [np.array(["divider"], object)]
    paths = []
    for suffix in (".shp", ".gpkg"):
        path = folder / f"{name}{suffix}"
        pyogrio.raw.write(path, shapes, classes, ["class"], geometry_type="LineString", crs="EPSG:32632")
        paths.append(path)
    (folder / f"{name}.prj").write_text(system, encoding="utf-8")
    connection = sqlite3.connect(folder / f"{name}.gpkg")
    connection.execute(
        "UPDATE gpkg_spatial_ref_sys SET definition = ?, organization = 'x', organization_coordsys_id = 7 "
        "WHERE srs_id = 32632",
        [system],
    )
    connection.commit()
    connection.close()
    feature = {"type": "Feature", "properties": {"class": "divider"}, "geometry": shapely.geometry.mapping(line)}
    for number, crs in enumerate([{"type": "name", "properties": {"name": system}}, _document(system)]):
        path = folder / f"{name}-{number}.geojson"
        path.write_text(json.dumps({"type": "FeatureCollection", "crs": crs, "features": [feature]}), encoding="utf-8")
        paths.append(path)
    return paths


def _document(system: str) -> object:
    return json.loads(system) if system.startswith("{") else system


READ = """
import sys
import mapgauge as mg
for number, path in enumerate(sys.argv[1:]):
    for options in ({"project": "auto"}, {}):
        if not options and number >= 8:  # all kinds of files with two systems are enough
            continue
        try:
            mg.read(path, **options)
        except mg.MapgaugeError as error:
            print(error)
"""


def is_read(pipe: Path) -> bool:
    """Whether a process has opened a pipe to read from it."""
    try:
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:  # as long as nobody reads, it cannot be opened like this
        return False
    return True


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes with names")
def test_no_file_that_a_system_names_is_opened(tmp_path: Path) -> None:
    """Opening the pipe would wait for ever, and not even end with Ctrl-C."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    paths = [path for name, text in systems(str(pipe)).items() for path in maps(tmp_path, name, text)]
    # Without this, the test could pass because the systems are harmless.
    danger = f"import pyproj; pyproj.CRS.from_user_input('+init={pipe}:1')"
    with subprocess.Popen([sys.executable, "-W", "ignore", "-c", danger]) as process:
        opened = False
        while process.poll() is None and not opened:
            opened = is_read(pipe)
            time.sleep(0.01)
        process.kill()
    assert opened
    run = subprocess.run(
        [sys.executable, "-c", READ, *map(str, paths)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=True,
    )
    assert "names another file, which is not opened" in run.stdout
    assert run.stderr == ""


def test_a_flatgeobuf_file_whose_system_names_a_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.fgb"
    system = systems("/x")["extension of WKT"]
    line = shapely.to_wkb(np.array([shapely.LineString([(0, 0), (9, 0)])]))
    pyogrio.raw.write(path, line, [np.array(["divider"], object)], ["class"], geometry_type="LineString", crs=system)
    with pytest.raises(mg.UnreadableFile, match="the reference system names another file"):
        mg.read(path)
