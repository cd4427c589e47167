"""The mutants that ``make mutants`` tries."""

import ast
import subprocess
import sys

import pytest

pytest.importorskip("resource", reason="mutants run in forked processes")

from tools.mutants import SOURCE, TESTS, mutants

TEXT = '''
LIMIT = 1

def f(a: int = 2) -> int:
    """Double what is positive."""
    if not a > LIMIT:
        raise ValueError("too small")
    return 2 * min(a, key=g, strict=True)
'''


def test_code_in_functions_is_changed_except_messages_defaults_and_docstrings() -> None:
    assert [text for _, text, _ in mutants(ast.parse(TEXT))] == [
        "6 f: if not a > LIMIT: -> if not not a > LIMIT:",
        "6 f: raise ValueError('too small') -> pass",
        "6 f: not a > LIMIT -> not not a > LIMIT",
        "6 f: a > LIMIT -> a >= LIMIT",
        "8 f: return 2 * min(a, key=g, strict=True) -> return None",
        "8 f: 2 * min(a, key=g, strict=True) -> 2 / min(a, key=g, strict=True)",
        "8 f: 2 -> 3",
        "8 f: 2 -> 1",
        "8 f: min(a, key=g, strict=True) -> max(a, key=g, strict=True)",
        "8 f: min(a, key=g, strict=True) -> min(a, strict=True)",
    ]


@pytest.mark.whole
def test_modules_and_their_tests_exist() -> None:
    root = SOURCE.parents[1]
    assert all((SOURCE / module).is_file() for module in TESTS)
    assert all((root / path.partition("::")[0]).exists() for paths in TESTS.values() for path in paths)


def test_a_mutant_is_applied_and_a_known_one_is_killed() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.mutants", "metrics/metric.py", "plain", "-v"],
        cwd=SOURCE.parents[1],
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    outcomes = [line for line in done.stdout.splitlines() if "plain: " in line]
    assert [line.partition(" ")[0] for line in outcomes] == ["killed"] * 3
    assert outcomes[0].endswith("return not (self.setting or self.ring or self.hits) -> return None")
    assert "'killed': 3, 'survives': 0" in done.stdout
    assert "'not applied': 0" in done.stdout
