"""What an error or a finding advises exists in the command that prints it.

The advice is text in the modules of the package. The table says which commands can print the advice of a module.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import typer

import mapgauge
from mapgauge.cli.app import app
from mapgauge.cli.inputs import FILE_KEYS

ROOT = Path(mapgauge.__file__).parent
EVALUATING = ("evaluate", "sweep")
READING = (*EVALUATING, "inspect", "convert")
WRITING = ("convert", "truth nuscenes", "truth av2")
# The longest beginning of a module's path decides. A command in the text ("mapgauge convert") comes before the table.
PRINTED_BY = {
    "arguments.py": EVALUATING,
    "cameras/": ("view", "export"),
    "features/": ("evaluate",),  # they advise to evaluate in another way
    "features/challenge/": ("challenge score",),
    "features/error_map/": ("errors",),
    "features/global_map/": ("global",),
    "features/priors/": ("changes",),
    "features/splits/": ("splits propose",),
    "features/suspects/": ("suspects",),
    "features/tracks/": ("track", "consistency"),
    "features/view/": ("view",),
    "checks/": EVALUATING,
    "evaluation/": ("evaluate",),
    "frames/": EVALUATING,
    "geometry/": EVALUATING,
    "io/": READING,
    "io/_format.py": WRITING,
    "metrics/": ("evaluate", "sweep"),
    "views/": ("evaluate",),  # they advise to evaluate in another way
    "protocols/": EVALUATING,
    "manifest.py": EVALUATING,
    "scoring/": ("evaluate",),
    "results/": ("evaluate",),
    "results/saving.py": ("report",),
    "truth/": ("truth nuscenes", "truth av2"),
    "truth/from_argoverse2/": ("truth av2",),
    "truth/from_nuscenes/": ("truth nuscenes",),
}
OF_OTHER_COMMANDS = {"--plugin": ("",), "--to": WRITING, "--height": ("truth av2",), "--release": ("truth nuscenes",)}
WITHOUT_ADVICE = ("errors.py", "core.py", "training/", "views/report/", "cli/")  # examples, pages, and the commands
MANIFEST = re.compile(r"features/\w+/__init__\.py")  # examples of commands


def options_by_command() -> dict[str, set[str]]:
    """Return the options of each command, by its name: ``"evaluate"``, ``"truth av2"``."""
    found: dict[str, set[str]] = {}

    def walk(command: object, name: str) -> None:
        for called, one in getattr(command, "commands", {}).items():
            walk(one, f"{name} {called}".strip())
        found[name] = {option for one in command.params for option in one.opts}  # type: ignore[attr-defined]

    walk(typer.main.get_command(app), "")
    return found


@cache
def texts() -> list[tuple[str, int, str]]:
    """Return all texts in the modules that are no docstrings. The parts of an f-string are one text."""
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        module = path.relative_to(ROOT).as_posix()
        if module.startswith(WITHOUT_ADVICE) or module.endswith(("command.py", "commands.py")):
            continue
        if MANIFEST.fullmatch(module):
            continue
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        whole = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
        whole |= {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        for node in nodes:
            if isinstance(node, ast.JoinedStr):
                parts = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
                found.append((module, node.lineno, "".join(map(str, parts))))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in whole:
                found.append((module, node.lineno, node.value))
    return found


def advised() -> Iterator[tuple[str, str, str]]:
    """Yield where an option is advised, the option, and each command that can print the advice."""
    for module, line, text in texts():
        for found in re.finditer(r"(?<![\w-])--[a-z][a-z-]*", text):
            named = re.findall(
                r"mapgauge (challenge [a-z]+|truth [a-z]+[0-9]?|splits [a-z]+|list [a-z]+|[a-z]+)",
                text[: found.start()],
            )
            places = [place for place in PRINTED_BY if module.startswith(place)]
            assert places or named, f"{module}:{line}: add the module to the table"
            usual = OF_OTHER_COMMANDS.get(found[0]) or PRINTED_BY[max(places, key=len)] if places else ()
            for command in named[-1:] or usual:
                yield f"{module}:{line}", found[0], command


@pytest.mark.whole
def test_advised_options_exist_in_the_commands_that_print_them() -> None:
    found, options = set(advised()), options_by_command()
    assert len({where for where, _, _ in found}) > 30
    assert {"--set", "--ignore-unknown", "--resume", "--rules"} <= {option for _, option, _ in found}
    wrong = [
        f"{where}: {option} of {by}" for where, option, by in sorted(found) if option not in options[by] | options[""]
    ]
    assert not wrong


def test_advised_options_of_files_exist() -> None:
    found = [
        (module, key) for module, _, text in texts() for key in re.findall(r"(?:FILE|\{\}),([a-z]+)(?:=|\b)", text)
    ]
    assert len(found) > 5
    assert {key for _, key in found} <= set(FILE_KEYS), found
