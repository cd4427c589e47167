"""Local paths, and URLs that fsspec supports (``s3://``, ``gs://``, ``hdfs://`` ...)."""

import os
import re
from pathlib import Path
from typing import Any

from mapgauge.dependencies import fsspec_module, pyarrow_modules
from mapgauge.errors import MapgaugeError, UnreadableFile
from mapgauge.io.files.source import OUTPUTS, Content, check_path, is_folder, is_plain_file
from mapgauge.io.files.writing import save

UNFINISHED = ".unfinished"  # folder in a data set; hidden, so that files in it are not read
FINISHING = f"{UNFINISHED}/finishing"  # file that exists while files become visible

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")  # at least two letters: C:/ is a drive


def is_url(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a URL.

    >>> is_url("s3://bucket/truth"), is_url("C:/truth"), is_url(Path("truth"))
    (True, False, False)
    """
    return isinstance(path, str) and _URL.match(path) is not None


def is_dataset(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a folder with Parquet files, or a URL."""
    check_path(path)
    if is_url(path):
        return True
    return is_folder(path) and next(Path(path).rglob("*.parquet"), None) is not None


def is_geoparquet_map(source: bytes | str | os.PathLike[str]) -> bool:
    """Whether a Parquet file, or its bytes, is a map: GeoParquet without a column of tokens."""
    pa, pq = pyarrow_modules()
    try:
        schema = pq.read_schema(pa.BufferReader(source) if isinstance(source, bytes) else source)
    except (pa.ArrowException, OSError, ValueError):
        return False  # reading the file gives a better error
    return "token" not in schema.names and b"geo" in (schema.metadata or {})


def streams(path: str | os.PathLike[str]) -> bool:
    """Whether a path can be read row group by row group: a data set, or one Parquet file of frames.

    Pass ``opened(path)`` if ``read`` follows: the file is then opened only once.
    """
    if isinstance(path, Content):
        return path.is_parquet and not is_geoparquet_map(path.path)
    if is_dataset(path):
        return True
    if not is_plain_file(path):  # opening a pipe would wait for its writer
        return False
    try:
        with Path(path).open("rb") as file:
            return file.read(4) == b"PAR1" and not is_geoparquet_map(path)
    except OSError:
        return False  # reading the file gives a better error


def opened(path: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """Return the ``Content`` of a single local file, and a data set or a URL unchanged.

    ``streams`` and ``read`` accept the result. Together they open the file once.
    """
    if isinstance(path, Content) or is_dataset(path):
        return path
    return Content(path)


def is_folder_target(path: str | os.PathLike[str]) -> bool:
    """Whether a path to write to means a data set: it ends with a slash or is an existing folder."""
    text = os.fspath(path)
    return text.endswith(("/", os.sep)) or (not is_url(text) and is_folder(text))


def is_unfinished(folder: Path) -> bool:
    """Whether the files of a data set are just becoming visible, or were when the command was killed."""
    return (folder / FINISHING).exists()


def parquet_files(path: str | os.PathLike[str]) -> list[str]:
    """Return the Parquet file at a path, or all Parquet files in the folder at that path, sorted."""
    if not is_url(path) and not is_folder(path) and not is_plain_file(path):
        raise UnreadableFile(f"{path}: no such file or folder")
    try:
        if is_url(path):
            fs, root = fsspec_module().core.url_to_fs(path)
            if fs.isfile(root):
                names = [root]
            else:
                names = _visible(fs.find(root), root)
            files = [fs.unstrip_protocol(name) for name in names]
        else:
            folder = Path(path).absolute()  # a worker may run in another folder
            files = [str(folder)]
            if folder.is_dir():
                files = _visible([file.as_posix() for file in folder.rglob("*.parquet")], folder.as_posix())
    except (OSError, ValueError, ImportError) as error:  # fsspec imports the package for a protocol
        raise UnreadableFile(f"{path}: cannot be listed: {error}") from error
    if not is_url(path) and is_unfinished(Path(path)):
        raise UnreadableFile(
            f"{path}: this data set is not complete: the command that writes it has not finished, or was killed",
            remedy="If no command writes it, empty the folder and convert the files again",
        )
    if not files:
        raise UnreadableFile(
            f"{path}: no Parquet files in this folder",
            remedy=f"Write some with: mapgauge convert IN {path}/",
        )
    return files


def _visible(files: list[str], root: str) -> list[str]:
    """Leave out names that begin with a dot or an underscore; tools that write data sets hide files this way."""
    inside = [(file.removeprefix(root).strip("/"), file) for file in files if file.endswith(".parquet")]
    return [file for name, file in sorted(inside) if not any(part[0] in "._" for part in name.split("/"))]


def open_file(path: str) -> Any:
    """Open a file as a stream for pyarrow, which reads parts of it."""
    pa, _ = pyarrow_modules()
    if not is_url(path) and not is_plain_file(path):  # opening a pipe would wait for its writer
        raise UnreadableFile(f"{path}: cannot be opened: not a file, or not there any more")
    if not is_url(path):
        OUTPUTS.check_input(path)
    try:
        if is_url(path):
            return fsspec_module().open(path, "rb").open()
        return pa.OSFile(path)
    except OSError as error:
        raise UnreadableFile(f"{path}: cannot be opened: {error}") from error


def put_file(path: str, data: bytes) -> None:
    """Write a file behind a URL."""
    try:
        fs, name = fsspec_module().core.url_to_fs(path)
        if "file" in (fs.protocol if isinstance(fs.protocol, tuple) else (fs.protocol,)):
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            save(Path(name), data)
            return
        with fsspec_module().open(path, "wb", auto_mkdir=True) as stream:
            stream.write(data)
    except (OSError, ValueError, ImportError) as error:
        raise MapgaugeError(f"{path}: cannot be written: {error}") from error
