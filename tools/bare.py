"""Runs the commands of the pages where mapgauge is installed without extras.

``make test-bare`` installs mapgauge as the first line of the README does, and runs this::

    python -m tools.bare .venv-bare/bin/mapgauge

A command must work, or end with exit code 1 and one line that says how to install what it needs. It needs no package
besides mapgauge, so that the environment stays bare.
"""

import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
INSTALL = re.compile(r"Install (?:it|them) with: pip install 'mapgauge\[(\w+)\]'")
NONE, ANY = "none", "any"  # in the place of an extra: a command must work, or may need one
# Commands that need an extra, each with the extra. Files of maps are written by ``prepare``.
NEEDING = {
    "show demo/good.json demo/truth.geojson -o frame.png": "plot",
    "plot parts demo/good.mg demo/poor.mg -o parts.pdf": "plot",
    "paper demo/good.mg -o paper": "plot",
    "confidence demo/good.mg --figure confidence.svg": "plot",
    "consistency demo/good.json --poses demo/truth.geojson --figure lags.svg": "plot",
    "splits demo/truth.geojson demo/truth.geojson --figure splits.svg": "plot",
    "global demo/good.json demo/truth.geojson --figure global.svg": "plot",
    "global demo/good.json demo/truth.geojson": "shapely",
    "evaluate demo/good.json demo/truth.geojson -p maptr": "shapely",
    "evaluate demo/good.json demo/truth.geojson --with-geometry -o with.mg": "parquet",
    "evaluate part.parquet part.parquet": "parquet",
    "evaluate demo/good.json demo/truth.geojson --set network_pld.break_cost=0.5 --metrics network_pld": "links",
    "evaluate demo/good.json demo/truth.geojson -p map": "links",
    "evaluate memory://x.parquet memory://y.parquet": "dask",
    "convert demo/good.json good.parquet": "parquet",
    "convert demo/good.json good.json.zst --to maptr": "zstd",
    "inspect map.csv": "geo",
    "inspect degrees.geojson,project=EPSG:32632": "geo",
    "export demo/good.mg -o drive.rrd": "rerun",
    "truth nuscenes . -o truth.geojson": "truth",
    "truth av2 . -o truth.geojson": "truth",
    "truth map map.csv --poses demo/truth.geojson -o truth.geojson": "truth",
}
MISSING_INPUT = "tracked.parquet: no such file"  # an example before writes it, and needs an extra
MAP = 'class,wkt\ndivider,"LINESTRING (0 0, 10 0)"\n'
DEGREES = """{"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {"class": "divider"},
"geometry": {"type": "LineString", "coordinates": [[11.5, 48.1], [11.6, 48.1]]}}]}"""


class Done(NamedTuple):
    """What became of a command."""

    command: str
    code: int
    errors: str  # what it printed on stderr

    @property
    def extra(self) -> str | None:
        """The extra that the last line asks for; None if it asks for none."""
        found = INSTALL.search(self.last_line)
        return found[1] if found else None

    @property
    def last_line(self) -> str:
        """The last line on stderr."""
        return (self.errors.strip().splitlines() or [""])[-1]

    def fault(self, expected: str) -> str | None:
        """Return what is wrong, or None. The command needs the expected extra, ``NONE`` or ``ANY``."""
        if self.code == 0:
            return None if expected in (NONE, ANY) else f"works, expected that it needs mapgauge[{expected}]"
        if self.code != 1 or self.extra is None:
            return f"exit code {self.code}, expected 0, or 1 and how to install what is missing: {self.last_line}"
        if expected not in (ANY, self.extra):
            return f"needs mapgauge[{self.extra}], expected that it needs {expected}"
        return None


def shell_lines(page: Path) -> Iterator[tuple[str, str]]:
    """Yield the commands in the shell blocks of a page, each with its comment."""
    for block in re.findall(r"^```sh\n(.+?)^```$", page.read_text(encoding="utf-8"), re.M | re.S):
        for line in block.splitlines():
            command, _, comment = line.partition("#")
            if command.startswith("mapgauge "):
                yield command.removeprefix("mapgauge ").strip(), comment.strip()


def of_readme() -> dict[str, str]:
    """Return the first steps of the README, each with the extra that the README says it needs."""
    steps: dict[str, str] = {}
    for command, comment in shell_lines(ROOT / "README.md"):
        needed = re.search(r"\.\[(\w+)\]", comment)
        steps[command] = needed[1] if needed else NONE
    return steps


def of_command_line() -> list[str]:
    """Return the examples on the page of the command line, at least one of every command."""
    page = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    return re.findall(r"^```console\n\$ mapgauge (.+)$", page, re.M)


def prepare(folder: Path) -> None:
    """Write the files that commands read and that the demo does not write."""
    (folder / "map.csv").write_text(MAP, encoding="utf-8")
    (folder / "degrees.geojson").write_text(DEGREES, encoding="utf-8")
    (folder / "part.parquet").write_bytes(b"PAR1")


def faults(run: Callable[[str], Done]) -> Iterator[str]:
    """Run all commands, and yield what is wrong with each that is neither done nor refused as it should be."""
    examples = dict.fromkeys(of_command_line(), ANY)
    for command, expected in {**of_readme(), **examples, **NEEDING}.items():
        done = run(command)
        if MISSING_INPUT in done.errors:
            continue
        fault = done.fault(expected)
        if fault is not None:
            yield f"mapgauge {command}: {fault}"


def main(program: str) -> int:
    """Run the commands by a program, print what is wrong, and return the exit code."""
    program = str(Path(program).absolute())
    count = 0

    def run(command: str) -> Done:
        nonlocal count
        count += 1
        ended = subprocess.run(
            [program, *shlex.split(command)],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        return Done(command, ended.returncode, ended.stderr)

    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        found = list(faults(run))
    for fault in found:
        print(fault)
    print(f"{count} commands without extras, {len(found)} with a fault")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
