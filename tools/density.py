"""Counts what makes code hard to read at first sight, in 1,000 lines of code and for each function.

Run ``python -m tools.density`` for the whole package, ``python -m tools.density src/mapgauge/results -n 10`` for a
part of it, or with a folder of another package to compare with it. ``--without kernels`` leaves paths out that contain
this text. It counts:

- packed assignments, ``a, b = x, y`` with values that are written one by one. A swap is not one;
- conditional expressions, ``x if y else z``;
- statements with more than four blocks around them in their function;
- calls of functions of the same package with more than three arguments by position;
- comments.

Lines of code are lines that are neither blank, nor a comment alone, nor part of a docstring.
"""

import argparse
import ast
import io
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

DEEPEST = 4  # blocks around a statement, and
BY_POSITION = 3  # arguments by position: the "Plain code" of the style guide
KINDS = {
    "packed": "packed assignments",
    "conditional": "conditional expressions",
    "nested": f"statements nested deeper than {DEEPEST}",
    "positional": f"calls with more than {BY_POSITION} arguments by position",
}
BLOCKS = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.Match, ast.AsyncFor, ast.AsyncWith, ast.TryStar)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
HAS_DOCSTRING = (ast.Module, ast.ClassDef, *FUNCTIONS)


@dataclass
class Density:
    """What was counted in one function or in many files."""

    place: str
    lines: int = 0
    comments: int = 0
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def weight(self) -> int:
        """How much there is of everything together, by which functions are sorted."""
        return sum(self.counts.values())

    def add(self, other: "Density") -> None:
        """Add the counts of another one."""
        self.lines += other.lines
        self.comments += other.comments
        self.counts.update(other.counts)


def is_packed(node: ast.AST) -> bool:
    """Return whether a node assigns several values that are written one by one to as many names."""
    if not isinstance(node, ast.Assign):
        return False
    if not isinstance(node.value, ast.Tuple):
        return False
    targets = [target for target in node.targets if isinstance(target, ast.Tuple)]
    if not targets:
        return False
    assigned = {ast.unparse(element) for element in targets[0].elts}
    values = {ast.unparse(element) for element in node.value.elts}
    return assigned != values  # a swap has no shorter way


def called_name(node: ast.Call) -> str:
    """Return the name of the function that a call names last: ``f`` of ``f(x)`` and of ``module.f(x)``."""
    if isinstance(node.func, ast.Name):
        return node.func.id
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return ""


def by_position(node: ast.Call) -> int:
    """Return how many arguments a call passes by position. ``*values`` has a name for all of them, and counts once."""
    return len(node.args)


def defined_names(tree: ast.Module) -> set[str]:
    """Return the names of all functions and classes of a module."""
    return {node.name for node in ast.walk(tree) if isinstance(node, (*FUNCTIONS, ast.ClassDef))}


def statements(node: ast.AST, depth: int = 0) -> Iterator[tuple[ast.AST, int]]:
    """Yield the nodes below a node with the number of blocks around them. ``elif`` is as deep as its ``if``."""
    for name, value in ast.iter_fields(node):
        children = value if isinstance(value, list) else [value]
        # A later branch of `if` is written as an `if` in the `else` of the first.
        is_elif = (
            isinstance(node, ast.If) and name == "orelse" and len(children) == 1 and isinstance(children[0], ast.If)
        )
        for child in children:
            if not isinstance(child, ast.AST):
                continue
            inside = isinstance(node, BLOCKS) and isinstance(child, ast.stmt) and not is_elif
            below = depth + 1 if inside else depth
            yield child, below
            yield from statements(child, below)


def count(node: ast.AST, known: set[str]) -> Counter[str]:
    """Return the counts of a function, or of the module."""
    counts: Counter[str] = Counter()
    for child, depth in statements(node):
        if is_packed(child):
            counts["packed"] += 1
        if isinstance(child, ast.IfExp):
            counts["conditional"] += 1
        if isinstance(child, ast.stmt) and depth > DEEPEST:
            counts["nested"] += 1
        if isinstance(child, ast.Call) and called_name(child) in known and by_position(child) > BY_POSITION:
            counts["positional"] += 1
    return counts


def lines_of(text: str, tree: ast.Module) -> tuple[set[int], int]:
    """Return the numbers of the lines of code, and how many comments there are."""
    code: set[int] = set()
    comments = 0
    layout = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            comments += 1
        elif token.type not in layout:
            code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if isinstance(node, HAS_DOCSTRING) and ast.get_docstring(node, clean=False) is not None:
            code.difference_update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return code, comments


def functions_of(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield the functions and methods of a module with their names. What lies inside a function belongs to it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, FUNCTIONS):
            yield prefix + child.name, child
        elif isinstance(child, ast.ClassDef):
            yield from functions_of(child, f"{prefix}{child.name}.")


def measure(files: list[Path]) -> tuple[Density, list[Density]]:
    """Return the sums over files, and the counts of every function."""
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    trees = {file: ast.parse(text) for file, text in texts.items()}
    known = set().union(*(defined_names(tree) for tree in trees.values()))
    total = Density("all")
    functions = []
    for file, tree in trees.items():
        code, comments = lines_of(texts[file], tree)
        total.add(Density(str(file), lines=len(code), comments=comments, counts=count(tree, known)))
        for name, node in functions_of(tree):
            functions.append(Density(f"{file}:{node.lineno} {name}", counts=count(node, known)))
    return total, functions


def main() -> None:
    """Print the sums and the densest functions."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("paths", nargs="*", type=Path, default=[Path("src/mapgauge")], help="files and folders")
    parser.add_argument("-n", "--number", type=int, default=20, help="how many functions are listed")
    parser.add_argument("--without", action="append", default=[], help="leave out paths that contain this text")
    options = parser.parse_args()

    files: list[Path] = []
    for path in options.paths:
        found = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        files += [file for file in found if not any(text in str(file) for text in options.without)]
    total, functions = measure(files)

    print(f"{len(files)} modules, {total.lines:,} lines of code")
    if total.lines == 0:
        return
    for kind, words in KINDS.items():
        print(f"{total.counts[kind]:7,}  {1000 * total.counts[kind] / total.lines:6.1f} in 1,000 lines  {words}")
    print(f"{total.comments:7,}  {1000 * total.comments / total.lines:6.1f} in 1,000 lines  comments")

    print("\n" + "  ".join(KINDS))
    densest = sorted(functions, key=lambda function: function.weight, reverse=True)
    for function in densest[: options.number]:
        numbers = "  ".join(f"{function.counts[kind]:{len(kind)}d}" for kind in KINDS)
        print(f"{numbers}  {function.place}")


if __name__ == "__main__":
    main()
