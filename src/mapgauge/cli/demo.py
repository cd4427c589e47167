"""``mapgauge demo``: runs every step of an evaluation on synthetic data."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from mapgauge.cli import options as o
from mapgauge.cli.command import command
from mapgauge.cli.compiling import compile_for
from mapgauge.cli.emit import show
from mapgauge.cli.output import progress, say
from mapgauge.cli.show import corners_of
from mapgauge.cli.targets import own_folder
from mapgauge.errors import MissingDependency

if TYPE_CHECKING:
    from mapgauge.evaluation.sweeps import Sweep
    from mapgauge.results.results import Results

METHODS: tuple[Literal["good", "poor"], ...] = ("good", "poor")
FIGURES = ("frame.svg", "parts.svg", "cutoffs.svg", "precision-recall.svg", "ranges.svg", "histogram.svg")
FILES = (
    "truth.geojson",
    *(f"{method}{suffix}" for method in METHODS for suffix in (".json", ".mg")),
    "report.html",
    *FIGURES,
)
MARK = ".mapgauge-demo"  # lists the files of the demo in its folder


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    """The options of ``mapgauge demo``."""

    output: Annotated[Path, o.output_option("FOLDER", "A folder.")] = Path("demo")
    size: Annotated[int, o.option("--size N", o.COMPUTED, "Number of frames to make. A scene has ten.", least=1)] = 80
    seed: o.SeedOption = 0


@command
def demo(options: DemoOptions) -> None:
    """Try everything on synthetic data.

    Makes synthetic roads and the output of two detectors, evaluates both, and writes files, figures and a report.
    """
    output = options.output
    own_folder(output, MARK, FILES, writer="the demo")

    from mapgauge import answer
    from mapgauge.cli.evaluated import Evaluated
    from mapgauge.metrics.table import METRICS
    from mapgauge.report import write_report

    say("Synthetic data: roads seen from a moving car, and two detectors, a good one and a poor one.")
    say("The first run compiles the kernels for this processor, which takes some seconds.")
    compile_for(["read", *(name for name in METRICS if METRICS[name].default), "report"])
    names: list[str] = list(METHODS)
    results, sweeps = _evaluate(options)
    write_report(results, output / "report.html", names=names, title="mapgauge demo")
    _draw(results, sweeps, names, output=output)
    say(f"A report, to open in a browser: {output / 'report.html'}")
    files = ["truth.geojson", *(f"{method}{suffix}" for method in METHODS for suffix in (".json", ".mg"))]
    say(f"Files to try other commands on, in {output}: {', '.join(files)}", indent="  ")
    say()
    compared = Evaluated(
        names=names,
        results=results,
        answers=[answer(results, names=names)],
        files=[*(output / f"{method}.json" for method in METHODS), output / "truth.geojson"],
        targets=[output / f"{method}.mg" for method in METHODS],
    )
    show(compared.in_brief())


def _evaluate(options: DemoOptions) -> "tuple[list[Results], list[Sweep]]":
    """Write the files of both detectors, and return their results and their values over the cutoff."""
    from mapgauge import evaluate, read, sweep, write
    from mapgauge.demo import demo_world
    from mapgauge.metrics.pld import PLD

    results = []
    sweeps = []
    for quality in METHODS:
        made, streets = demo_world(options.size, seed=options.seed, quality=quality)
        write(made, options.output / f"{quality}.json", "streammapnet")
        write(streets, options.output / "truth.geojson")
        # Results of data that was read from files record the files, as in a usual evaluation.
        predictions = read(options.output / f"{quality}.json")
        truth = read(options.output / "truth.geojson")
        with progress(f"evaluating {quality}") as advance:
            results.append(evaluate(predictions, truth, ranges=(0, 10, 20, 30), progress=advance))
            sweeps.append(sweep(predictions, truth, cutoffs=(0.5, 1.0, 1.5, 2.0), metrics=[PLD.name]))
        results[-1].save(options.output / f"{quality}.mg")
    return results, sweeps


def _draw(results: "list[Results]", sweeps: "list[Sweep]", names: list[str], output: Path) -> None:
    """Write the figures, if matplotlib is installed."""
    try:
        from mapgauge import plot
    except MissingDependency as error:
        say(f"No figures: {error.for_shell()}")
        return
    worst = results[0].frames(count=1)[0]["token"]
    figures = {
        "frame.svg": plot.frame(
            [method.assignment(worst) for method in results],
            region=results[0].protocol.region,
            title=worst,
            values=corners_of(results, worst),
            names=names,
        ),
        "parts.svg": plot.parts(results, names=names),
        "cutoffs.svg": plot.cutoffs(sweeps, names=names),
        "precision-recall.svg": plot.precision_recall(results),
        "ranges.svg": plot.ranges(results, names=names),
        "histogram.svg": plot.histogram(results, names=names),
    }
    for name, figure in figures.items():
        plot.save(figure, output / name)
    say(f"Figures in {output}: {', '.join(figures)}", indent="  ")
