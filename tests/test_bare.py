"""Without extras, a command works or says in one line what to install. ``make test-bare`` does it for real."""

import json
import subprocess
import sys

import pytest
from tests.without_extras import optional_modules
from tools.bare import ANY, NEEDING, NONE, ROOT, Done, faults, of_command_line, of_readme, prepare

SMALLER = {"demo": "demo --size 30"}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Done]:
    """What became of the commands where no optional package can be imported."""
    folder = tmp_path_factory.mktemp("bare")
    prepare(folder)
    commands = dict.fromkeys([*of_readme(), *of_command_line(), *NEEDING])
    typed = {SMALLER.get(command, command): command for command in commands}
    ended = subprocess.run(
        [sys.executable, "-m", "tests.without_extras", str(folder)],
        cwd=ROOT,
        input="\n".join(typed),
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return {typed[words]: Done(typed[words], code, errors) for words, code, errors in json.loads(ended.stdout)}


def test_every_command_works_or_says_what_to_install(done: dict[str, Done]) -> None:
    assert list(faults(done.__getitem__)) == []


def test_the_first_steps_of_the_readme_that_need_figures_say_so(done: dict[str, Done]) -> None:
    needed = {command.split()[0]: extra for command, extra in of_readme().items()}
    assert needed == {
        "demo": NONE,
        "evaluate": NONE,
        "compare": NONE,
        "report": NONE,
        "show": "plot",
        "why": NONE,
    }


def test_what_is_missing_is_said_in_one_line(done: dict[str, Done]) -> None:
    for command in NEEDING:
        messages = [line for line in done[command].errors.splitlines() if line.startswith("mapgauge: ")]
        assert messages[-1:] == done[command].errors.splitlines()[-1:], command
        assert "bug" not in done[command].errors, command


def test_all_optional_packages_are_taken_away() -> None:
    assert {"matplotlib", "mlflow", "pandas", "pyarrow", "rerun", "shapely", "torch"} <= optional_modules()


@pytest.mark.parametrize(
    ("code", "errors", "expected", "wrong"),
    [
        (0, "", NONE, False),
        (0, "", ANY, False),
        (0, "", "plot", True),
        (1, "mapgauge: x needs y. Install it with: pip install 'mapgauge[plot]'\n", "plot", False),
        (1, "mapgauge: x needs y. Install it with: pip install 'mapgauge[plot]'\n", ANY, False),
        (1, "mapgauge: x needs y. Install it with: pip install 'mapgauge[plot]'\n", NONE, True),
        (1, "mapgauge: x needs y. Install it with: pip install 'mapgauge[plot]'\n", "geo", True),
        (70, "mapgauge: unexpected error: No module named 'matplotlib'\n", ANY, True),
        (1, "mapgauge: something else\n", ANY, True),
    ],
)
def test_faults_are_found(code: int, errors: str, expected: str, wrong: bool) -> None:
    assert (Done("show", code, errors).fault(expected) is not None) == wrong
