"""Reads a file with GDAL: in a process of its own, which has three drivers and a copy of this file alone."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from mapgauge.dependencies import missing
from mapgauge.errors import MapgaugeError
from mapgauge.io.files.source import Content, most_bytes
from mapgauge.io.gdal_process import DRIVERS

_PROGRAM = Path(__file__).with_name("gdal_process.py")
_PACKAGES = Path(__file__).absolute().parents[2]  # where mapgauge lies

# The vector drivers of GDAL 3.12 that could be asked whether a file is theirs. A build with others names them, and is
# asked again without them.
_OTHERS = (
    *("PCIDSK", "PDS4", "VICAR", "PDF", "MBTiles", "EEDA", "OGCAPI", "GDALG", "MapInfo File", "LVBAG", "S57", "DGN"),
    *("OGR_VRT", "CSV", "GML", "GPX", "LIBKML", "KML", "GeoJSON", "GeoJSONSeq", "ESRIJSON", "TopoJSON", "OGR_GMT"),
    *("SQLite", "WAsP", "OpenFileGDB", "DXF", "GeoRSS", "VFK", "PGDUMP", "OSM", "GPSBabel", "OGR_PDS", "WFS", "OAPIF"),
    *("EDIGEO", "Idrisi", "ODS", "XLSX", "Elasticsearch", "Carto", "AmigoCloud", "SXF", "Selafin", "JML", "PLSCENES"),
    *("CSW", "VDV", "MVT", "NGW", "MapML", "GTFS", "PMTiles", "JSONFG", "MiraMonVector", "ADBC", "AVCBin", "AVCE00"),
    *("AIVector", "HTTP"),
)
# What the process gets of the environment: where libraries, and the tables of GDAL and PROJ, lie.
_KEPT = ("SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "GDAL_DATA", "PROJ_DATA", "PROJ_LIB")
_SETTINGS = {
    "GDAL_DRIVER_PATH": "disable",  # no plug-ins
    "GDAL_PAM_ENABLED": "NO",  # no .aux.xml
    "PROJ_NETWORK": "OFF",
    "OPENBLAS_NUM_THREADS": "1",  # numpy is not asked to compute, and threads reserve memory
}
_MEMORY = 4 << 30  # bytes that the process may reserve, for libraries
_SECONDS = 120  # that reading may take, and one more for each
_BYTES_A_SECOND = 100_000  # a hundredth of what an old machine reads


class VectorLayer(msgspec.Struct):
    """One layer of a file."""

    file: str  # the file that GDAL opened
    name: str
    crs: str | None
    fields: list[str]
    ids: list[int]
    geometries: list[bytes | None]  # WKB
    columns: list[list[Any]]


class _GdalAnswer(msgspec.Struct):
    layers: list[VectorLayer] | None = None
    error: str | None = None
    drivers: list[str] | None = None  # drivers that are there and must not be


def read_layers(content: Content, files: Mapping[str, bytes], names: Sequence[str]) -> list[VectorLayer]:
    """Return the layers of a file. ``files`` are the files that GDAL sees, and ``names`` are those that it opens.

    One process opens all of them. An archive may hold thousands of maps.
    """
    if find_spec("pyogrio") is None:
        raise missing("pyogrio", "reading GeoPackage, Shapefile and FlatGeobuf", "geo")
    if not sys.executable:
        raise MapgaugeError(
            f"{content.path}: Python does not say where it is, so the process that reads it cannot start"
        )
    size = sum(map(len, files.values()))
    with contextlib.ExitStack() as stack:
        try:
            # Only its owner can open this folder.
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="mapgauge-", ignore_cleanup_errors=True))
            for file, data in files.items():
                (Path(folder) / file).write_bytes(data)
        except OSError as error:
            raise MapgaugeError(
                f"{content.path}: a copy for GDAL cannot be written to a temporary folder: {error.strerror or error}",
                remedy="Set the environment variable TMPDIR to a folder with space",
            ) from error
        answer = _ask(content, folder, names, size=size, skipped=_OTHERS)
        if answer.drivers is not None:
            answer = _ask(content, folder, names, size=size, skipped=(*_OTHERS, *answer.drivers))
    if answer.drivers is not None:
        raise content.error(
            f"not read, because GDAL has {len(answer.drivers)} drivers more than {', '.join(DRIVERS)}, and one of them "
            f"could read other files: {', '.join(answer.drivers)[:200]}",
            remedy="Install pyogrio from its wheel, or save the map as GeoJSON",
        )
    if answer.error is not None:
        raise content.error(f"cannot be read by GDAL: {answer.error[:300]}")
    return answer.layers or []


def _ask(content: Content, folder: str, names: Sequence[str], size: int, *, skipped: tuple[str, ...]) -> _GdalAnswer:
    """Start the process, and return its answer."""
    environment = {key: os.environ[key] for key in _KEPT if key in os.environ}
    environment |= _SETTINGS
    environment["OGR_SKIP"] = ",".join(skipped)
    memory = _MEMORY + 4 * most_bytes(size)
    folders = [str(_PACKAGES), *(path for path in sys.path if Path(path).is_absolute())]
    # -I: nothing of the current folder and of the environment counts.
    command = [sys.executable, "-I", str(_PROGRAM), str(memory), *folders]
    try:
        ended = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            input="\n".join(names).encode(),
            capture_output=True,
            timeout=_SECONDS + size / _BYTES_A_SECOND,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise content.error(f"cannot be read by GDAL: no answer within {error.timeout:.0f} s") from None
    except OSError as error:
        raise MapgaugeError(f"{content.path}: the process that reads it cannot be started: {error}") from error
    if ended.returncode < 0:
        what = signal.strsignal(-ended.returncode) or f"signal {-ended.returncode}"
        raise content.error(f"cannot be read by GDAL: its process was ended ({what}); the file may be damaged")
    try:
        return msgspec.msgpack.decode(ended.stdout, type=_GdalAnswer)
    except msgspec.MsgspecError as error:
        last = ended.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise content.error(f"cannot be read by GDAL: {last[:300] or 'no answer'}") from error
