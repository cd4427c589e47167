"""Tests that imports go one way, that importing is cheap, and that edited kernels are compiled again."""

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import mapgauge
import mapgauge as mg
from mapgauge import manifest
from mapgauge.demo import demo_world

PACKAGE = Path(mapgauge.__file__).parent
TESTS = Path(__file__).parent

# A room (a folder or a module at the top) may import from the rooms above it, and from itself. A name with a dot is a
# part of a room that comes later than the rest of it.
ROOMS = [
    "version",
    "errors",
    "typing",
    "dependencies",
    "arguments",
    "decoding",
    "markup",
    "words",
    "manifest",
    "core",
    "kernels",
    "geometry",
    "solver",
    "metrics.settings",  # what a protocol has of metrics
    "metrics.rows",
    "protocols",
    "frames",
    "io",
    "distances",
    "metrics",
    "checks",
    "scoring",
    "results",
    "hooks",
    "evaluation",
    "answers",
    "truth",
    "cameras",
    "demo",
    "views",
    "features",
    "plot",
    "report",
    "plugin",
    "training",
    "features.torch",
    "loggers",
    "torch",
    "mmengine",
    "__init__",
    "cli",
    "features.commands",
    "__main__",
]


def rank(name: str) -> int:
    """Return the place of the room of a module."""
    if name.startswith("features.") and name.endswith(("command", "commands")):
        return ROOMS.index("features.commands")
    if name.startswith("features.") and name.endswith("torch_metrics"):
        return ROOMS.index("features.torch")
    parts = name.split(".")
    return next(ROOMS.index(room) for k in range(len(parts), 0, -1) if (room := ".".join(parts[:k])) in ROOMS)


def modules() -> dict[str, Path]:
    """Return all modules of the package by their dotted names, without ``mapgauge.``."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


@cache
def imports_of(name: str) -> list[str]:
    """Return the modules that a module imports from the package, also inside functions, but not for type checkers."""
    return list(_imports_of(name))


def _imports_of(name: str) -> Iterator[str]:
    yield from (_module(target) for target in _targets(_tree(name), package_of(name)))


@cache
def uses_of(name: str) -> list[str]:
    """Return the modules that a module imports, and those that it names by a text, which are loaded later."""
    return imports_of(name) + [_module(target) for target in _named(_tree(name))]


@cache
def _tree(name: str) -> ast.Module:
    return ast.parse(MODULES[name].read_text(encoding="utf-8"))


def package_of(name: str) -> str:
    """Return the package that relative imports of a module start from."""
    package = MODULES[name].parent.relative_to(PACKAGE.parent)
    return ".".join(package.parts)


@cache
def _nodes(tree: ast.AST) -> list[ast.AST]:
    """Return all nodes of code, without what only type checkers read."""
    found = []
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        found.append(node)
        waiting += ast.iter_child_nodes(node)
    return found


def _dotted(node: ast.AST) -> str:
    """Return a name with its attributes, such as ``mg.plot.frame``. It begins with a dot if they are of no name."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    parts.append(node.id if isinstance(node, ast.Name) else "")
    return ".".join(reversed(parts))


def _called(tree: ast.AST) -> dict[str, str]:
    """Return what the package and its module of figures are called in some code."""
    called = {}
    for node in _nodes(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "mapgauge" or (alias.name == "mapgauge.plot" and alias.asname):
                    called[alias.asname or alias.name] = alias.name
        if isinstance(node, ast.ImportFrom) and node.module == "mapgauge":
            called |= {alias.asname or alias.name: "mapgauge.plot" for alias in node.names if alias.name == "plot"}
    return called


def _targets(tree: ast.AST, package: str = "") -> Iterator[str]:
    """Yield the names that code imports from the package, ``mg.name`` and ``getattr(mg, "name")`` included."""
    called = _called(tree)
    for node in _nodes(tree):
        targets = []
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            source = _source_of(node, package)
            targets = [f"{source}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Attribute):
            first, *rest = _dotted(node).split(".")
            targets = [".".join([called[first], *rest])] if first in called else []
        elif isinstance(node, ast.Call) and _dotted(node.func) == "getattr":
            first, name = _dotted(node.args[0]), _text_of(node.args[1])
            targets = [f"{called[first]}.{name}"] if first in called and name else []
        yield from (target for target in targets if target.split(".")[0] == "mapgauge")


def _source_of(node: ast.ImportFrom, package: str) -> str:
    """Return the module that names are imported from, ``from .. import x`` included."""
    if node.level == 0:
        return node.module or ""
    parts = package.split(".")
    return ".".join([*parts[: len(parts) - node.level + 1], *([node.module] if node.module else [])])


def _text_of(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return ""


_FEATURE = re.compile(r"\bmapgauge\.features\.[\w.]+")


def _named(tree: ast.AST) -> Iterator[str]:
    """Yield what code names by a text: ``public("name")``, and any text with the module of a feature."""
    for node in _nodes(tree):
        if isinstance(node, ast.Call) and _dotted(node.func).rpartition(".")[2] == "public" and node.args:
            yield f"mapgauge.{_text_of(node.args[0])}"
        yield from _FEATURE.findall(_text_of(node))


def _module(target: str) -> str:
    """Return the module of an imported name, which may be the module itself, or a public name of the package."""
    parts = target.split(".")[1:]
    if parts[:1] == ["plot"] and len(parts) > 1 and parts[1] in FIGURES:
        return FIGURES[parts[1]]
    for end in range(len(parts), 0, -1):
        if ".".join(parts[:end]) in MODULES and not (end == 1 and parts[0] in PUBLIC):
            return ".".join(parts[:end])
    return PUBLIC.get(parts[0], "__init__") if parts else "__init__"


def _home(place: str) -> str:
    return place.partition(":")[0].removeprefix("mapgauge.")


PUBLIC = {name: _home(one.full(place)) for one in manifest.own() for name, place in one.feature.names.items()}
FIGURES = {name: _home(one.full(row.place)) for one in manifest.own() for name, row in one.feature.figures.items()}


def test_rooms_import_one_way() -> None:
    wrong = [f"{name} imports {other}" for name in MODULES for other in imports_of(name) if rank(other) > rank(name)]
    assert not wrong, wrong


def is_feature(name: str) -> bool:
    return name.startswith("features.")


def test_the_core_imports_no_feature() -> None:
    wrong = [
        f"{name} imports {other}"
        for name in MODULES
        for other in uses_of(name)
        if is_feature(other) and not is_feature(name) and other != "features"
    ]
    assert not wrong, wrong


def test_a_feature_imports_only_the_features_that_its_manifest_needs() -> None:
    needs = {one.name: {one.name, *one.feature.needs} for one in manifest.own() if one.module != manifest.CORE}
    wrong = [
        f"{name} imports {other}"
        for name in MODULES
        for other in uses_of(name)
        if is_feature(name) and is_feature(other) and feature_of(other) not in needs[feature_of(name)]
    ]
    assert not wrong, wrong


def commands_in(tree: ast.Module, commands: set[str], *, with_docstrings: bool) -> set[str]:
    """Return which commands the texts of some code name: ``mapgauge NAME``, or the name between backticks."""
    nodes = list(ast.walk(tree))
    described = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docstrings = {ast.get_docstring(node, clean=False) for node in nodes if isinstance(node, described)}
    texts = set(map(_text_of, nodes))
    names = "|".join(map(re.escape, commands))
    found = set()
    for text in texts:
        if with_docstrings or text not in docstrings:
            found |= set(re.findall(rf"(?:\bmapgauge |(?<!`)`)({names})\b", text))
    return found


def test_what_the_core_prints_names_no_command_of_a_feature() -> None:
    """The docstrings of the command line are its help. Others are for readers of the code."""
    features = [one.feature for one in manifest.own() if one.module != manifest.CORE]
    commands = {command for feature in features for command in (*feature.commands, *feature.lists)}
    if not commands:
        pytest.skip("there are no features")
    wrong = []
    for name in MODULES:
        if not is_feature(name):
            with_docstrings = name.split(".")[0] == "cli" and name != "cli.command"
            found = commands_in(_tree(name), commands, with_docstrings=with_docstrings)
            wrong += [f"{name} names {command}" for command in found]
    assert not wrong, wrong


def test_commands_are_found_in_texts() -> None:
    code = 'def help():\n    "Prints `masks`."\nTEXT = "check it with mapgauge verify"\nMORE = f"{1}, see `cite`"\n'
    tree = ast.parse(code)
    commands = {"masks", "verify", "cite"}
    assert commands_in(tree, commands, with_docstrings=True) == commands
    assert commands_in(tree, commands, with_docstrings=False) == {"verify", "cite"}
    without = ast.parse('A = "mapgauge evaluate", "verify it", "``cite``"')
    assert commands_in(without, commands, with_docstrings=True) == set()


def feature_of(name: str) -> str:
    """Return the feature of a module."""
    return name.split(".")[1]


def test_tests_of_a_feature_import_no_other_feature_and_no_picture() -> None:
    """Pictures of the documentation import many features. So such tests would fail where others were deleted."""
    needs = {one.name: {one.name, *one.feature.needs} for one in manifest.own()}
    wrong = []
    for path in sorted((TESTS / "features").rglob("*.py")):
        parts = path.relative_to(TESTS / "features").parts
        if len(parts) < 2:
            continue
        allowed = needs[parts[0]]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ImportFrom) or node.module is None:
                continue
            room, *rest = node.module.split(".")
            other = rest[1] if len(rest) > 1 and rest[0] == "features" else None
            if room == "docs" or (other is not None and other not in allowed):
                wrong.append(f"{path.relative_to(TESTS)} imports {node.module}")
    assert not wrong, wrong


TRACKING = "features.tracks.tracking"
SPELLINGS = {
    "from mapgauge import track": TRACKING,
    "from mapgauge import track as t": TRACKING,
    "from mapgauge.features.tracks import tracking": TRACKING,
    "from mapgauge.features.tracks.tracking import track": TRACKING,
    "import mapgauge.features.tracks.tracking": TRACKING,
    "import mapgauge as mg\nmg.track": TRACKING,
    "import mapgauge\nmapgauge.track(1)": TRACKING,
    "import mapgauge as mg\nmg.features.tracks.tracking": TRACKING,
    'import mapgauge as mg\ngetattr(mg, "track")': TRACKING,
    'import mapgauge as mg\ngetattr(mg, "track", None)': TRACKING,
    "from ..tracks import tracking": TRACKING,
    "from ..tracks.tracking import track": TRACKING,
    "from ...features.tracks.tracking import track": TRACKING,
    "from ... import track": TRACKING,
    'import_module("mapgauge.features.tracks.tracking")': TRACKING,
    'importlib.import_module("mapgauge.features.tracks.tracking")': TRACKING,
    'PLACE = "mapgauge.features.tracks.tracking:track"': TRACKING,
    'f"{1} mapgauge.features.tracks.tracking"': TRACKING,
    'public("track")': TRACKING,
    'manifest.public("track")': TRACKING,
    "import mapgauge as mg\nmg.plot.splits": "features.splits.figure",
    "from mapgauge import plot\nplot.splits": "features.splits.figure",
    "from mapgauge import plot as figures\nfigures.splits(1)": "features.splits.figure",
    "import mapgauge.plot as figures\nfigures.splits(1)": "features.splits.figure",
    'import mapgauge.plot as figures\ngetattr(figures, "splits")': "features.splits.figure",
    "from .sibling import x": "features.priors",
    "from mapgauge import sospa": "distances.sospa",
    "import mapgauge as mg\nmg.__version__": "version",
}


@pytest.mark.whole
@pytest.mark.parametrize("code", SPELLINGS)
def test_the_laws_of_imports_see_every_spelling(code: str) -> None:
    tree = ast.parse(code)
    found = {_module(target) for target in [*_targets(tree, "mapgauge.features.priors"), *_named(tree)]}
    assert SPELLINGS[code] in found


@pytest.mark.whole
def test_imports_for_type_checkers_are_not_counted() -> None:
    tree = ast.parse("if TYPE_CHECKING:\n    from mapgauge import track\n    PLACE = 'mapgauge.features.tracks'\n")
    assert [*_targets(tree), *_named(tree)] == []


def keys_written(code: str) -> set[str]:
    """Return the keys that the module of a section writes into pages: those of ``meta``, and the names of arrays.

    Names of arrays begin with the number of a method, which is left out. A module without a section writes nothing.
    """
    found: set[str] = set()
    nodes = list(ast.walk(ast.parse(code)))
    bases = [ast.unparse(base) for node in nodes if isinstance(node, ast.ClassDef) for base in node.bases]
    if "Section" not in bases:
        return found
    for node in nodes:
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "Added":
            of_meta = [*node.args[:1], *(one.value for one in node.keywords if one.arg == "meta")]
            found |= {key for value in of_meta for key in _keys_of(value)}
        if isinstance(node, ast.FunctionDef) and node.name == "scenes_meta":
            returned = [inner.value for inner in ast.walk(node) if isinstance(inner, ast.Return) and inner.value]
            found |= {key for value in returned for key in _keys_of(value)}
        is_set = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
        if is_set and isinstance(node.slice, ast.JoinedStr):  # type: ignore[attr-defined]
            texts = [_text_of(part).strip(".") for part in node.slice.values]  # type: ignore[attr-defined]
            found |= {text for text in texts if text}
    return found


def _keys_of(node: ast.AST) -> list[str]:
    if not isinstance(node, ast.Dict):
        return []
    return [text for key in node.keys if key is not None and (text := _text_of(key))]


def keys_read(script: str, keys: set[str]) -> set[str]:
    """Return which of some keys a script reads: ``meta.key``, ``meta["key"]``, ``{ key } = meta``, or as a name."""
    found = set()
    for key in keys:
        name = re.escape(key)
        ways = (rf"\bmeta\??\.{name}\b", rf"[\"'`.}}]{name}[\"'`]", rf"\{{[^{{}}]*\b{name}\b[^{{}}]*\}}\s*=\s*meta\b")
        if any(re.search(way, script) for way in ways):
            found.add(key)
    return found


def test_the_law_of_scripts_sees_every_spelling() -> None:
    section = (
        'class S(Section):\n    def added(self):\n        return Added({"strips": {"count": 1}}, arrays)\n'
        '    def scenes_meta(self):\n        return {"scenesOfIt": {"all": 1}}\n'
        'def made(arrays):\n    arrays[f"{k}.strip.text"] = 1\n    return Added(meta={"more": 1}, about=f"{k} x")\n'
    )
    keys = keys_written(section)
    assert keys == {"strips", "scenesOfIt", "more", "strip.text"}
    for script, key in {
        "const all = meta.strips;": "strips",
        "const all = meta?.strips.scenes;": "strips",
        'const all = meta["more"];': "more",
        "const { scenesOfIt, other } = meta;": "scenesOfIt",
        "const cells = arrays[`${method}.strip.text`];": "strip.text",
    }.items():
        assert keys_read(script, keys) == {key}
    assert keys_written(section.replace("(Section)", "")) == set()
    assert keys_read("meta.strip; meta.stripsOf; // strips, more\nconst strips = 1;", keys) == set()


def test_scripts_read_no_data_of_other_features() -> None:
    """The scripts of the core read none either. A feature may read what those write that it needs."""
    written: dict[str, set[str]] = {}
    for name, path in MODULES.items():
        if is_feature(name):
            written.setdefault(feature_of(name), set()).update(keys_written(path.read_text(encoding="utf-8")))
    needs = {one.name: {one.name, *one.feature.needs} for one in manifest.own()}
    wrong = []
    for path in PACKAGE.rglob("*.js"):
        room, owner, *_ = path.relative_to(PACKAGE).parts
        allowed = needs[owner] if room == "features" else set()
        script = path.read_text(encoding="utf-8")
        for feature in written.keys() - allowed:
            read = keys_read(script, written[feature])
            wrong += [f"{path.relative_to(PACKAGE)} reads {key}, which the feature {feature} writes" for key in read]
    assert not wrong, wrong


def rows_of_contributing() -> list[str]:
    """The rows of the map in CONTRIBUTING.md."""
    text = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line.startswith("| `")]


def test_the_map_of_contributing_names_every_room() -> None:
    rows = [line.split("|")[1] for line in rows_of_contributing()]
    named = [room for row in rows for room in re.findall(r"`(\w+)`", row)]
    there = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert sorted(named) == sorted(there)
    assert there == {room for room in ROOMS if "." not in room}


@pytest.mark.whole
def test_the_map_of_contributing_names_every_feature() -> None:
    features = {path.name for path in (PACKAGE / "features").iterdir() if (path / "__init__.py").exists()}
    described = next(line for line in rows_of_contributing() if line.startswith("| `features`"))
    assert features == set(re.findall(r"`(\w+)`", described)) - {"features"}


def test_no_two_modules_need_each_other() -> None:
    graph = {name: set(imports_of(name)) - {name} for name in MODULES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(f"a cycle of imports: {' <- '.join(error.args[1])}") from error


def has_kernels(name: str) -> bool:
    """Whether a module belongs to the compiled code: the folder of kernels, kernels of features, and of pickles."""
    compiled = name.split(".")[0] == "kernels" or (not name.startswith("training") and name.endswith("kernels"))
    return compiled or name == "io.pickles.opcodes"  # the tables that kernels of pickles and their callers share


def test_kernels_stand_alone() -> None:
    for name in MODULES:
        if has_kernels(name):
            assert all(map(has_kernels, imports_of(name))), name


def test_kernels_do_not_raise() -> None:
    """A kernel inside a kernel has no environment for exceptions (``kernels/_inner.py``)."""
    for module in filter(has_kernels, MODULES):
        for function in ast.walk(_tree(module)):
            if isinstance(function, ast.FunctionDef) and any(
                isinstance(one, ast.Name) and one.id.startswith("jit") for one in function.decorator_list
            ):
                wrong = [node.lineno for node in ast.walk(function) if isinstance(node, ast.Raise | ast.Assert)]
                assert not wrong, f"{module}:{wrong}"


def test_the_readme_of_kernels_names_every_module_and_no_other() -> None:
    folder = PACKAGE / "kernels"
    rows = [line for line in (folder / "README.md").read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    named = [name for row in rows for name in re.findall(r"`(\w+\.py)`", row.split("|")[1])]
    assert sorted(named) == sorted(path.name for path in folder.glob("*.py") if path.name != "__init__.py")


# Files are read by ``files``, which refuses devices and pipes, bounds what is read, and knows what a command writes.
# These modules read what comes with the package, what they wrote themselves a moment ago, or bytes in memory.
OPENS = {
    "cli",
    "cli.inputs",
    "cli.methods",
    "scoring.precision",
    "features.provenance",
    "features.splits.neighbours",
    "results.saving",
    "training.loggers",
    "truth.from_nuscenes.tables",
    "truth.selection",
    "views.report.explorer",
}
READING = {"open", "read_bytes", "read_text", "fromfile", "loadtxt", "memmap", "np.load"}


@pytest.mark.whole
def test_files_are_read_in_one_place() -> None:
    found = set()
    for name in MODULES:
        calls = [_dotted(node.func) for node in ast.walk(_tree(name)) if isinstance(node, ast.Call)]
        called = {*calls, *(call.rpartition(".")[2] for call in calls)}
        if READING & called and name.split(".")[0] != "kernels" and not name.startswith("io.files"):
            found.add(name)
    assert found == OPENS


def loaded_after(code: str) -> set[str]:
    """Return the packages that a separate process imports when it runs some code."""
    full = f"import sys\n{code}\nprint(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", full], capture_output=True, text=True, check=True, encoding="utf-8")
    return set(done.stdout.split())


SLOW = {
    "numba",
    "scipy",
    "pyarrow",
    "matplotlib",
    "torch",
    "torchmetrics",
    "mmengine",
    "shapely",
    "pandas",
    "distributed",
}


def test_importing_the_package_imports_next_to_nothing() -> None:
    assert not (SLOW | {"numpy", "msgspec"}) & loaded_after("import mapgauge")


def test_naming_everything_imports_nothing_slow() -> None:
    figures = ("loggers", "plot")  # these need matplotlib
    loaded = loaded_after(f"import mapgauge\nfor name in set(dir(mapgauge)) - set({figures}): getattr(mapgauge, name)")
    assert not SLOW & loaded
    assert "numpy" in loaded


COMMAND_LINE = {"", "app", "command", "compiling", "file_grammar", "helps", "inputs", "options", "output", "parsing"}


def modules_after(*lines: tuple[str, ...]) -> list[set[str]]:
    """Return the modules that are imported after each of some command lines, which one process runs in turn."""
    code = (
        "import sys\n"
        "from mapgauge.cli import main\n"
        f"for line in {lines!r}:\n"
        "    sys.argv = ['mapgauge', *line]\n"
        "    try:\n        main()\n"
        "    except SystemExit:\n        pass\n"
        "    print('imported:', *sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, encoding="utf-8")
    return [set(line.split()) for line in done.stderr.splitlines() if line.startswith("imported:")]


def inside(modules: set[str], package: str) -> set[str]:
    """Return the modules of a package, without its name; "" is the package itself."""
    return {
        name.removeprefix(package).removeprefix(".")
        for name in modules
        if name == package or name.startswith(f"{package}.")
    }


def test_the_version_is_printed_without_a_command() -> None:
    (modules,) = modules_after(("--version",))
    assert inside(modules, "mapgauge.cli") <= COMMAND_LINE
    assert not inside(modules, "mapgauge.features")
    assert not {"numpy", "msgspec"} & modules


def test_usage_errors_and_help_import_only_what_a_command_needs_to_parse_its_options() -> None:
    lines: list[tuple[str, ...]] = [
        (),
        ("evaluate",),
        ("evaluate", "predictions.json", "truth.json", "--ranges"),
        ("compare",),
        ("inspect",),
        ("report", "--help"),
        ("show", "-o"),
    ]
    for line, modules in zip(lines, modules_after(*lines), strict=True):
        assert not (SLOW | {"numpy", "msgspec"}) & modules, line
        assert not inside(modules, "mapgauge.answers") | inside(modules, "mapgauge.checks"), line
        assert not inside(modules, "mapgauge.io") | inside(modules, "mapgauge.results"), line


def test_an_evaluation_imports_no_report_and_no_streaming(tmp_path: Path) -> None:
    predictions, truth = demo_world(2)
    mg.write(predictions, tmp_path / "predictions.json", "streammapnet")
    mg.write(truth, tmp_path / "truth.json", "maptr-truth")
    given = ("evaluate", str(tmp_path / "predictions.json"), str(tmp_path / "truth.json"))
    with_values, with_words = modules_after((*given, "--csv"), given)
    assert "mapgauge.scoring.score" in with_values
    assert not inside(with_values, "mapgauge.views") | inside(with_values, "mapgauge.evaluation.streaming")
    assert not {"mapgauge.answers.answer", "mapgauge.results.pooled"} & with_values
    assert not inside(with_words, "mapgauge.views.report")


def test_editing_one_kernel_recompiles_those_that_use_it(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "mapgauge", ignore=shutil.ignore_patterns("__pycache__"))
    code = (
        "import numpy as np; from mapgauge.kernels.lines import square_between;"
        "square_between(np.zeros((2, 2)), 0, 1); print(sum(square_between.entry.stats.cache_hits.values()))"
    )

    def cache_hits() -> int:
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        run = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment, encoding="utf-8"
        )
        return int(run.stdout)

    assert [cache_hits(), cache_hits()] == [0, 1]
    for edited, hits in (("chain", 1), ("_inner", 0)):
        file = tmp_path / "mapgauge" / "kernels" / f"{edited}.py"
        file.write_text(file.read_text(encoding="utf-8") + "\n", encoding="utf-8")
        assert cache_hits() == hits, edited


def test_kernels_work_where_nothing_can_be_written(tmp_path: Path) -> None:
    code = (
        "import numpy as np; from mapgauge.kernels.lines import square_between;"
        "print(square_between(np.eye(2), 0, 1), square_between(np.eye(2, dtype=np.float32), 0, 1))"
    )
    (tmp_path / "file").touch()
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "file" / "cache")}
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment, encoding="utf-8"
    )
    assert run.stdout.strip() == "2.0 2.0"
    assert run.stderr.count("Not a directory). They are compiled again in every run. Set the environment") == 1


def test_a_class_name_means_one_thing_in_the_whole_package() -> None:
    places: dict[str, list[str]] = {}
    for module in sorted(MODULES):
        for node in ast.walk(_tree(module)):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name.lstrip("_"), []).append(module)
    assert {name: where for name, where in places.items() if len(where) > 1} == {}
