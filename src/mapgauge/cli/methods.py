"""The methods that a command looks at: results in files, or predictions that it evaluates by a protocol."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import typer

from mapgauge.cli.advice import evaluate_first
from mapgauge.cli.inputs import named_file
from mapgauge.cli.output import distrust, progress, warn, warn_of
from mapgauge.cli.parsing import file_names, listed, place, refuse, settings_of, without_effect
from mapgauge.cli.reading import Reading
from mapgauge.cli.results_files import all_results, check_one_protocol, check_there, each_results, load_all
from mapgauge.errors import InvalidInput, MapgaugeError

if TYPE_CHECKING:
    from mapgauge.frames.map_frames import MapFrames
    from mapgauge.protocols import Protocol
    from mapgauge.results.results import Results

# Chooses the frames of predictions and truth to evaluate.
Choose: TypeAlias = Callable[["MapFrames", "MapFrames"], "tuple[MapFrames, MapFrames]"]


@dataclass(frozen=True, slots=True)
class Methods:
    """Files of results, or of predictions and truth. ``load`` and ``evaluate`` return the results."""

    command: str
    files: list[Path]  # results, or predictions and then the truth
    from_results: bool
    protocol: str
    workers: int | None = None

    @classmethod
    def of(cls, context: typer.Context, files: list[Path]) -> "Methods":
        """Return the methods of a command. A protocol has no effect on results."""
        given, command = context.params, context.command.name or ""
        protocols = listed(given.get("protocol")) or ["paper-60x30"]
        if all_results(files):
            without_effect(context, ["protocol"], "on results, which have been compared already")
            return cls(command, each_results(files), True, protocols[0], given.get("workers"))
        if len(files) < 2:
            check_there(files[0])
            refuse("TRUTH", f"give predictions and truth, or results. {files[0]} is no file of results")
        if len(protocols) > 1:
            line = evaluate_first(command, files, "-p", ",".join(protocols))
            refuse("--protocol", f"this command takes one protocol. With several, evaluate first: {line}")
        return cls(command, files, False, protocols[0], given.get("workers"))

    @property
    def names(self) -> list[str]:
        """The names of the methods."""
        return file_names(self.files if self.from_results else self.files[:-1])

    def load(
        self,
        *,
        data: bool = True,
        cutoff: bool = False,
        metrics: Sequence[str] | None = None,
        choose: Choose | None = None,
    ) -> list["Results"]:
        """Return the results of all methods. They have one protocol.

        Args:
            data: Whether results need their geometry.
            cutoff: Whether the protocol must have a cutoff.
            metrics: Names of metrics to evaluate. If None, those of the protocol.
            choose: Chooses the frames to evaluate. If None, all frames.
        """
        if not self.from_results:
            return self._evaluate(metrics, choose, cutoff=cutoff)
        methods = load_all(self.files, self.names)
        check_one_protocol(self.names, methods)
        if cutoff:
            self._check_cutoff(methods[0].protocol)
        return [with_data(one, path) for one, path in zip(methods, self.files, strict=True)] if data else methods

    def _check_cutoff(self, protocol: "Protocol") -> None:
        from mapgauge.protocols import full_name

        if protocol.cutoffs:
            return
        if self.from_results:
            line = evaluate_first(self.command, ["PREDICTIONS", "TRUTH"], "-p", protocol.name, "-c", "1.5")
        else:
            line = evaluate_first(self.command, self.files, "-p", self.protocol, "-c", "1.5")
        raise InvalidInput(
            f"{self.files[0]}: the protocol {full_name(protocol)} has no cutoff to match points by",
            remedy=f"Evaluate with a cutoff first: {line}",
        )

    def _evaluate(self, metrics: Sequence[str] | None, choose: Choose | None, *, cutoff: bool) -> list["Results"]:
        from mapgauge import evaluate

        settings = settings_of(self.protocol)
        if cutoff:
            self._check_cutoff(settings)
        methods = []
        for name, x, y in Reading(workers=self.workers).each(self.names, self.files[:-1], self.files[-1]):
            sides = (x, y) if choose is None else choose(x, y)
            with progress(f"evaluating {name}") as advance:
                methods.append(evaluate(*sides, settings, metrics=metrics, workers=self.workers, progress=advance))
            warn_of(methods[-1].findings)
        distrust(finding for method in methods for finding in method.findings)
        return methods


def with_data(results: "Results", path: Path) -> "Results":
    """Return results with the geometry that they were computed from: in their file, or in the evaluated files.

    Evaluated files that were moved are options of the results: ``RESULTS,predictions=FILE,truth=FILE``.
    """
    moved = [named_file(path, side) for side in ("predictions", "truth")]
    return results.with_data(*(None if file is None else place(file) for file in moved))


def with_data_if_there(results: "Results", path: Path) -> "Results":
    """Return results with their geometry. If it cannot be read, there is a warning, and they have none.

    Moved files that are given must be the evaluated ones.
    """
    try:
        return with_data(results, path)
    except MapgaugeError as error:
        if any(named_file(path, side) is not None for side in ("predictions", "truth")):
            raise
        warn(f"{path}: frames are not drawn: {error.for_shell()}")
        return results.without_data()
