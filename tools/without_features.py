"""Deletes features, in copies of the repository, and tries what is left: ``python -m tools.without_features [NAME]``.

It tries three laws, for all features or for those that are named:

- without a feature, and those that need it, the commands of the core work on the demo;
- the tests of a feature pass if it is alone with the features that it needs;
- without any feature, the commands of the core work and its tests pass. ``--core`` tries only this one.

The examples in docstrings are tests too.

It prints a line for each case, and its exit code is 1 if something failed. ``--commands`` and ``--tests`` leave the
other kind out. ``make test`` has a short form, ``tests/test_without_features.py``.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path

from mapgauge import manifest

ROOT = Path(__file__).parents[1]
COMMANDS = (
    "--help",
    "list metrics",
    "list protocols",
    "list formats",
    "demo --size 4 -o demo",
    "evaluate demo/good.json demo/truth.geojson -o results.mg --report report.html",
    "evaluate demo/poor.json demo/truth.geojson -o poor.mg",
    "compare results.mg poor.mg",
    "why results.mg",
    "frames results.mg",
    "show results.mg -o frame.svg",
    "plot parts results.mg -o parts.svg",
    "report results.mg poor.mg -o both.html",
    "inspect demo/good.json demo/truth.geojson",
    "convert demo/good.json predictions.parquet",
)
# Uses all public names, and then runs commands in the same process, until one fails.
PROGRAM = """
import shlex, sys
import mapgauge as mg
from mapgauge.cli import main

for name in set(dir(mg)) - {"loggers"}:
    getattr(mg, name)
for command in sys.argv[1:]:
    sys.argv = ["mapgauge", *shlex.split(command)]
    try:
        main()
    except SystemExit as ended:
        if ended.code:
            sys.exit(f"{command}: exit {ended.code}")
"""
# Tests of what pages and examples say of all features together. Single tests of this kind have the mark `whole`.
OF_ALL_FEATURES = (
    "tests/fuzz",
    "tests/test_bare.py",
    "tests/test_docs.py",
    "tests/test_examples.py",
    "tests/test_gallery.py",
    "tests/test_without_features.py",
)
SHOWN = 400  # characters of a message


def features() -> list[str]:
    """Return the names of all features of the package."""
    return [one.name for one in manifest.own() if one.module != manifest.CORE]


def deleted_with(name: str) -> set[str]:
    """Return a feature and the features that need it."""
    needs = {one.name: one.feature.needs for one in manifest.own()}
    return {name, *(other for other, needed in needs.items() if name in needed)}


def needed_by(name: str) -> set[str]:
    """Return a feature and the features that it needs."""
    needs = {one.name: one.feature.needs for one in manifest.own()}
    found = {name}
    for needed in needs[name]:
        found |= needed_by(needed)
    return found


def copy_with(kept: Collection[str], folder: Path) -> Path:
    """Copy the repository into a folder, with some features and their tests only. Returns the folder.

    What is in the folder is deleted. Compiled kernels belong to the place of their package, so copies at one place, one
    after the other, compile them once.
    """
    shutil.rmtree(folder, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    deleted = set(features()) - set(kept)
    for name in filter(None, listed.stdout.decode().split("\0")):
        source = ROOT / name
        parts = source.relative_to(ROOT).parts
        # src/mapgauge/features/NAME/... and tests/features/NAME/...
        of_feature = "features" in parts and parts[parts.index("features") + 1] in deleted
        if of_feature or not source.is_file():
            continue
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    return folder


def run_in(copy: Path, arguments: Sequence[str], folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run Python in a folder, with the package of a copy."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(copy / "src"),
        "MAPGAUGE_TEST_DATA": os.environ.get("MAPGAUGE_TEST_DATA", str(ROOT.parent / "shared" / "data")),
    }
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def fault_of_commands(copy: Path, commands: Sequence[str] = COMMANDS) -> str:
    """Run the commands of the core in one process, with the package of a copy. Returns what fails, or ""."""
    with tempfile.TemporaryDirectory() as folder:
        # Tests have their own filter of warnings, and start commands that are expected to warn.
        done = run_in(copy, ["-W", "error", "-c", PROGRAM, *commands], Path(folder))
    if done.returncode:
        return f"exit {done.returncode}: {done.stderr.strip()[-SHOWN:]}"
    return ""


def run_tests(copy: Path, paths: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    """Run tests of a copy in one process."""
    without = [f"--ignore={path}" for path in OF_ALL_FEATURES]
    options = ["-n", "0", "-q", "-p", "no:cacheprovider", "--tb=line", "-m", "not fuzz and not whole", *without]
    return run_in(copy, ["-m", "pytest", *options, *paths], copy)


def outcome_of_tests(copy: Path, paths: Sequence[str]) -> tuple[bool, str]:
    """Run tests of a copy. Returns whether they pass, and how many there are or what fails."""
    done = run_tests(copy, paths)
    lines = [*done.stderr.strip()[-SHOWN:].splitlines(), *done.stdout.strip().splitlines()]
    if done.returncode == 0:
        return True, lines[-1]
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    return False, "\n  ".join([lines[-1], *failed])


def try_commands(deleted: set[str], folder: Path) -> bool:
    """Try the commands of the core without some features in a copy, and print how it went.

    Returns whether all worked.
    """
    called = ", ".join(sorted(deleted))
    if len(deleted) == len(features()):
        called = "all features"
    fault = fault_of_commands(copy_with(set(features()) - deleted, folder))
    tell(f"without {called}, commands: {fault or 'work'}")
    return not fault


def try_tests(kept: set[str], paths: Sequence[str], folder: Path) -> bool:
    """Try tests with only some features in a copy, and print how it went. Returns whether all passed."""
    called = "no feature"
    if kept:
        called = ", ".join(sorted(kept))
    passed, outcome = outcome_of_tests(copy_with(kept, folder), paths)
    tell(f"with {called}, {' '.join(paths)}: {outcome}")
    return passed


def tell(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    """Try all cases, or those that are asked for."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="features; all by default, and the core alone")
    parser.add_argument("--core", action="store_true", help="only the core alone")
    parser.add_argument("--commands", action="store_true", help="only the commands of the core")
    parser.add_argument("--tests", action="store_true", help="only tests")
    options = parser.parse_args()

    names = options.names or features()
    if options.core:
        names = []
    with_core = options.core or not options.names
    worked = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "copy"
        if not options.tests:
            cases = [deleted_with(name) for name in names]
            if with_core:
                cases.append(set(features()))
            worked += [try_commands(case, folder) for case in cases]
        if not options.commands:
            for name in names:
                paths = [f"tests/features/{name}", f"src/mapgauge/features/{name}"]
                worked.append(try_tests(needed_by(name), paths, folder))
            if with_core:
                worked.append(try_tests(set(), ["tests", "src"], folder))
    sys.exit(0 if all(worked) else 1)


if __name__ == "__main__":
    main()
