"""Lists the error paths that no test runs: statements that raise an error or make a finding.

``make coverage`` measures which statements the tests run and then runs this::

    python -m tools.error_paths .coverage
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import coverage

SOURCE = Path(__file__).parents[1] / "src" / "mapgauge"


def main(data: str) -> None:
    """Print the error paths that were not run, and the numbers of all and of those that were run."""
    measured = coverage.Coverage(data_file=data)
    measured.load()
    files = {Path(name).relative_to(SOURCE): name for name in measured.get_data().measured_files()}
    total: dict[str, int] = {"raise": 0, "finding": 0}
    missed: dict[str, int] = {"raise": 0, "finding": 0}
    for path in sorted(
        path.relative_to(SOURCE)
        for path in SOURCE.rglob("*.py")
        if path.parent.name != "kernels" and not path.stem.endswith("kernels")
    ):
        text = (SOURCE / path).read_text("utf-8")
        lines = text.splitlines()
        not_run = set(measured.analysis2(files[path])[3]) if path in files else set(range(1, len(lines) + 1))
        for kind, line in error_paths(text):
            total[kind] += 1
            if line in not_run:
                missed[kind] += 1
                print(f"src/mapgauge/{path}:{line}: {lines[line - 1].strip()}")
    for kind, number in total.items():
        print(f"{number - missed[kind]} of {number} statements of the kind {kind!r} are run")


def error_paths(text: str) -> Iterator[tuple[str, int]]:
    """Yield the kind and the first line of each statement that raises an error or makes a finding."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Raise):
            yield "raise", node.lineno
        elif isinstance(node, ast.Expr | ast.Assign | ast.Return) and any(map(_makes_a_finding, ast.walk(node))):
            yield "finding", node.lineno


def _makes_a_finding(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Finding"


if __name__ == "__main__":
    main(*sys.argv[1:])
