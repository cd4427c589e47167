"""The stamp of compiled kernels on disk: which edits make them stale."""

import ast
from pathlib import Path

import pytest

from mapgauge.kernels._cache import file_of, files_of, stamp


def imported_by(file: Path) -> set[Path]:
    """Return the files of the package that a file imports at any place, as Python reads it."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mapgauge."):
            module = str(node.module).removeprefix("mapgauge.")
            names = [module, *(f"{module}.{alias.name}" for alias in node.names)]
            found |= {file_of(name) for name in names if file_of(name).is_file()}
    return found


@pytest.mark.parametrize("name", ["kernels.pld", "kernels.average_precision", "kernels.assignment", "kernels.resample"])
def test_the_files_of_a_stamp_are_those_that_are_imported(name: str) -> None:
    reached: set[Path] = set()
    waiting = [file_of(name), file_of("kernels._jit")]
    while waiting:
        file = waiting.pop()
        if file not in reached:
            reached.add(file)
            waiting += imported_by(file)
    assert set(files_of(file_of(name))) == reached
    assert file_of("kernels.frechet") not in files_of(file_of("kernels.pld"))


def test_a_stamp_follows_the_file_and_what_it_imports(tmp_path: Path) -> None:
    file = tmp_path / "own_kernels.py"

    def stamp_with(text: str) -> str:
        file.write_text(text, encoding="utf-8")
        stamp.cache_clear()
        files_of.cache_clear()
        return stamp(file)

    alone = stamp_with("one = 1\n")
    assert stamp_with("one = 1\n") == alone
    assert stamp_with("one = 2\n") != alone
    text = "from mapgauge.kernels.assignment import (\n    assign,\n)\n"
    stamp_with(text)
    assert file_of("kernels.assignment") in files_of(file)
    assert file_of("kernels.frechet") not in files_of(file)
