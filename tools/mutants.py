"""Mutation testing: changes a module in small ways, and lists the changes that no test notices.

``make mutants MODULE=metrics/pld.py`` runs this::

    python -m tools.mutants metrics/pld.py

Only code inside functions is changed, and not the messages of errors. A change is made in memory, in a forked process
that runs the tests that reach the changed function. Compiled kernels cannot be changed in this way.
"""

import ast
import copy
import gc
import inspect
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import _lru_cache_wrapper
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

SOURCE = Path(__file__).parents[1] / "src" / "mapgauge"
TABLE = ("tests/metrics/test_table.py",)
SCORING = tuple(f"tests/evaluation/test_{name}.py" for name in ("exact", "precision", "threads", "totals"))
STABILITY = ("tests/features/tracks/test_stability.py",)
_ROW = "tests/features/tracks/test_track_pld_row.py::test_"  # the other tests of the row take longer
TRACKS = (
    "tests/features/tracks/test_track_pld.py",
    f"{_ROW}its_values_are_those_of_the_scenes",
    f"{_ROW}switch_cost_0_has_the_bits_of_pld",
    f"{_ROW}the_same_id_in_another_class_or_on_the_other_side_is_another_track",
    f"{_ROW}the_longest_instance_in_each_frame_is_the_track_if_a_track_repeats",
    f"{_ROW}tracks_that_repeat_in_a_frame_are_counted",
)
# Without the tests of samples and of random frames, which take longer.
CHECKS = tuple(
    f"tests/checks/test_{name}.py"
    for name in (
        "classes",
        "confidence",
        "coordinates",
        "counts",
        "degrees",
        "links",
        "region",
        "shapes",
        "tokens",
        "tracks",
    )
)
# The tests of each module. Its doctests are added.
TESTS = {
    **{
        f"checks/{name}.py": CHECKS
        for name in ("context", "coordinates", "instances", "links", "names", "neighbours", "tracks")
    },
    "scoring/prepare.py": (
        "tests/evaluation/test_axes.py",
        "tests/evaluation/test_errors.py",
        "tests/evaluation/test_prepare.py",
    ),
    "metrics/completeness.py": ("tests/metrics/test_completeness.py", "tests/metrics/test_short_lengths.py"),
    "../../tests/kernels/reference.py": ("tests/kernels/test_reference.py",),
    "metrics/metric.py": TABLE,
    "features/graph_scores/checks.py": ("tests/features/graph_scores/test_checks.py",),
    "features/tracks/checks.py": ("tests/features/tracks/test_checks.py",),
    "features/tracks/consistent_ap.py": ("tests/features/tracks/test_consistent_ap.py", *STABILITY),
    "metrics/average_precision.py": (
        "tests/metrics/test_average_precision.py",
        "tests/metrics/test_matching.py",
        *SCORING,
        *TABLE,
    ),
    "metrics/pld.py": ("tests/metrics/test_pld_result.py", "tests/metrics/test_pld_values.py"),
    "metrics/table.py": TABLE,
    "features/tracks/track_pld.py": TRACKS,
    "features/tracks/track_scene.py": TRACKS,
    **{
        f"results/{name}.py": ("tests/results/test_bootstrap.py", "tests/results/test_intervals.py")
        for name in ("drawn_precisions", "drawn_values", "estimation", "intervals", "standard_errors", "student")
    },
    "scoring/precision.py": SCORING,
    "scoring/scores.py": SCORING,
}
SWAPPED: tuple[tuple[type[ast.AST], type[ast.AST]], ...] = (
    *((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn)),
    *((ast.Add, ast.Sub), (ast.Mult, ast.Div), (ast.LShift, ast.RShift), (ast.BitAnd, ast.BitOr), (ast.And, ast.Or)),
)
REPLACED = ((ast.FloorDiv, ast.Div), (ast.Mod, ast.Mult), (ast.Pow, ast.Mult), (ast.USub, ast.UAdd))
OPERATORS = {**dict(SWAPPED), **{b: a for a, b in SWAPPED}, **dict(REPLACED), ast.Invert: ast.UAdd}
CALLS = {"min": "max", "any": "all", "minimum": "maximum", "ones": "zeros"}
CALLS |= {to: name for name, to in CALLS.items()} | {"sorted": "list"}
KILLED, BROKEN, NOT_APPLIED = 1, 2, 3  # exit codes of the process of a mutant; 0 if it survives
TOO_LONG = (-signal.SIGALRM, -signal.SIGXCPU, -signal.SIGKILL)

Change = Callable[[Any], None]


def put(name: str, value: Any) -> Change:
    """Return a change that sets a field of a node."""
    return lambda node: setattr(node, name, value)


def put_at(name: str, index: int, *values: Any) -> Change:
    """Return a change that replaces an item of a field of a node by others, or by none."""

    def change(node: Any) -> None:
        getattr(node, name)[index : index + 1] = values

    return change


def negate(node: Any) -> None:
    """Negate the condition of a node."""
    node.test = ast.UnaryOp(ast.Not(), node.test)


def changes(node: ast.AST, in_raise: bool) -> Iterator[Change]:
    """Yield all changes of one node, without those of its children."""
    if isinstance(node, ast.Compare):
        yield from (put_at("ops", k, OPERATORS[type(op)]()) for k, op in enumerate(node.ops))
    elif isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp | ast.UnaryOp) and not in_raise:
        if type(node.op) in OPERATORS:
            yield put("op", OPERATORS[type(node.op)]())
        elif isinstance(node.op, ast.Not):
            yield put("operand", ast.UnaryOp(ast.Not(), node.operand))
    elif isinstance(node, ast.Constant):
        yield from (put("value", value) for value in other_constants(node.value, in_raise))
    elif isinstance(node, ast.Call):
        name = next((field for field in ("id", "attr") if hasattr(node.func, field)), None)
        if name is not None and getattr(node.func, name) in CALLS:
            to = CALLS[getattr(node.func, name)]
            yield lambda node: setattr(node.func, name, to)
        dropped = [k for k, keyword in enumerate(node.keywords) if keyword.arg not in (None, "strict")]
        yield from (put_at("keywords", k) for k in dropped if not in_raise)
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        yield negate
    elif isinstance(node, ast.comprehension):
        yield from (put_at("ifs", k) for k in range(len(node.ifs)))
    elif isinstance(node, ast.Return) and node.value is not None:
        yield put("value", ast.Constant(None))
    for block in ("body", "orelse"):
        statements = getattr(node, block, None)
        if isinstance(statements, list):
            yield from (put_at(block, k, ast.Pass()) for k, one in enumerate(statements) if can_be_left_out(one))


def other_constants(value: object, in_raise: bool) -> Iterator[object]:
    """Yield constants to put in the place of one."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield from (value + 1, value - 1)
    elif isinstance(value, str) and value and not in_raise:
        yield f"XX{value}"


def can_be_left_out(statement: ast.stmt) -> bool:
    """Return whether a function without this statement defines the same names."""
    if isinstance(statement, ast.Assign):
        return isinstance(statement.targets[0], ast.Subscript | ast.Attribute)
    return isinstance(statement, ast.Expr | ast.Raise | ast.AugAssign | ast.Break) and not is_text(statement)


def is_text(node: ast.AST) -> bool:
    """Return whether a node is a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def nodes_of_functions(node: ast.AST, function: str = "", in_raise: bool = False) -> Iterator[tuple[Any, str, bool]]:
    """Yield the nodes in functions, with the function and whether they are part of ``raise``.

    Annotations, decorators, defaults of arguments, docstrings and the flag ``strict`` of ``zip`` are left out.
    """
    if isinstance(node, ast.FunctionDef | ast.Lambda):
        function = function or getattr(node, "name", "lambda")
    in_raise = in_raise or isinstance(node, ast.Raise)
    if function:
        yield node, function, in_raise
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list") or isinstance(value, ast.arguments):
            continue
        for child in value if isinstance(value, list) else [value]:
            strict = isinstance(child, ast.keyword) and child.arg == "strict"
            if isinstance(child, ast.AST) and not is_text(child) and not strict:
                yield from nodes_of_functions(child, function, in_raise)


def mutants(tree: ast.Module) -> Iterator[tuple[str, str, ast.Module]]:
    """Yield the function, a description and the changed module of each mutant."""
    for k, (node, function, in_raise) in enumerate(nodes_of_functions(tree)):
        for change in changes(node, in_raise):
            changed = copy.deepcopy(tree)
            target = list(nodes_of_functions(changed))[k][0]
            change(target)
            ast.fix_missing_locations(changed)
            texts = [ast.unparse(one).splitlines() for one in (node, target)]
            if texts[0] == texts[1]:
                continue
            shown = [(a.strip(), b.strip()) for a, b in zip(*texts, strict=False) if a != b]
            before, after = shown[0] if shown else (texts[0][-1].strip(), "")
            line = getattr(node, "lineno", "")
            yield function, f"{line} {function}: {before} -> {after}", changed


def codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the codes of the outermost functions of a module or a class."""
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from [inner] if inner.co_flags & inspect.CO_OPTIMIZED else codes(inner)


def failed(item: Any) -> bool:
    """Run a test and return whether it failed. A doctest empties its names, so they are kept for the next run."""
    names = dict(item.dtest.globs) if isinstance(item, pytest.DoctestItem) else {}
    if hasattr(item, "_initrequest"):
        item._initrequest()
    reports = runtestprotocol(item, log=False, nextitem=None)
    if isinstance(item, pytest.DoctestItem):
        item.dtest.globs.update(names)
    return any(report.failed for report in reports)


def ours(function: Any) -> bool:
    """Return whether a function is part of mapgauge or its tests."""
    return str(getattr(function, "__module__", "")).startswith(("mapgauge", "tests"))


class Session:
    """A plugin of pytest that runs tests once as they are, and then those of each mutant."""

    def __init__(self, module: str, only: str) -> None:
        """Remember the module, and the one function to change, or "" for all."""
        self.path, self.only = SOURCE / module, only
        self.reached: dict[CodeType, list[pytest.Item]] = {}
        self.seconds: dict[pytest.Item, float] = {}
        self.functions: list[FunctionType] = []
        self.caches: list[Any] = []

    def pytest_collection(self) -> None:
        """Turn off the search for a smallest example, which takes long and finds no further failure."""
        import hypothesis  # not earlier, because pytest wants to import it first

        phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
        hypothesis.settings.register_profile("mutants", hypothesis.settings(), phases=phases)
        hypothesis.settings.load_profile("mutants")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try all mutants, and print those that survive."""
        for item in session.items:
            self.run_as_it_is(item)
        again = self.run_forked(list(self.seconds), lambda: 1)
        if again != 0:
            pytest.exit("Some tests fail when they run twice in a process.", 1)
        gc.unfreeze()  # the conftest freezes what was collected, and frozen objects are not listed
        objects = gc.get_objects()
        functions = [one for one in objects if type(one) is FunctionType]
        self.functions = [one for one in functions if one.__code__.co_filename == str(self.path)]
        self.caches = [one for one in objects if type(one) is _lru_cache_wrapper and ours(one)]
        gc.freeze()  # forked processes share the memory of these objects
        print(f"{len(self.seconds)} tests, {sum(self.seconds.values()):.0f} s", flush=True)
        tree = ast.parse(self.path.read_text("utf-8"))
        plain = list(codes(compile(tree, str(self.path), "exec")))
        count = {"killed": 0, "survives": 0, "runs on": 0, "broken": 0, "same code": 0, "no test": 0, "not applied": 0}
        for function, text, changed in mutants(tree):
            if function == self.only or not self.only:
                start = time.time()
                outcome = self.outcome(plain, list(codes(compile(changed, str(self.path), "exec"))))
                count[outcome] += 1
                if outcome not in ("killed", "same code") or "-v" in sys.argv:
                    print(f"{outcome} ({time.time() - start:.1f} s): {self.path.name}:{text}", flush=True)
        print(self.path.name, count)
        return True

    def run_as_it_is(self, item: pytest.Item) -> None:
        """Run a test without a mutant, measure it, and note which functions it reaches."""
        reached = set()

        def note(frame: FrameType, event: str, _: object) -> None:
            if event == "call" and frame.f_code.co_filename == str(self.path):
                reached.add(frame.f_code)

        threading.setprofile(note)
        sys.setprofile(note)
        start = time.process_time()
        bad = failed(item)
        sys.setprofile(None)
        threading.setprofile(None)
        if bad:
            print("fails without a mutant:", item.nodeid, flush=True)
            return
        self.seconds[item] = time.process_time() - start
        for code in reached:
            self.reached.setdefault(code, []).append(item)

    def outcome(self, plain: list[CodeType], changed: list[CodeType]) -> str:
        """Run the tests of a mutant, and return what became of it."""
        new = {old: code for old, code in zip(plain, changed, strict=True) if old != code}
        tests = sorted({item for old in new for item in self.reached.get(old, [])}, key=self.seconds.__getitem__)
        if not new:
            return "same code"
        if not tests:
            return "no test"

        def change() -> int:
            changed = [function for function in self.functions if function.__code__ in new]
            for function in changed:
                function.__code__ = new[function.__code__]
            for cache in self.caches:
                cache.cache_clear()
            return len(changed)

        status = self.run_forked(tests, change)
        outcomes = {0: "survives", BROKEN: "broken", NOT_APPLIED: "not applied", **dict.fromkeys(TOO_LONG, "runs on")}
        return outcomes.get(status, "killed")

    def run_forked(self, tests: list[pytest.Item], change: Callable[[], int]) -> int:
        """Run tests in a forked process after a change, until one fails. Return the exit code, or minus the signal.

        The change returns how many functions it has changed. If there are none, no test could notice it.
        """
        seconds = 4 + 5 * sum(self.seconds[item] for item in tests)
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            signal.alarm(int(10 * seconds))
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds + time.process_time()),) * 2)
            resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            try:
                applied = change()
            except BaseException:
                os._exit(BROKEN)
            if not applied:
                os._exit(NOT_APPLIED)
            try:
                os._exit(KILLED if any(map(failed, tests)) else 0)
            except BaseException:
                os._exit(KILLED)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main(module: str, only: str = "") -> None:
    """Try all mutants of a module, or of one of its functions."""
    os.environ.setdefault("CI", "1")  # the same random examples for every mutant
    os.environ.setdefault("MAPGAUGE_EXAMPLES", "30")
    options = ["-q", "-s", "-p", "no:cacheprovider", *TESTS[module], str(SOURCE / module)]
    sys.exit(pytest.main(options, [Session(module, only)]))


if __name__ == "__main__":
    main(*(argument for argument in sys.argv[1:] if argument != "-v"))
