"""``mapgauge compile``: compiles the kernels before they are needed."""

import time
from dataclasses import dataclass
from typing import Annotated

import typer

from mapgauge.cli import options as o
from mapgauge.cli.command import command
from mapgauge.cli.output import inform, say
from mapgauge.cli.parsing import Texts, listed, refuse
from mapgauge.kernels.progress import WATCH


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
