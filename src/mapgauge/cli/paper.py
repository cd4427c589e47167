"""``mapgauge paper``: writes tables, figures and a line of provenance for a paper into a folder."""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mapgauge.cli import Attempts
from mapgauge.cli import options as o
from mapgauge.cli.command import command
from mapgauge.cli.comparison import intervals_in_words, latex_of, rows_of
from mapgauge.cli.latex import methods_table
from mapgauge.cli.methods import Methods, named_by
from mapgauge.cli.output import inform, say_columns, warn, write_csv
from mapgauge.cli.summary import latex_columns
from mapgauge.cli.summary import rows_of as values_of
from mapgauge.cli.targets import check_figure, check_targets, own_folder
from mapgauge.version import __version__
from mapgauge.words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from mapgauge.results.comparison import Comparison
    from mapgauge.results.results import Results

# For each file, what it holds.
ABOUT = {
    "table.tex": "means over classes",
    "classes.tex": "a column per class",
    "intervals.tex": "means with their intervals",
    "table.csv": "all values, intervals and differences, with all digits",
    "parts.pdf": "the parts of PLD",
    "pr.pdf": "precision over recall",
    "ranges.pdf": "PLD over the distance from the ego",
    "cutoffs.pdf": "PLD over the cutoff",
    "provenance.txt": "how the numbers were made",
}
FILES = tuple(ABOUT)
_DIGEST = "Print the digest of the truth with your values: who has the same truth can then check them."
MARK = ".mapgauge-paper"  # lists the files of this command in its folder


@dataclass(frozen=True, kw_only=True)
class PaperOptions:
    """The options of ``mapgauge paper``."""

    files: o.MethodsArgument
    output: Annotated[Path, o.output_option("FOLDER", "A folder that is new, empty, or was written by this command.")]
    protocol: o.ProtocolOption = None
    samples: o.SamplesOption = 1000
    level: o.LevelOption = 0.95
    quiet: o.QuietOption = False


@command
def paper(options: PaperOptions) -> None:
    """Write tables and figures for a paper.

    Writes LaTeX and CSV tables, figures as PDF, and a line that says how the numbers were made. The figures over ranges
    and cutoffs need results of `evaluate --ranges` and of several values of `--cutoff`.
    """
    output = options.output
    check_figure(output / "parts.pdf")
    sides = Methods.of("paper", options.files, protocol=options.protocol)
    names = sides.names
    methods = sides.load(data=False)
    check_targets([output / file for file in FILES], [*sides.files, *named_by(methods)], new_folder=output)
    own_folder(output, MARK, FILES, writer="mapgauge paper")

    from mapgauge import compare
    from mapgauge import plot as figures
    from mapgauge.io.files.writing import save

    comparison = compare(methods, names=names, samples=options.samples, level=options.level)
    drawn = _figures(methods, names)
    line = provenance(methods, names, comparison)
    texts = _tables(methods, names, comparison, line=line)
    outputs = Attempts()
    for file in FILES:
        with outputs.attempt():
            if file in drawn:
                figures.save(drawn[file], output / file)
            elif file in texts:
                save(output / file, texts[file].encode())
            else:
                (output / file).unlink(missing_ok=True)  # of an earlier run with other results
    for note in comparison.notes:
        warn(note)
    outputs.end()
    if not options.quiet:
        say_columns([[file, text] for file, text in ABOUT.items() if file in texts or file in drawn])
    inform(f"written to {output}")


def _figures(methods: "list[Results]", names: "Sequence[str]") -> "dict[str, Figure]":
    """Return the figures that the results have values for, by file."""
    from mapgauge import plot
    from mapgauge.metrics.pld import PLD
    from mapgauge.metrics.table import METRICS, hit_metrics

    first = methods[0]
    shared = [
        key for key in first.metrics if all(method.mean.get(METRICS[key].main.key) is not None for method in methods)
    ]
    has_pld = PLD.name in shared
    hits = [metric.name for metric, _ in hit_metrics(shared)]
    figures: dict[str, Figure] = {}
    if has_pld and first.protocol.order == 1:
        figures["parts.pdf"] = plot.parts(methods, names=names)
    if hits:
        figures["pr.pdf"] = plot.precision_recall(methods, names=names, metric=hits[0])
    if has_pld and all(len(method.ranges) > 1 for method in methods):
        figures["ranges.pdf"] = plot.ranges(methods, names=names)
    if has_pld and len(first.protocol.cutoffs) > 1:
        figures["cutoffs.pdf"] = plot.cutoffs(methods, names=names)
    return figures


def _tables(methods: "list[Results]", names: "Sequence[str]", comparison: "Comparison", line: str) -> dict[str, str]:
    """Return the tables and the provenance, by file. Tables in LaTeX begin with the provenance."""
    first = methods[0]
    values = [dict(values_of(method)) for method in methods]
    means = latex_columns(first, by_class=False)
    of_classes = latex_columns(first, by_class=True)
    rows = io.StringIO()
    write_csv(rows_of(comparison), rows)
    return {
        "table.tex": methods_table(names, values, means, captions=[line], protocol=first.protocol),
        "classes.tex": methods_table(names, values, of_classes, captions=[line], protocol=first.protocol),
        "intervals.tex": latex_of(comparison, ["mean"], [line]),
        "table.csv": rows.getvalue(),
        "provenance.txt": f"{line}\n{_DIGEST}\n",
    }


def provenance(methods: "Sequence[Results]", names: "Sequence[str]", comparison: "Comparison") -> str:
    """Return one line that says how the numbers were made: versions, settings, digests of the inputs, and the draws."""
    from mapgauge.protocols import NO_SETTINGS, full_name

    protocol = methods[0].protocol
    settings = {key: value for key, value in protocol.flat().items() if key not in NO_SETTINGS}
    stated = [
        f"{key}={_text(value)}" for key, value in settings.items() if value not in (None, ()) and value is not False
    ]
    truths = dict.fromkeys(_input(method, side=1) for method in methods)
    parts = [
        f"mapgauge {', '.join(dict.fromkeys([*(method.version for method in methods), __version__]))}",
        f"protocol {full_name(protocol)}: {', '.join(stated)}",
        f"metrics {', '.join(methods[0].metrics)}",
        *([f"ranges {_text(ranges)}"] if (ranges := methods[0].ranges) else []),
        f"truth {' and '.join(truths)}",
        *(f"{name}: {_input(method, side=0)}" for name, method in zip(names, methods, strict=True)),
        f"{intervals_in_words(comparison)}, seed 0",
        *(note for note in comparison.notes if note.startswith("error")),
    ]
    return "; ".join(parts)


def _text(value: object) -> str:
    if isinstance(value, tuple | list):
        return "/".join(map(str, value))
    return str(value)


def _input(method: "Results", side: int) -> str:
    """Return the file name and the digest of the content of one side."""
    read = method.inputs[side]
    return f"{Path(read.name).name or 'from memory'} ({counted(read.frames, 'frame')}, digest {read.hash or 'unknown'})"
