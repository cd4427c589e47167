"""Text is read and written as UTF-8 on every machine: each call names the encoding."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = (".ci", "benchmarks", "docs", "examples", "src", "tests", "tools")
MODE = re.compile(r"[rwax]\+?t?\+?")
NAMES = ("open", "read_text", "write_text", "text=", "universal_newlines=")  # a file without them has no such call


def unnamed(tree: ast.AST) -> Iterator[int]:
    """Yield the lines of calls that read or write text in the encoding of the machine."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and is_of_text(node) and not names_encoding(node):
            yield node.lineno


def names_encoding(call: ast.Call) -> bool:
    if any(keyword.arg in ("encoding", None) for keyword in call.keywords):
        return True
    place = {"read_text": 0, "write_text": 1}.get(name_of(call))
    return place is not None and len(call.args) > place


def is_of_text(call: ast.Call) -> bool:
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    text = keywords.get("text", keywords.get("universal_newlines"))
    if isinstance(text, ast.Constant) and text.value is True:
        return True  # a process whose output is text
    name = name_of(call)
    if name in ("read_text", "write_text"):
        # The formatter of a command's help has a method of this name, which writes no file.
        return not ast.unparse(call.func).startswith("formatter.")
    if name != "open":
        return False
    is_function = isinstance(call.func, ast.Name)  # the others are methods of paths, whose first argument is the mode
    modes = [*call.args[int(is_function) :][:1], *([keywords["mode"]] if "mode" in keywords else [])]
    if not modes:
        of_fsspec = isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Call)  # open(...).open()
        return is_function or not (call.args or of_fsspec)
    mode = modes[0]
    return isinstance(mode, ast.Constant) and isinstance(mode.value, str) and MODE.fullmatch(mode.value) is not None


def name_of(call: ast.Call) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_call_that_reads_or_writes_text_names_the_encoding(folder: str) -> None:
    found = []
    for path in sorted((ROOT / folder).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if any(name in text for name in NAMES):
            found += [f"{path.relative_to(ROOT)}:{line}" for line in unnamed(ast.parse(text))]
    assert found == []


@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        ("path.read_text()", True),
        ("path.read_text('utf-8')", False),
        ("path.read_text(encoding='utf-8')", False),
        ("path.write_text('words')", True),
        ("path.write_text('words', 'utf-8')", False),
        ("open(path)", True),
        ("open(path, 'w')", True),
        ("open(path, 'rb')", False),
        ("path.open()", True),
        ("path.open('a')", True),
        ("path.open('wb')", False),
        ("archive.open('name.json')", False),
        ("fsspec.open(url, 'rb').open()", False),
        ("subprocess.run(words, text=True)", True),
        ("subprocess.run(words, text=True, encoding='utf-8')", False),
        ("subprocess.run(words)", False),
    ],
)
def test_a_call_without_an_encoding_is_found(code: str, wrong: bool) -> None:
    assert bool(list(unnamed(ast.parse(code)))) == wrong
