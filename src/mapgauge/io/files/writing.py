"""Writes files completely or not at all, and pickles that all versions of numpy load."""

import contextlib
import gzip
import io
import os
import pickle
import secrets
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mapgauge.dependencies import zstd_module
from mapgauge.errors import MapgaugeError
from mapgauge.io.files.source import OUTPUTS, kind_of

_PROTOCOL = 4  # the last one that Python 3.7 reads
# Looks up the function that creates arrays by its old name, stores it as the first value in the memo of the unpickler,
# and takes it from the stack.
_OLD_NAME = (
    pickle.PROTO
    + bytes([_PROTOCOL])
    + pickle.GLOBAL
    + b"numpy.core.multiarray\n_reconstruct\n"
    + pickle.MEMOIZE
    + pickle.POP
)


def save(path: Path, data: bytes) -> None:
    """Write a file completely or not at all; the suffixes ``.gz`` and ``.zst`` compress it.

    A symbolic link stays, and its target is written. A device, a pipe and a socket are refused. Several processes and
    threads may write to the same path: readers see the old content or the content of one of the writers.
    """
    OUTPUTS.check_output(path)
    if path.suffix == ".gz":
        data = gzip.compress(data, compresslevel=6, mtime=0)  # no time stamp: equal data give equal files
    elif path.suffix == ".zst":
        zstd = zstd_module()
        data = zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1})
    with replacing(path) as (part, mode):
        _write(part, data, mode)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[tuple[Path, int | None]]:
    """Yield a new name to write to, and the permissions of the file at ``path``, if there is one.

    The new file takes the place of ``path`` if nothing was raised, as in ``save``.
    """
    OUTPUTS.check_output(path)
    try:
        target = Path(os.path.realpath(path))
        mode = _mode_of(target, path)
        # Not the full name, which may be as long as the file system allows.
        part = target.with_name(f".{target.name[:40]}.{secrets.token_hex(8)}.part")
        try:
            yield part, mode
            with part.open("ab") as file:
                os.fsync(file.fileno())
            part.replace(target)
        finally:  # also after Ctrl-C
            part.unlink(missing_ok=True)
        _sync_folder(target.parent)
        OUTPUTS.written.append(path)
    except MapgaugeError:
        raise
    except (OSError, ValueError) as error:  # a name with a zero byte is a ValueError
        raise MapgaugeError(f"{path}: cannot be written: {getattr(error, 'strerror', None) or error}") from error


def is_read_only(folder: Path) -> bool:
    """Whether a folder lies on a disk that was mounted for reading only. False where the system does not say it."""
    try:
        return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)
    except (AttributeError, OSError):  # Windows, or no such folder
        return False


def _mode_of(target: Path, path: Path) -> int | None:
    """Return the permissions of a file that exists, or None; refuse anything that must not be replaced."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return None
    kind = kind_of(mode)
    if kind is not None:
        raise MapgaugeError(f"{path}: cannot be written: this is {kind}, expected a file or a new name")
    if not os.access(target, os.W_OK):  # replacing the file would work, but its permissions say not to change it
        if is_read_only(target.parent):
            reason = "the disk is read-only"
        else:
            reason = "the file is write-protected"
        raise MapgaugeError(f"{path}: cannot be written: {reason}")
    return stat.S_IMODE(mode)


def _write(part: Path, data: bytes, mode: int | None) -> None:
    """Write a new file, with the permissions of the file that it replaces, or of any new file."""
    with part.open("xb") as file:
        if mode is not None:
            part.chmod(mode)
        file.write(data)


def _sync_folder(folder: Path) -> None:
    """Write the new name to the disk, where the system allows it: Windows and some network drives do not."""
    with contextlib.suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def remove_folder(path: Path) -> None:
    """Delete a temporary folder of ours. Ctrl-C during the deletion does not leave a part of it.

    This may run when an object is finalised. Python cannot pass on an exception from there: it prints a traceback.
    """
    for _ in range(3):
        with contextlib.suppress(KeyboardInterrupt):
            shutil.rmtree(path, ignore_errors=True)
            return


def portable_pickle(document: Any) -> bytes:
    """Return a pickle of plain values and arrays that numpy 1 and numpy 2 load.

    numpy 2 names ``numpy._core.multiarray`` in the pickle of an array. numpy before 1.26, which public evaluators
    require, does not have that module. Both have ``numpy.core.multiarray``.
    """
    create = np.empty(0).__reduce__()[0]
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, _PROTOCOL)
    pickler.memo = {id(create): (0, create)}  # as if it had been written already
    pickler.dump(document)
    header = pickle.PROTO + bytes([_PROTOCOL])
    return _OLD_NAME + buffer.getvalue().removeprefix(header)
