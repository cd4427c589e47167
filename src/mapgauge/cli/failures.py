"""Reports errors in one line on stderr, and goes on where one of several outputs cannot be written."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from mapgauge.errors import MapgaugeError

FAILED = 1  # invalid input, or a file or a stream that cannot be read or written

# Errors without a file name come from a stream. Files are written by ``mapgauge.files``, which names them.
_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


class Attempts:
    """Writes the outputs of a command. One that cannot be written is reported, and does not stop the others."""

    failed = False

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Report errors of what is done inside, and go on. What is printed inside is passed on."""
        try:
            yield
            sys.stdout.flush()
        except (MapgaugeError, MemoryError, OSError) as error:
            fail_with(error)
            self.failed = True

    def end(self) -> None:
        """End the command with exit code 1 if something could not be written."""
        if self.failed:
            raise SystemExit(FAILED)


def fail(text: str) -> None:
    """Print one line on stderr, after everything on stdout."""
    from mapgauge.cli.output import printable

    try:
        sys.stdout.flush()
    except OSError:
        _drop_output()
    with suppress(OSError):  # if stderr is full or its reader has ended, the exit code is all that can be said
        print(f"mapgauge: {printable(text)}", file=sys.stderr, flush=True)  # noqa: T201


def fail_with(error: MapgaugeError | MemoryError | OSError) -> None:
    """Print what an error means."""
    if isinstance(error, MapgaugeError):
        fail(error.for_shell())
    elif isinstance(error, MemoryError):
        fail("out of memory. Use fewer workers, or convert the files to Parquet, which is read in chunks")
    elif isinstance(error, BrokenPipeError):
        _drop_output()  # the reader of a pipe, such as `head`, has ended: there is nothing to say
    elif error.filename is None and error.errno in _WRITING:
        _drop_output()
        fail(f"stdout: cannot be written: {error.strerror}")
    elif isinstance(error.filename, str | bytes):
        fail(f"{os.fsdecode(error.filename)}: {error.strerror}")
    else:
        fail(f"{error.strerror or error}")


def _drop_output() -> None:
    """Discard what is left for stdout. Otherwise Python fails again when it flushes stdout at exit."""
    try:
        number = sys.stdout.fileno()
    except (OSError, ValueError):  # a stream in memory
        return
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, number)
    os.close(null)
