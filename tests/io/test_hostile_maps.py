"""Hostile maps: GDAL sees one file, with three drivers, and nothing else is read, fetched or written."""

import json
import os
import socket
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
from tests.io.hostile_maps import (
    CHANGES,
    HARMLESS,
    MAGIC,
    SECRET,
    Places,
    disguises,
    documents,
    hostile_geopackage,
    secret_map,
    sound_geopackage,
)

import mapgauge as mg
from mapgauge.io import _gdal
from mapgauge.io.gdal_process import DRIVERS

pyogrio = pytest.importorskip("pyogrio")
NAMES = ("x.fgb", "x.gpkg", "x.zip", "x.shp", "x.vrt")
DISGUISES = tuple(disguises(b"", Path("/x")))
READABLE = {"divider": 1, "boundary": 1}  # what the files of the tests hold


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


@pytest.fixture
def places(tmp_path: Path, listener: socket.socket) -> Places:
    folder = tmp_path / "private"
    folder.mkdir()
    sound_geopackage(folder / "secret.gpkg")
    return Places(secret_map(folder / "secret.geojson"), folder / "written", listener.getsockname()[1])


def was_called(listener: socket.socket) -> bool:
    try:
        listener.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def check_nothing_happened(
    folder: Path, path: Path, places: Places, listener: socket.socket
) -> tuple[str, dict[str, int]]:
    """Read a file; return the message of the refusal, or an empty text and the instances of each class."""
    before = sorted(str(each) for each in folder.rglob("*"))
    message = ""
    counts: dict[str, int] = {}
    try:
        counts = dict(mg.read(path).counts)
    except mg.UnreadableFile as error:
        message = str(error)
    assert SECRET not in message
    assert SECRET not in counts
    assert sorted(str(each) for each in folder.rglob("*")) == before
    assert not places.target.exists()
    assert not was_called(listener)
    return message, counts


@pytest.mark.parametrize("disguise", DISGUISES)
def test_documents_of_other_drivers_read_and_write_nothing(
    disguise: str, tmp_path: Path, places: Places, listener: socket.socket
) -> None:
    for name, document in documents(places).items():
        data = disguises(document, places.target)[disguise]
        suffixes = NAMES if name == "VRT of a file" else NAMES[:1]
        for file in suffixes:
            path = tmp_path / file
            path.write_bytes(data)
            refused, _ = check_nothing_happened(tmp_path, path, places, listener)
            # A document that is JSON by itself is a map without elements.
            assert refused or (disguise == "behind nothing" and document.startswith(b"{")), name
            path.unlink()


PLAIN_GDAL = """
import sys, pyogrio
for path in sys.argv[1:]:
    try:
        read = [pyogrio.raw.read(path, layer=layer)[3] for layer, kind in pyogrio.list_layers(path)]
    except Exception as error:
        read = error
    print(" ".join(str(read).split()))
"""


def with_all_drivers(*paths: Path) -> list[str]:
    """What GDAL makes of files with all its drivers."""
    command = [sys.executable, "-c", PLAIN_GDAL, *map(str, paths)]
    run = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True)
    return run.stdout.splitlines()


def test_the_containers_are_dangerous_to_gdal_with_all_drivers(
    tmp_path: Path, places: Places, listener: socket.socket
) -> None:
    """Without this, the other tests could pass because the containers are harmless."""
    made = documents(places)
    paths = [tmp_path / f"{name}.fgb" for name in MAGIC]
    for path, name in zip(paths, MAGIC, strict=True):
        path.write_bytes(disguises(made["VRT of a file"], places.target)[f"behind {name}"])
    path = tmp_path / "x.fgb"
    path.write_bytes(b"fgb" + made["VRT that writes"])
    *read, _ = with_all_drivers(*paths, path)
    assert sum(SECRET in one for one in read) >= 4
    assert places.target.exists()
    path.write_bytes(b"fgb" + made["VRT of a URL"])
    listener.settimeout(60)  # of a busy machine
    with subprocess.Popen([sys.executable, "-c", PLAIN_GDAL, str(path)], stdout=subprocess.DEVNULL) as process:
        listener.accept()[0].close()
        process.kill()


@pytest.mark.parametrize("change", CHANGES)
def test_hostile_geopackages_read_and_write_nothing(
    change: str, tmp_path: Path, places: Places, listener: socket.socket
) -> None:
    path = hostile_geopackage(tmp_path / "x.gpkg", CHANGES[change], places)
    message, counts = check_nothing_happened(tmp_path, path, places, listener)
    if change in HARMLESS:
        assert (message, counts) == ("", READABLE)
    else:
        expected = ("is a view", "virtual table", "has computed columns", "has no table", "malformed database schema")
        assert any(words in message for words in expected), message


def test_a_log_with_changes_beside_a_geopackage_is_named(tmp_path: Path) -> None:
    connection = sqlite3.connect(sound_geopackage(tmp_path / "x.gpkg"))
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("CREATE TABLE more (k)")
    with pytest.raises(mg.UnreadableFile, match=r"x\.gpkg-wal .*holds changes"):
        mg.read(tmp_path / "x.gpkg")
    connection.close()
    assert mg.read(tmp_path / "x.gpkg").counts == {"divider": 1, "boundary": 1}


def shapefile(folder: Path) -> Path:
    lines = shapely.to_wkb(np.array([shapely.LineString([(0, 0), (9, 0)]), shapely.LineString([(0, 5), (9, 5)])]))
    names = [np.array(["divider", "boundary"], object)]
    path = folder / "x.shp"
    pyogrio.raw.write(path, lines, names, ["class"], geometry_type="LineString", crs="EPSG:32632")
    return path


def test_only_the_parts_of_a_shapefile_are_read_beside_it(
    tmp_path: Path, places: Places, listener: socket.socket
) -> None:
    path = shapefile(tmp_path)
    vrt = documents(places)["VRT of a file"]
    for suffix in (".qix", ".sbn", ".idm", ".shp.aux.xml", ".aux.xml", ".vrt", ".qpj"):
        (tmp_path / f"x{suffix}").write_bytes(vrt)
    assert check_nothing_happened(tmp_path, path, places, listener) == ("", READABLE)


@pytest.mark.parametrize("suffix", [".prj", ".cpg"])
def test_reference_systems_and_encodings_are_names_not_places(
    suffix: str, tmp_path: Path, places: Places, listener: socket.socket
) -> None:
    path = shapefile(tmp_path)
    url = f"http://127.0.0.1:{places.port}/crs"
    for text in (url, f"/vsicurl/{url}", str(places.secret), f"+init={places.secret}:1", "@x"):
        path.with_suffix(suffix).write_text(text, encoding="utf-8")
        check_nothing_happened(tmp_path, path, places, listener)


@pytest.mark.parametrize("url", ["/vsicurl/http://127.0.0.1:9/x.fgb", "/vsizip/x.zip", "WFS:http://127.0.0.1:9/"])
def test_virtual_file_systems_are_not_paths(url: str) -> None:
    with pytest.raises(mg.UnreadableFile, match="no such file"):
        mg.read(url)


def test_gdal_has_three_drivers_even_if_the_caller_imported_pyogrio(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(pyogrio.list_drivers()) > len(DRIVERS)
    path = sound_geopackage(tmp_path / "x.gpkg")
    # A GDAL with a driver that is not in our list names it, and is asked again without it.
    asked: list[tuple[str, ...]] = []
    ask = _gdal._ask

    def noted(*given: Any, skipped: tuple[str, ...], **named: Any) -> Any:
        if not asked:
            skipped = tuple(name for name in skipped if name != "OGR_VRT")
        asked.append(skipped)
        return ask(*given, skipped=skipped, **named)

    monkeypatch.setattr(_gdal, "_ask", noted)
    assert len(mg.read(path).polylines) == 2
    assert ["OGR_VRT" in skipped for skipped in asked] == [False, True]


def test_a_gdal_that_keeps_its_drivers_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = sound_geopackage(tmp_path / "x.gpkg")
    ask = _gdal._ask
    monkeypatch.setattr(_gdal, "_ask", lambda *given, **named: ask(*given, **(named | {"skipped": ("CSV",)})))
    with pytest.raises(mg.UnreadableFile, match=r"GDAL has \d+ drivers more"):
        mg.read(path)


def test_settings_of_gdal_in_the_environment_do_not_count(
    tmp_path: Path, places: Places, monkeypatch: pytest.MonkeyPatch, listener: socket.socket
) -> None:
    path = sound_geopackage(tmp_path / "x.gpkg")
    for name, value in {
        "OGR_SKIP": "GPKG",
        "OGR_SQLITE_LOAD_EXTENSIONS": str(places.target),
        "OGR_SQLITE_ALLOW_EXTERNAL_ACCESS": "YES",
        "GDAL_DRIVER_PATH": str(tmp_path),
        "CPL_DEBUG": "ON",
        "CPL_LOG": str(places.target),
        "PYTHONSTARTUP": str(places.secret),
        "PYTHONPATH": str(tmp_path),
    }.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "numpy.py").write_text("raise SystemExit(3)", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert check_nothing_happened(tmp_path, path, places, listener) == ("", READABLE)


def test_the_process_of_gdal_can_write_no_file(tmp_path: Path) -> None:
    if os.name == "nt":
        pytest.skip("Windows has no such limit")
    code = "from mapgauge.io.gdal_process import _limit_resources as limit; limit(1 << 40)\n"
    code += f"with open({str(tmp_path / 'out')!r}, 'w') as file: file.write('x')"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", check=False)
    assert "File too large" in run.stderr


def test_the_command_refuses_in_one_line(tmp_path: Path, places: Places) -> None:
    path = tmp_path / "x.fgb"
    path.write_bytes(b"fgb\x03fgb\x01" + documents(places)["VRT of a file"])
    run = subprocess.run(
        [sys.executable, "-m", "mapgauge", "inspect", str(path)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert run.returncode == 1
    assert SECRET not in run.stdout + run.stderr
    assert "not a complete FlatGeobuf file" in run.stderr


def test_compressed_maps_are_read(tmp_path: Path) -> None:
    import gzip

    path = tmp_path / "x.gpkg.gz"
    path.write_bytes(gzip.compress(sound_geopackage(tmp_path / "x.gpkg").read_bytes()))
    assert json.dumps(mg.read(path).counts) == '{"divider": 1, "boundary": 1}'


def archive_of(path: Path, folder: Path, count: int) -> Path:
    """A ZIP archive of equal Shapefiles with different names."""
    shapefile(folder)
    with zipfile.ZipFile(path, "w") as archive:
        for k in range(count):
            for suffix in (".shp", ".shx", ".dbf", ".prj"):
                archive.write(folder / f"x{suffix}", f"map-{k}{suffix}")
    return path


def test_one_process_reads_all_maps_of_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One process for each would let an archive of a megabyte take ten minutes."""
    path = archive_of(tmp_path / "x.zip", tmp_path, 50)
    asked = []
    ask = _gdal._ask

    def noted(*given: Any, **options: Any) -> Any:
        asked.append(given)
        return ask(*given, **options)

    monkeypatch.setattr(_gdal, "_ask", noted)
    assert mg.read(path).counts == {"divider": 50, "boundary": 50}
    assert len(asked) == 1


def test_an_archive_with_a_password_is_named(tmp_path: Path) -> None:
    path = archive_of(tmp_path / "x.zip", tmp_path, 1)
    data = bytearray(path.read_bytes())
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(mark)
        while at >= 0:
            data[at + flags] |= 1
            at = data.find(mark, at + 1)
    path.write_bytes(data)
    with pytest.raises(mg.UnreadableFile, match=r"'map-0\.shp' in the ZIP archive has a password"):
        mg.read(path)
