"""Private interfaces of numba: each stands on a page, and a new version of numba is noticed."""

import ast
import re
from pathlib import Path

import numba

from mapgauge.kernels import _cache

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explanation" / "numba.md").read_text("utf-8")
FOLDER = ROOT / "src" / "mapgauge" / "kernels"
PUBLIC = ("numba", "numba.extending", "numba.types")


def imported(tree: ast.Module) -> set[str]:
    """The names that a module imports from private modules of numba, with their modules."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("numba") and node.module not in PUBLIC:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def foreign_attributes(tree: ast.Module) -> set[str]:
    """The private attributes that a module reads or sets, and that it does not define itself."""
    used = set()
    defined = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            used.add(node.attr)
        if isinstance(node, ast.FunctionDef):
            defined.add(node.name)
    return used - defined


def test_every_private_module_of_numba_stands_on_the_page() -> None:
    on_page = set(re.findall(r"`(numba\.core[\w.]*)`", PAGE))
    for path in sorted(FOLDER.glob("*.py")):
        for name in imported(ast.parse(path.read_text("utf-8"))):
            # A module may be named as a whole, or by the classes that are used of it.
            assert name in on_page or any(entry.startswith(f"{name}.") for entry in on_page), f"{path.name}: {name}"


def test_every_private_attribute_of_numba_stands_on_the_page() -> None:
    own = {"_generator", "_py_file", "_line", "_path"}  # of classes of mapgauge
    for name in ("_inner.py", "_cache.py", "_jit.py", "_stored.py"):
        used = foreign_attributes(ast.parse((FOLDER / name).read_text("utf-8"))) - own
        lines = "\n".join(line for line in PAGE.splitlines() if f"`kernels/{name}`" in line)
        assert {attribute for attribute in used if f"`{attribute}`" not in lines} == set(), name


def test_the_range_of_versions_on_the_page_is_that_of_the_code() -> None:
    source = Path(_cache.__file__).read_text("utf-8")
    found = re.search(r"IS_TESTED = \(0, (\d+)\) <= numba\.version_info\.short <= \(0, (\d+)\)", source)
    assert found is not None
    assert f"**0.{found[1]} to 0.{found[2]}**" in PAGE


def test_the_installed_version_of_numba_was_tested() -> None:
    assert _cache.IS_TESTED, (
        f"numba {numba.__version__} was not tested with the private interfaces that mapgauge uses. "
        "docs/explanation/numba.md, 'When numba has a new version', says what to do"
    )
