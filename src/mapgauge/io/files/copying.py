"""Copies a file whose owner is not trusted: only a plain file, and not more of it than was allowed."""

import hashlib
import os
import stat
from pathlib import Path

from mapgauge.io.files.source import Content

_PART = 1 << 20  # bytes that are copied at once


def copy_plain(path: str | os.PathLike[str], target: Path, most: int) -> str:
    """Copy a plain file of at most ``most`` bytes to a new file. Returns the SHA-256 of the copy.

    The file is opened once. It may be replaced or grow meanwhile: then it is refused, or what was opened is copied.
    """
    content = Content(path, most)
    digest = hashlib.sha256()
    written = 0
    # A pipe that takes the place of the file must not be waited for.
    flags = os.O_RDONLY
    for name in ("O_BINARY", "O_NONBLOCK", "O_NOFOLLOW"):
        flags |= getattr(os, name, 0)
    # A link of a stranger could lead to the truth, or to the file of somebody else.
    if content.path.is_symlink():
        raise content.error("this is a link, expected a plain file")
    try:
        with open(content.path, "rb", buffering=0, opener=lambda name, _: os.open(name, flags)) as given:
            if not stat.S_ISREG(os.fstat(given.fileno()).st_mode):
                raise content.error("this is no plain file")
            with target.open("xb") as copy:
                while part := given.read(_PART):
                    written += len(part)
                    if written > most:
                        raise content.error(f"the file has more than {most} bytes")
                    digest.update(part)
                    copy.write(part)
    except OSError as error:
        raise content.error(f"cannot be copied: {error.strerror or error}") from error
    return digest.hexdigest()
