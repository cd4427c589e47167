"""Writes the tables of one run of the benchmarks into the pages that show them.

    make bench-all > bench.txt
    python -m tools.benchmark_page bench.txt

A page shows a table and its title between two marks, which browsers hide. The first names the table in the output:

    <!-- table: The whole command -->

    ...

    <!-- end -->

``<!-- machine -->`` opens the sentence about the machine, the versions and the date. Targets are left out of the pages.
If a benchmark failed, or the output lacks a table that a page shows, no page is changed. So all tables are of one run.
"""

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
MARKED = re.compile(
    r"(<!-- (?:table: (?P<title>[^\n]+?)|machine) -->\n\n)(?P<content>.*?\n)(?P<close>\n<!-- end -->)", re.S
)
TARGET = re.compile(r" \(at (?:most|least) [\d.,]+: (?:ok|MISSED)\)")
NOT_VERSIONS = ("processor", "cores", "commit", "date", "load before the run")

MINUTES = "Minutes of each benchmark"  # the last table of a run

Tables = Mapping[str, Sequence[str]]


def tables_of(output: str) -> dict[str, list[str]]:
    """Return the lines of each table in the output of the benchmarks, by title."""
    found: dict[str, list[str]] = {}
    title = ""
    for line in output.splitlines():
        if line.startswith("### "):
            title = line.removeprefix("### ")
            if title in found:
                raise SystemExit(f"the output has two tables called {title!r}, expected one run")
            found[title] = []
        elif line.startswith("|") and title:
            found[title].append(TARGET.sub("", line))
    return {title: lines for title, lines in found.items() if len(lines) > 2}


def machine_of(tables: Tables) -> str:
    """Return the sentence about the machine and the versions."""
    if "Machine" not in tables:
        raise SystemExit("the output has no table 'Machine', expected the output of `make bench-all`")
    values = {}
    for line in tables["Machine"][2:]:
        name, value = (cell.strip() for cell in line.strip("|").split("|"))
        values[name] = value
    versions = ", ".join(f"{name} {value}" for name, value in values.items() if name not in NOT_VERSIONS)
    return (
        f"Measured on {values['date']} on a machine with {values['cores']} cores ({values['processor']}), at commit "
        f"{values['commit']}.\nThe load of the machine before the run was {values['load before the run']}.\n"
        f"Versions: {versions}.\n"
    )


def check_whole(tables: Tables) -> None:
    """Stop if the run has not ended, or if one of its benchmarks failed."""
    if MINUTES not in tables:
        raise SystemExit(f"the output does not end with the table {MINUTES!r}, so the run did not end")
    failed = [line for line in tables[MINUTES] if "failed" in line]
    if failed:
        raise SystemExit("benchmarks failed in this run; no page is changed:\n" + "\n".join(failed))


def titles_in(page: str) -> list[str]:
    """Return the titles of the tables that a page shows."""
    return [match["title"] for match in MARKED.finditer(page) if match["title"]]


def filled(page: str, tables: Tables) -> str:
    """Return a page with the tables and the sentence of a run."""

    def content(match: re.Match[str]) -> str:
        if match["title"] is None:
            return match[1] + machine_of(tables) + match["close"]
        title = match["title"]
        return match[1] + f"**{title}**\n\n" + "\n".join(tables[title]) + "\n" + match["close"]

    return MARKED.sub(content, page)


def pages(root: Path) -> dict[Path, str]:
    """Return the pages that show tables of benchmarks."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted((root / "docs").rglob("*.md"))}
    return {path: text for path, text in texts.items() if MARKED.search(text)}


def main(output: str, root: Path = ROOT) -> None:
    """Write the tables into all pages, and print what has changed and which tables no page shows."""
    tables, shown = tables_of(output), pages(root)
    check_whole(tables)
    wanted = {title for text in shown.values() for title in titles_in(text)}
    missing = sorted(wanted - set(tables))
    if missing:
        raise SystemExit(
            "the output lacks tables that pages show; no page is changed:\n"
            + "\n".join(f"  {title}" for title in missing)
        )
    for path, text in shown.items():
        new = filled(text, tables)
        if new != text:
            path.write_text(new, encoding="utf-8")
            print(f"{path.relative_to(root).as_posix()}: written")
    for title in tables:
        if title not in wanted and title not in ("Machine", MINUTES):
            print(f"no page shows: {title}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("expected the file with the output of `make bench-all`")
    main(Path(sys.argv[1]).read_text(encoding="utf-8"))
