"""Writes ``tests/contract.txt``: a line for every name, option and default that ``docs/stability.md`` calls stable.

``tests/test_contract.py`` fails when a line is no longer true. What is new does not fail: it is stable once it is
released, so the file is written again before a release::

    python -m tools.contract            # write it, with what is new
    python -m tools.contract --check    # fail if something is gone, different or new

If something had to change: follow "Deprecations" in ``docs/stability.md``, then write the file again. It has no
numbers: the tests of metrics hold them. The keys of JSON and the columns of CSV are those of their page;
``tests/cli/test_keys.py`` compares the page with what commands print.
"""

import dataclasses
import importlib
import inspect
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import typer.main

import mapgauge as mg
from mapgauge.cli import FAILED, INTERRUPTED, UNEXPECTED
from mapgauge.cli.app import application
from mapgauge.cli.compare import FAILED_GATE
from mapgauge.cli.inputs import FILE_KEYS
from mapgauge.errors import MissingDependency
from mapgauge.frames.columns import COLUMNS
from mapgauge.io import FORMATS
from mapgauge.metrics.table import METRICS
from mapgauge.protocols import PROTOCOLS

ROOT = Path(__file__).parents[1]
FILE = ROOT / "tests" / "contract.txt"
PAGE_OF_KEYS = ROOT / "docs" / "reference" / "json-output.md"
EXITS = {
    "success": 0,
    "input or output": FAILED,
    "usage": typer.BadParameter("").exit_code,
    "condition of compare": FAILED_GATE,
    "fault of mapgauge": UNEXPECTED,
    "ended by Ctrl-C": INTERRUPTED,
    "ended by SIGTERM": 128 + 15,
    "ended by SIGHUP": 128 + 1,
}
PLUG_INS = "plugin"
MODULES = ("demo", "loggers", "mmengine", "plot", PLUG_INS, "report", "results.flat", "torch", "truth")


def lines() -> Iterator[str]:
    """Yield a line for everything that is stable and can be listed."""
    yield from of_command(typer.main.get_command(application()), "mapgauge")
    yield from (f"option of a file: {name}" for name in FILE_KEYS)
    for name in offered(mg):
        yield from of_name(name, getattr(mg, name), is_made=False)
    for module_name in MODULES:
        module = imported(module_name)
        for name in offered(module) if module else ():
            yield from of_name(f"{module_name}.{name}", getattr(module, name), is_made=module_name == PLUG_INS)
    for protocol in PROTOCOLS.values():
        yield from of_protocol(protocol)
    yield from (f"value: {metric.name} {value.key}" for metric in METRICS.values() for value in metric.values)
    yield from (f"key: {command} {key}" for command, key in json_keys())
    yield from (f"csv: {command} {column}" for command, column in csv_columns())
    yield from (f"exit: {code} = {meaning}" for meaning, code in EXITS.items())
    yield from (f"column: {name}" for name in COLUMNS)
    yield from (f"format: {name}" for name in FORMATS)
    yield from (f"finding: {code}" for code in codes())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    yield from (f"extra: {name}" for name in project["optional-dependencies"])


def of_command(command: Any, name: str) -> Iterator[str]:
    """Yield the arguments, options and defaults of a command, and of the commands in it."""
    arguments = " ".join(one.metavar for one in command.params if one.param_type_name == "argument")
    yield f"command: {name} {arguments}".rstrip()
    for one in command.params:
        if one.param_type_name == "option":
            words = [*one.opts, *one.secondary_opts, one.metavar or ""]
            yield f"option: {name} {' '.join(words).rstrip()} = {one.default!r}"
    for called, inner in getattr(command, "commands", {}).items():
        yield from of_command(inner, f"{name} {called}")


def of_name(name: str, thing: Any, *, is_made: bool) -> Iterator[str]:
    """Yield what can be passed to a public name, and read from it. Users make objects of some classes."""
    if not inspect.isclass(thing):
        yield from of_function(name, thing) if callable(thing) else (f"name: {name}",)
        return
    yield f"class: {name}"
    if is_made or not dataclasses.is_dataclass(thing):
        yield from of_function(name, thing)
    members = {}
    if dataclasses.is_dataclass(thing):
        members = {one.name: None for one in dataclasses.fields(thing)}
    for base in thing.__mro__:
        if base.__module__.startswith("mapgauge"):
            members = vars(base) | members
    for called, member in members.items():
        function = getattr(member, "__func__", member)
        if called.startswith("_"):
            continue
        if inspect.isfunction(function):
            yield from of_function(f"{name}.{called}", function)
        else:
            yield f"member: {name}.{called}"


def of_function(name: str, function: Any) -> Iterator[str]:
    """Yield the parameters of a function, and their defaults."""
    try:
        every = inspect.signature(function).parameters.values()
    except ValueError:  # an error, whose constructor is Python's
        return
    own = [one for one in every if one.name not in ("self", "cls") and not one.name.startswith("_")]
    order = [one.name for one in own if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    yield f"in order: {name}({', '.join(order)})"
    for one in own:
        if one.default is not one.empty:
            yield f"default: {name} {one.name} = {in_words(one.default)}"
        elif one.kind is one.KEYWORD_ONLY:
            yield f"by name: {name} {one.name}"


def in_words(default: Any) -> str:
    """Return a default as text, without an address in memory."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(default))


def of_protocol(protocol: mg.Protocol) -> Iterator[str]:
    """Yield the settings of a protocol."""
    fields = protocol.to_dict()
    del fields["about"]  # words
    settings = fields.pop("settings")
    for metric, own in settings.items():
        fields |= {f"{metric}.{setting}": value for setting, value in own.items()}
    for field, value in fields.items():
        yield f"protocol: {protocol.name} {field} = {value!r}"


def offered(module: ModuleType) -> list[str]:
    """Return what a module offers: what it lists, or else what it defines."""
    defined = [name for name, thing in vars(module).items() if getattr(thing, "__module__", "") == module.__name__]
    return [name for name in getattr(module, "__all__", defined) if not name.startswith("_")]


def imported(name: str) -> ModuleType | None:
    """Return a public module; None if a package that it needs is not installed."""
    try:
        return importlib.import_module(f"mapgauge.{name}")
    except MissingDependency:
        return None


def codes() -> list[str]:
    """Return the codes of findings. Their page has all."""
    page = (ROOT / "docs" / "reference" / "findings.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| (`[a-z`, -]+`) \| ", page, re.M)
    return [code for cell in cells for code in re.findall(r"`([a-z-]+)`", cell)]


def json_keys() -> Iterator[tuple[str, str]]:
    """Yield each command with each key of its JSON. Their page has all; values of metrics are elsewhere."""
    _, *sections = re.split(r"^## ", PAGE_OF_KEYS.read_text(encoding="utf-8"), flags=re.M)
    for section in sections:
        title = section.partition("\n")[0].strip("`")
        if title != "CSV":
            for table in re.findall(r"(?:^\|.*\n)+", section, re.M):
                yield from _keys_of_table(table, title)


def _keys_of_table(table: str, title: str) -> Iterator[tuple[str, str]]:
    """Yield what a table says, if its first columns are keys, or commands and keys."""
    head, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]
    place = head.index("key") if "key" in head else 0
    within = re.fullmatch(r"key(?: of `(\w+)`)?", head[place])
    if not within:
        return
    prefix = f"{within[1]}." if within[1] else ""
    command = title
    for row in rows:
        if place and row[0]:
            command = row[0].strip("`")
        for key in re.findall(r"`([^`]+)`", row[place]):
            yield command, prefix + key


def csv_columns() -> Iterator[tuple[str, str]]:
    """Yield each command with the first columns of its CSV, which do not depend on settings."""
    table = PAGE_OF_KEYS.read_text(encoding="utf-8").partition("| command | first columns |")[2]
    for line in table.splitlines()[2:]:
        if not line.startswith("|"):
            return
        command, columns, *_ = line.split("|")[1:]
        for column in re.findall(r"`([^`]+)`", columns):
            yield command.strip(" `"), column


def broken(file: Path = FILE) -> list[str]:
    """Return the lines of a file that are no longer true. Nothing is known of modules that cannot be imported."""
    absent = tuple(f"{name}." for name in MODULES if imported(name) is None)
    stated = file.read_text(encoding="utf-8").splitlines()
    found = set(lines())
    return [line for line in stated if line not in found and not line.partition(": ")[2].startswith(absent)]


def main(arguments: list[str], file: Path = FILE) -> int:
    """Write a file, or check it."""
    absent = [name for name in MODULES if imported(name) is None]
    if absent:
        sys.exit(f"mapgauge.{absent[0]} cannot be imported, because a package of an extra is not installed")
    found = sorted(set(lines()))
    if arguments != ["--check"]:
        file.write_text("\n".join([*found, ""]), encoding="utf-8", newline="\n")
        return 0
    stated = file.read_text(encoding="utf-8").splitlines()
    for line in sorted(set(stated) - set(found)):
        print(f"no longer true: {line}")
    for line in sorted(set(found) - set(stated)):
        print(f"new: {line}")
    return int(stated != found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
