"""``mapgauge compile``: compiles the kernels before they are needed. Also the line that is shown meanwhile."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from mapgauge.cli import options as o
from mapgauge.cli.command import command
from mapgauge.cli.output import can_rewrite, inform, rewrite, say, settle, warn
from mapgauge.cli.parsing import Texts, listed, refuse
from mapgauge.kernels.progress import WATCH

_SMALL = 100_000  # bytes: a few frames


@dataclass(frozen=True, kw_only=True)
class CompileOptions:
    """The options of ``mapgauge compile``."""

    metrics: Annotated[Texts, o.metrics_option("those of usual work")] = None
    quiet: o.QuietOption = False


@command
def compile(options: CompileOptions) -> None:
    """Compile the kernels for this processor and store them.

    Kernels are compiled on first use and stored in a folder. This command fills the folder before the first use, for an
    image or the cache of a CI service.
    """
    from mapgauge.kernels import _folder, compiling
    from mapgauge.metrics.settings import no_such
    from mapgauge.metrics.table import METRICS

    known = list(compiling.table())
    wanted = listed(options.metrics)
    unknown = [name for name in wanted if name not in METRICS]
    if unknown:
        refuse("--metrics", str(no_such("unknown metric", unknown[0], list(METRICS))))
    if wanted:
        works = ["read", *wanted]
    else:
        works = known
    try:
        folder = _folder.folder()
    except _folder.Unusable as error:
        refuse(_folder.VARIABLE, f"compiled kernels cannot be stored: {error}. Set it to a folder of your own")
    begun = time.monotonic()
    count = compiling.compile_missing(works)
    size = sum(file.stat().st_size for file in folder.rglob("*.nb[ci]"))
    say(f"{count} kernels compiled in {time.monotonic() - begun:.0f} s, {size / 1e6:.1f} MB in {folder}")
    if WATCH.unstored:
        raise typer.Exit(1)
    later = [name for name in wanted if name not in known]
    if later:
        inform(f"compiled on first use: {', '.join(later)}")


def compile_for(works: Iterable[str], files: Sequence[Path] = ()) -> None:
    """Begin to compile what a command needs in other processes, if it is missing.

    For small files, most kernels need not be compiled (``kernels/interpreting.py``).
    """
    from mapgauge.kernels.compiling import compile_ahead

    if not files or not all(file.is_file() for file in files) or sum(file.stat().st_size for file in files) > _SMALL:
        compile_ahead(works)


def is_compiling() -> bool:
    """Whether other processes still compile kernels."""
    from mapgauge.kernels import _jit

    return bool(_jit.PENDING)


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
