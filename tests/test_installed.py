"""What mapgauge tells those who installed it: extras and options that exist, and nothing that only a clone has."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

from mapgauge.cli.inputs import FILE_KEYS

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "mapgauge"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
PAGES = [
    page.read_text("utf-8")
    for page in (ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md")))
]
OF_A_CLONE = re.compile(
    r"\b(docs|tests|benchmarks|examples|tools)/|\.md\b|Makefile|\bmake (test|docs|demo|fuzz|bench)\b"
)
WEB_ADDRESS = re.compile(r"https://\S+")
ADDRESS = re.compile(r"\b(open|file|report) an?( public)?\s+issue|issue tracker", re.I)


def messages(pattern: re.Pattern[str]) -> list[str]:
    """The texts in the source that match, without docstrings. Those of the command line are its help, and count."""
    found = []
    for path in SOURCE.rglob("*.py"):
        text = path.read_text("utf-8")
        if not pattern.search(text):
            continue
        tree = ast.parse(text)
        documents = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and isinstance(node.body[0], ast.Expr)
        }
        is_help = SOURCE / "cli" in path.parents
        for node in ast.walk(tree):
            if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or node.value == ".md":
                continue  # the suffix alone is no message
            said = WEB_ADDRESS.sub("", node.value)  # a citation names pages of other repositories
            if pattern.search(said):
                found += [node.value] if is_help or id(node) not in documents else []
    return found


def test_the_page_of_the_installation_lists_every_extra_and_those_in_all() -> None:
    page = (ROOT / "docs" / "how-to" / "install.md").read_text("utf-8")
    rows = [row for row in page.splitlines() if row.startswith("| `")]
    names = [name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert sorted([*names, "all"]) == sorted(EXTRAS)
    assert "| `tracks` | the same as `links` |" in rows
    assert EXTRAS["tracks"] == ["mapgauge[links]"]
    included = {package for name in re.findall(r"\w+", EXTRAS["all"][0])[1:] for package in EXTRAS[name]}
    in_all = [name for name in names if set(EXTRAS[name]) <= included or name == "tracks"]
    assert "`all` includes the extras from `parquet` to `dask`." in page
    assert in_all == names[: names.index("dask") + 1]


def test_extras_in_messages_and_on_pages_exist() -> None:
    sources = [path.read_text("utf-8") for path in SOURCE.rglob("*.py")]
    named = {name for text in sources for name in re.findall(r'\brequire\("[^"]*", "[^"]*", "(\w+)"\)', text)}
    assert {"links", "parquet", "truth"} <= named
    for text in [*sources, *PAGES]:
        named |= {name for found in re.findall(r"mapgauge\[([a-z,]+)\]", text) for name in found.split(",")}
    assert named - {"example"} <= set(EXTRAS)


def test_messages_do_not_name_what_only_a_clone_has() -> None:
    assert messages(OF_A_CLONE) == []


def test_nobody_is_sent_to_an_address_that_is_not_given() -> None:
    if "urls" in PROJECT:
        pytest.skip("there is an address, which messages and pages can name")
    assert [*messages(ADDRESS), *(found[0] for page in PAGES for found in ADDRESS.finditer(page))] == []


def test_the_page_of_the_command_line_lists_every_option_of_a_file() -> None:
    page = (ROOT / "docs/reference/cli.md").read_text("utf-8")
    table = page.partition("| option of a file |")[2].partition("\n\n")[0]
    assert sorted(set(re.findall(r"^\| `(\w+)", table, re.M))) == sorted(FILE_KEYS)
