"""Kernels that a command needs: compiles them ahead, and shows a line meanwhile."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from mapgauge.cli.output import can_rewrite, rewrite, settle, warn
from mapgauge.kernels.progress import WATCH

_SMALL = 100_000  # bytes: a few frames


def compile_for(works: Iterable[str], files: Sequence[Path] = ()) -> None:
    """Begin to compile what a command needs in other processes, if it is missing.

    For small files, most kernels need not be compiled (``kernels/interpreting.py``).
    """
    from mapgauge.kernels.compiling import compile_ahead

    if not files or not all(file.is_file() for file in files) or sum(file.stat().st_size for file in files) > _SMALL:
        compile_ahead(works)


def show_compiling() -> None:
    """Show a line on stderr while kernels are compiled, if stderr is a terminal and without --quiet.

    If they cannot be stored, a line says so in any case.
    """
    WATCH.show = _show
    WATCH.clear = settle
    WATCH.tell = warn


def _show(done: int, of: int | None, seconds: float) -> None:
    if can_rewrite():
        if of is None:
            count = f"{done}"
        else:
            count = f"{done} of {of}"
        rewrite(f"compiling kernels (first run on this machine): {count}, {seconds:.0f} s")
