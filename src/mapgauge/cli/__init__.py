"""The command line: ``mapgauge``, or ``python -m mapgauge``.

Commands parse options, call the package, and print; nothing is computed here. Slow imports are inside the commands, so
that ``--help`` and completion stay fast.
"""

import atexit
import errno
import gc
import io
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TextIO

from mapgauge.dependencies import lacks_memory
from mapgauge.errors import MapgaugeError
from mapgauge.kernels.progress import WATCH

COMPLETION = "_MAPGAUGE_COMPLETE"  # what a shell sets when it asks how a line may go on
FAILED = 1  # invalid input, or a file or a stream that cannot be read or written
INTERRUPTED = 130  # by Ctrl-C
UNEXPECTED = 70  # a fault of mapgauge itself; EX_SOFTWARE in sysexits.h

# Python looks for garbage after this many new objects. Most objects of a command live until its end, so it finds none.
_COLLECTED = (200_000, 30, 30)
_SWITCH_INTERVAL = 1e-4  # seconds
_CLEANING = 1.0  # seconds in which further interrupts have no effect
_SOON = 0.01  # seconds until an interrupt that came at a bad moment is repeated
# Errors without a file name come from a stream. Files are written by ``mapgauge.io.files``, which names them.
_NO_THREAD = ("can't start new thread", "can't start new thread at interpreter shutdown")
_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


def main() -> None:
    """Run the command line and exit.

    Exit codes: 0 for success, 1 for invalid input or for findings of ``--fail-on``, 2 for a usage error, 3 for a failed
    gate, 70 for an unexpected error, which is a bug, 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP.
    """
    _open_streams()
    gc.set_threshold(*_COLLECTED)
    # Before it ends, Python looks for garbage among all objects several times, which takes a third of a second.
    atexit.register(gc.freeze)
    sys.setswitchinterval(_SWITCH_INTERVAL)  # files are read while modules are imported and checks run
    code: int | str | None = INTERRUPTED
    with _signals() as received, suppress(KeyboardInterrupt):  # also between the commands of ``_run``
        code = _run(received)
    sys.exit(128 + received[0] if received else code)


def _run(received: list[int]) -> int | str | None:
    """Run the command line and return the exit code. ``received`` gets signals. Errors are reported on stderr."""
    code: int | str | None = FAILED
    missing: dict[str, None] = {}
    WATCH.interrupted = False
    _stop_threads(stop=False)
    try:
        try:
            from mapgauge.cli.app import application, commands_of, daily
            from mapgauge.cli.helps import VERSION

            _show_warnings(missing)
            arguments = _without_plugins(sys.argv[1:])
            # The modules of all commands, and plug-ins, are imported for other names, help and hints only.
            named: Sequence[str] | None = None
            if arguments[:1] == [VERSION]:
                named = ()
            elif not arguments and COMPLETION not in os.environ:
                named = daily()
            elif arguments and arguments[0] in commands_of(plug_ins=False):
                named = arguments[:1]
            application(named)(arguments, prog_name="mapgauge")
        except SystemExit as ended:
            code = ended.code
        if missing:
            fail(f"warning: no font of this machine has {''.join(missing)}. They are boxes in the figure", "warning")
        sys.stdout.flush()
    except (MapgaugeError, MemoryError, BrokenPipeError) as error:
        fail_with(error)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Exception as error:
        if received:  # an interrupt inside compiled code comes out as a SystemError
            code = INTERRUPTED
            _tell_interrupted()
        elif lacks_memory(error):  # a library that could not be loaded, for instance
            fail_with(MemoryError())
            code = FAILED
        elif isinstance(error, RuntimeError) and str(error) in _NO_THREAD:
            fail(f"{error}: out of memory, or too many processes of this user. Use fewer workers")
            code = FAILED
        elif isinstance(error, OSError) and error.errno is not None:
            fail_with(error)  # a full disk, a name that is too long, a missing permission
            code = FAILED
        elif isinstance(error, ImportError) and error.name == "numba":
            fail(f"{error}")  # a setting of the environment, or a package that does not fit the others
            code = FAILED
        else:
            code = _unexpected(error)
    finally:
        if (files := sys.modules.get("mapgauge.io.files.source")) is not None:  # not after help and usage errors
            files.OUTPUTS.declare()  # none, for a further command in this process
        WATCH.interrupted = True  # nobody needs the kernels that threads still wait for
    return code


def _tell_interrupted() -> None:
    """Say how far the command was, if it had begun."""
    output = sys.modules.get("mapgauge.cli.output")
    if output is not None and output.is_at_work():
        with suppress(OSError):
            output.warn(output.interrupted())


def _stop_threads(*, stop: bool) -> None:
    """Let threads begin no further block of frames and show no more kernels, or begin blocks again."""
    if stop:
        WATCH.show = None
    scoring = sys.modules.get("mapgauge.scoring.data")
    if scoring is None:
        return
    if stop:
        scoring.STOPPED.set()
    else:
        scoring.STOPPED.clear()


# What matplotlib says of a letter that no font has.
_NO_GLYPH = re.compile(r"Glyph (\d+) \(.*\) missing from font")


def _show_warnings(missing: dict[str, None]) -> None:
    """Print warnings about plug-ins as one line, and add the letters that no font has to ``missing``."""
    import warnings

    from mapgauge.manifest import PluginWarning

    usual = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        glyph = _NO_GLYPH.match(str(message))
        if issubclass(category, PluginWarning):
            fail(f"warning: {message}", "warning")
        elif glyph is not None:
            missing[chr(int(glyph[1]))] = None
        else:
            usual(message, category, filename, lineno, file, line)

    warnings.showwarning = show
    # Also where PYTHONWARNINGS makes warnings errors: a letter without a font is no reason to draw no figure.
    warnings.filterwarnings("always", message=_NO_GLYPH.pattern, category=UserWarning)


def _without_plugins(arguments: list[str]) -> list[str]:
    """Import the modules that ``--plugin`` names, and return the other arguments."""
    modules = []
    others = []
    rest = iter(arguments)
    for argument in rest:
        name, equals, module = argument.partition("=")
        if name == "--plugin" and not equals:
            module = next(rest, "")
        if name == "--plugin" and module:
            modules.append(module)
        else:
            others.append(argument)
    if modules:
        import mapgauge.io  # its table is asked, too
        import mapgauge.protocols  # noqa: F401
        from mapgauge.manifest import use

        use(modules)
    return others


def _end_workers() -> None:
    """End worker processes after an interrupt. One that is still starting would not find what this process made."""
    processes = sys.modules.get("multiprocessing.process")
    if processes is None:
        return
    for worker in processes.active_children():
        worker.kill()


@contextmanager
def _signals() -> Iterator[list[int]]:
    """Let SIGTERM and SIGHUP interrupt the command like Ctrl-C, so that temporary files are deleted.

    A second SIGTERM or SIGHUP ends the process at once. A second Ctrl-C has no effect for a second, in which temporary
    files are deleted. Once the command has ended, it ends the process at once. Signals that the caller ignores, as
    ``nohup`` does, stay ignored. The list has the signals that were received. An interrupt can leave a half-made
    object, whose ``__del__`` then fails: Python's report of this is not shown.
    """
    received: list[int] = []
    times: list[float] = []  # of the signals that were received

    def again(number: int) -> None:
        if signal.getsignal(number) is interrupt:  # otherwise the command has ended
            signal.pthread_kill(threading.main_thread().ident or 0, number)

    def interrupt(number: int, frame: FrameType | None) -> None:
        if _is_at_a_bad_moment(frame) and hasattr(signal, "pthread_kill"):
            threading.Timer(_SOON, again, [number]).start()
            return
        if number != signal.SIGINT:
            signal.signal(number, signal.SIG_DFL)
        elif times and time.monotonic() - times[-1] < _CLEANING:
            return
        times.append(time.monotonic())
        received.append(number)
        _stop_threads(stop=True)
        raise KeyboardInterrupt

    def report(unraisable: "sys.UnraisableHookArgs") -> None:
        if not received:
            sys.__unraisablehook__(unraisable)

    def report_of_thread(given: "threading.ExceptHookArgs") -> None:
        # A thread that computes ends by this exception too, maybe after the command.
        if not (received and given.exc_type is KeyboardInterrupt):
            threading.__excepthook__(given)

    usual = {signal.SIGINT: signal.default_int_handler}
    usual |= {getattr(signal, name): signal.SIG_DFL for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)}
    if threading.current_thread() is not threading.main_thread():
        usual = {}  # only the main thread can set handlers
    handlers = {number: handler for number, handler in usual.items() if signal.getsignal(number) is handler}
    for number in handlers:
        signal.signal(number, interrupt)
    previous = sys.unraisablehook
    sys.unraisablehook = report
    previous_of_threads = threading.excepthook
    threading.excepthook = report_of_thread
    try:
        yield received
    finally:
        if received:
            _end_workers()
        for number, handler in handlers.items():
            if number in received:
                # A further Ctrl-C would meet Python while it waits for threads and processes, and print a traceback.
                signal.signal(number, signal.SIG_DFL)
            else:
                signal.signal(number, handler)
        sys.unraisablehook = previous
        if not received:
            threading.excepthook = previous_of_threads


# Functions that must not end early: numba makes Python objects of what a kernel returns, and would crash; it asks for
# the code of a kernel that it loads in a callback, which loses the exception, and would crash without the code; a
# worker process that is half started prints a traceback of its own.
_UNINTERRUPTED = ("_numba_unpickle", "load_overload", "_launch")


def _is_at_a_bad_moment(frame: FrameType | None) -> bool:
    """Whether an exception at this place would crash this process, or a worker that is being started."""
    while frame is not None and frame.f_code.co_name not in _UNINTERRUPTED:
        frame = frame.f_back
    return frame is not None


def _open_streams() -> None:
    """Replace streams that are closed, and let all streams replace characters that they cannot show."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the shell, as in `mapgauge list formats >&-`
            # With closefd=False, as in the streams of Python, the end of the process is no warning of an open file.
            null = os.open(os.devnull, os.O_WRONLY)
            setattr(sys, name, open(null, "w", encoding="utf-8", closefd=False))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal may not be able to show an arrow
            if sys.platform == "win32" and not stream.isatty() and "PYTHONIOENCODING" not in os.environ:
                stream.reconfigure(encoding="utf-8")  # files and pipes have the same bytes as on other systems


def _unexpected(error: Exception) -> int:
    """Write the traceback of a bug to a file, and say what a report needs."""
    import platform
    import tempfile
    import traceback

    from mapgauge.version import __version__

    lines = [f"mapgauge {__version__}, Python {platform.python_version()}, {platform.platform()}", f"{sys.argv}", ""]
    kept = "the command and its input"
    with suppress(OSError):
        number, path = tempfile.mkstemp(prefix="mapgauge-error-", suffix=".txt")
        with os.fdopen(number, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write("\n".join([*lines, *traceback.format_exception(error)]))
        kept = path
    what = f"{type(error).__name__}: {error}"
    fail(f"unexpected error: {what}. This is a bug in mapgauge. To report it, keep {kept}")
    return UNEXPECTED


class Attempts:
    """Writes the outputs of a command. An output that cannot be written is reported, and does not stop the others."""

    failed: bool = False

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


def fail(text: str, style: str = "error") -> None:
    """Print one line on stderr, after everything on stdout. The style is that of its beginning in a terminal."""
    from mapgauge.cli.output import paint, printable

    try:
        sys.stdout.flush()
    except OSError:
        _drop_output()
    with suppress(OSError):  # if stderr is full or its reader has ended, the exit code is all that can be said
        print(f"{paint('mapgauge:', style, sys.stderr)} {printable(text)}", file=sys.stderr, flush=True)  # noqa: T201


def fail_with(error: MapgaugeError | MemoryError | OSError) -> None:
    """Print what an error means."""
    if isinstance(error, MapgaugeError):
        fail(error.for_shell())
    elif isinstance(error, MemoryError):
        fail("out of memory. Use fewer workers, or convert the files to Parquet, which is read in chunks")
    elif isinstance(error, BrokenPipeError) or _is_broken_pipe_of_windows(error):
        _drop_output()  # the reader of a pipe, such as `head`, has ended: there is nothing to say
    elif error.filename is None and error.errno in _WRITING:
        _drop_output()
        fail(f"stdout: cannot be written: {error.strerror}")
    elif isinstance(error, FileNotFoundError) and error.filename is None and _folder_is_gone():
        fail("the current folder does not exist any more. Change to another one, and run the command again")
    elif isinstance(error.filename, str | bytes):
        fail(f"{os.fsdecode(error.filename)}: {error.strerror}")
    else:
        fail(f"{error.strerror or error}")


def _is_broken_pipe_of_windows(error: OSError) -> bool:
    """Whether Windows says that the reader of a pipe has ended: as an invalid argument of no file."""
    return sys.platform == "win32" and error.errno == errno.EINVAL and error.filename is None


def _folder_is_gone() -> bool:
    """Whether the current folder was deleted."""
    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False


def _drop_output() -> None:
    """Discard what is left for stdout. Otherwise Python fails again when it flushes stdout at exit."""
    try:
        number = sys.stdout.fileno()
    except (OSError, ValueError):  # a stream in memory
        return
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, number)
    os.close(null)


__all__ = ["Attempts", "main"]
