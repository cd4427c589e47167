"""Kernels that are interpreted: the same bits as compiled ones, and only while there is little to do."""

import importlib.util
import json
import os
import pkgutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.arrays import Points

import mapgauge as mg
from mapgauge import kernels
from mapgauge.cli.compiling import compile_for
from mapgauge.kernels import _jit, compiling, interpreting
from mapgauge.kernels._jit import Kernel
from mapgauge.kernels.compiling import kernel_named
from mapgauge.kernels.interpreting import interpreted_while_small, is_small
from mapgauge.kernels.lines import Lines
from mapgauge.kernels.progress import WATCH

PACKAGE = Path(mg.__file__).parent
Arguments = tuple[Any, ...]

LITTLE = """
from mapgauge.kernels import _jit

@_jit.jit
def square(a):
    return a * a

@_jit.jit
def total(count):
    total = 0.0
    for i in range(count):
        total += square(1.0 * i)
    return total

@_jit.jit
def inverse(a):
    return 1.0 / a
"""


def a_line(rng: np.random.Generator, dimension: int) -> Points:
    """Return a line: with ties, a walk, a heap, a ring or nearly straight; with few points or none; tiny or huge."""
    n = int(rng.choice([0, 1, 2, 3, 4, 5, 7, 9, 20, 33]))
    turn = np.linspace(0, 2 * np.pi, n, endpoint=False)[:, None]
    shapes = [
        rng.integers(0, 4, (n, dimension)) * 0.5,
        np.cumsum(rng.normal(0, 0.5, (n, dimension)), axis=0),
        rng.uniform(0, 2, (n, dimension)),
        np.cos(turn + np.arange(dimension)) * n / 10 + rng.normal(0, 0.1, (n, dimension)),
        np.arange(n)[:, None] * rng.uniform(0, 0.7, dimension) + rng.normal(0, 0.1, (n, dimension)),
    ]
    scale = rng.choice([1.0, -1.0, 0.0, 1e6, 1e-160, 1e160], p=[0.7, 0.1, 0.05, 0.05, 0.05, 0.05])
    return np.asarray(scale * shapes[rng.integers(len(shapes))])


def some_lines(rng: np.random.Generator, count: int, least: int = 0) -> mg.Polylines:
    dimension = int(rng.choice([1, 2, 2, 2, 3, 4]))
    lines: list[np.ndarray] = []
    while len(lines) < count:
        line = a_line(rng, dimension)
        lines += [line] if len(line) >= least else []
        if len(lines) in range(1, count) and rng.random() < 0.3:  # the same, read in another way
            lines.append(np.roll(lines[-1], int(rng.integers(3)), axis=0)[:: int(rng.choice([1, -1]))])
    return mg.Polylines.pack(lines, [str(i) for i in range(count)], dimension)


def packed(polylines: mg.Polylines) -> Arguments:
    offsets = polylines.offsets.astype(np.uint64)
    return np.ascontiguousarray(polylines.coords.T), offsets[:-1], offsets[1:]


def indexed(polylines: mg.Polylines) -> Lines:
    lines: Lines = kernels.lines.index_lines(*packed(polylines))
    return lines


def settings(rng: np.random.Generator) -> tuple[bool, float, float, None]:
    return bool(rng.integers(2)), float(rng.choice([0.1, 0.5, 1.5, 3.0, 1e6])), 1.0, None


def flags(rng: np.random.Generator, count: int) -> Points:
    return np.asarray(rng.random(count) < rng.choice([0.0, 0.5]))


def weights(rng: np.random.Generator, count: int) -> Points:
    return rng.choice([0.0, 0.2, 0.5, 1.0], count) if rng.random() < 0.5 else rng.random(count)


def align_two(rng: np.random.Generator) -> Arguments:
    return (indexed(some_lines(rng, 2)), flags(rng, 2), *settings(rng))


def align_matrix(rng: np.random.Generator) -> Arguments:
    shape = rng.choice([0, 1, 2, 5, 12], 2)
    distance = rng.integers(0, 5, shape) * 0.5 if rng.random() < 0.5 else rng.uniform(0, 2, shape)
    return (distance, bool(rng.integers(2)), *settings(rng))


def values_of_pairs(rng: np.random.Generator) -> Arguments:
    return (indexed(some_lines(rng, 5)), flags(rng, 5), rng.integers(0, 5, (6, 2)), *settings(rng))


def chamfer_of_lines(rng: np.random.Generator) -> Arguments:
    return indexed(some_lines(rng, 2, least=1)), 0, 1


def frechet_both_shifted(rng: np.random.Generator) -> Arguments:
    return *chamfer_of_lines(rng), bool(rng.integers(2)), bool(rng.integers(2))


def pld_of_groups(rng: np.random.Generator) -> Arguments:
    out = np.zeros((2, 6)), np.full(6, -1)
    return (indexed(some_lines(rng, 6)), flags(rng, 6), weights(rng, 6), bounds_of(rng, 6), *settings(rng), *out)


def bounds_of(rng: np.random.Generator, count: int) -> Points:
    cuts = np.sort(rng.integers(0, count + 1, 3))
    return np.array([[0, cuts[0], cuts[1]], [cuts[1], cuts[2], count]])


def hits_of_lines(rng: np.random.Generator) -> Arguments:
    lines, bounds = indexed(some_lines(rng, 8, least=1)), bounds_of(rng, 8)
    closed = None if rng.random() < 0.5 else flags(rng, 8)
    order = np.concatenate(
        [start + rng.permutation(stop - start) for ends in bounds for start, stop in [ends[[0, 1]], ends[[1, 2]]]]
    )
    factor = rng.choice([1.0, 0.5, 0.7], 8)
    return (
        lines,
        closed,
        bounds,
        order,
        factor,
        bool(rng.integers(2)),
        np.array([0.5, 1.0, 1.5]),
        bool(rng.integers(2)),
        np.zeros(8, np.uint16),
    )


def lengths_of(rng: np.random.Generator) -> Arguments:
    polylines = some_lines(rng, 3)
    return polylines.coords, polylines.offsets


def resample_lines(rng: np.random.Generator) -> Arguments:
    x = some_lines(rng, 3)
    y = mg.Polylines.pack([x[1], x[2] * 0.5], ["a", "b"], x.dimension)
    lengths = np.concatenate([kernels.resample.lengths_of(side.coords, side.offsets) for side in (x, y)])
    step, count = (0.0, int(rng.integers(2, 20))) if lengths.sum() > 100 or rng.random() < 0.5 else (0.3, 0)
    kept = rng.random(5) < 0.2
    return (
        x.coords,
        x.offsets,
        y.coords,
        y.offsets,
        rng.permutation(5),
        np.where(kept, 0.0, lengths),
        kept,
        step,
        bool(rng.integers(2)),
        count,
        float(rng.choice([-1, 0, 0.1])),
    )


def replace_lists(rng: np.random.Generator) -> Arguments:
    numbers = [0, -1, 7.25, 1e-7, 1e22, 123456789.123456789, -0.1, 1e300, 12345678901234567890, 4.35]
    points = [[float(v) for v in rng.choice(numbers, 2)] for _ in range(int(rng.integers(4)))]
    values = [
        rng.choice(numbers, 3).tolist(),
        points,
        [points, [[1, 2], [3.5, 4]]],
        'a [1] \\ "',
        [[1], ["x"]],
        {"k": []},
    ]
    text = json.dumps({str(k): values[int(rng.integers(len(values)))] for k in range(4)}).replace("7.25", "7.2500")
    part = np.frombuffer(text.encode(), np.uint8)
    room = len(part)
    arrays = np.zeros(room + 64, np.uint8), np.zeros(room), np.zeros(room), np.zeros(room, np.int64)
    return part, np.uint64(rng.integers(1000)), *arrays, np.zeros((room, 6), np.int64), np.zeros((room, 4), np.int64)


CASES: dict[str, Callable[[np.random.Generator], Arguments]] = {
    "kernels.lines.index_lines": lambda rng: packed(some_lines(rng, 3)),
    "kernels.sospa.align_two": align_two,
    "kernels.sospa.align_matrix": align_matrix,
    "kernels.sospa.values_of_pairs": values_of_pairs,
    "kernels.chamfer.chamfer_of_lines": chamfer_of_lines,
    "kernels.frechet.frechet_both_shifted": frechet_both_shifted,
    "kernels.pld.pld_of_groups": pld_of_groups,
    "kernels.average_precision.hits_of_lines": hits_of_lines,
    "kernels.resample.lengths_of": lengths_of,
    "kernels.resample.resample_lines": resample_lines,
    "kernels.json_lists.replace_lists": replace_lists,
}


def copied(arguments: Any) -> Any:
    """Return arguments with arrays of their own, because some kernels write into them."""
    return tuple(one.copy() if isinstance(one, np.ndarray) and one.flags.writeable else one for one in arguments)


def assert_same_bits(a: Any, b: Any) -> None:
    assert type(a) is type(b)
    if isinstance(a, Lines):  # the sign of a zero in a box is not defined, and not used
        assert all(map(np.array_equal, a, b))
    elif isinstance(a, tuple):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            assert_same_bits(one, other)
    elif isinstance(a, np.ndarray):
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
    elif isinstance(a, float):
        assert a.hex() == b.hex()
    else:
        assert a == b


def interpreted(kernel: Any, *arguments: Any) -> Any:
    """Interpret a kernel of any size. An error is not caught."""
    with np.errstate(all="ignore"):
        return interpreting._as_compiled(interpreting.python_function(kernel)(*arguments))


@pytest.mark.parametrize("name", CASES)
def test_interpreted_kernels_compute_the_same_bits(name: str, rng: np.random.Generator) -> None:
    kernel: Any = kernel_named(name)
    for _ in range(int(os.environ.get("MAPGAUGE_EXAMPLES", "25"))):
        arguments = CASES[name](rng)
        mine, others = copied(arguments), copied(arguments)
        assert_same_bits(interpreted(kernel, *mine), kernel(*others))
        assert_same_bits(mine, others)


def test_threads_interpret_at_the_same_time(rng: np.random.Generator) -> None:
    kernel: Any = kernels.sospa.align_two
    cases = [align_two(rng) for _ in range(40)]
    with ThreadPoolExecutor(4) as pool:
        for found, arguments in zip(pool.map(lambda one: interpreted(kernel, *one), cases), cases, strict=True):
            assert_same_bits(found, kernel(*arguments))


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Every kernel that may be interpreted is called in both ways, and must give the same bits. Return their names."""
    names = set()

    def both(kernel: Kernel, *arguments: Any, **named: Any) -> Any:
        arguments = kernel.by_position(arguments, named)
        if kernel.size is None:
            return kernel.call_compiled(arguments)
        assert kernel.size(*arguments) >= 0.0
        names.add(kernel.name)
        mine = copied(arguments)
        found = interpreted(kernel, *mine)
        compiled = kernel.call_compiled(arguments)
        assert_same_bits(found, compiled)
        assert_same_bits(mine, arguments)
        return compiled

    monkeypatch.setattr(Kernel, "__call__", both)
    return names


# Kernels whose arguments come from other kernels.
EVALUATED = {
    "kernels.matched_points.match_points",
    "kernels.matched_points.measure_groups",
    "kernels.gains.pairs_of_groups",
}


def a_world(rng: np.random.Generator) -> tuple[mg.MapFrames, mg.MapFrames]:
    """Return a few frames with lines of all shapes, many of them close to each other."""

    def side() -> dict[str, dict[str, list[Points]]]:
        lines = [line for line in (a_line(rng, 2) for _ in range(30)) if len(line) > 1 and np.abs(line).max() < 30]
        share = [lines[k::6] for k in range(6)]
        return {f"frame {k}": {"divider": share[2 * k], "boundary": share[2 * k + 1]} for k in range(3)}

    predictions, truth = side(), side()
    predictions["frame 0"] |= {"boundary": [line + 0.1 for line in truth["frame 0"]["boundary"]]}
    seen = mg.MapFrames.of(predictions)
    return seen.with_confidence(weights(rng, len(seen.label))), mg.MapFrames.of(truth)


def test_evaluations_compute_the_same_bits(checked: set[str], rng: np.random.Generator) -> None:
    metrics = ["pld", "ap_chamfer", "ap_frechet", "ap_sospa", "completeness"]
    for _ in range(5):
        mg.evaluate(
            *a_world(rng),
            mg.protocol("paper-60x30", settings={"ap_sospa": {"thresholds": (0.5,)}}),
            metrics=metrics,
            workers=1,
        )
    assert checked >= EVALUATED


def test_every_kernel_that_may_be_interpreted_is_tested() -> None:
    modules = [getattr(kernels, info.name) for info in pkgutil.iter_modules(kernels.__path__) if info.name[0] != "_"]
    made = {one.name for module in modules for one in vars(module).values() if isinstance(one, Kernel) and one.size}
    assert made == set(CASES) | EVALUATED


# What the first pages of the documentation show. The last line is the number of compiled kernels.
FIRST_STEPS = """
import json, sys
import mapgauge as mg
from numba.core import event

truth = mg.resample([[0, 0], [10, 0]], spacing=0.5)
prediction = mg.resample([[0.2, 0.3], [6, 0.5], [8, 0.4]], count=20)
ring = [[0, 0], [4, 0], [4, 2], [0, 2], [0, 0]]
frames = mg.MapFrames.of({"a": {"divider": [truth], "ped_crossing": [ring]}, "b": {"divider": [truth + 3]}})
seen = mg.MapFrames.of(
    {"a": {"divider": [prediction, truth + 5], "ped_crossing": [ring]}},
    confidence={"a": {"divider": [0.9, 0.2], "ped_crossing": [0.7]}},
)
mg.write(seen, sys.argv[1], "streammapnet")
with event.install_recorder("numba:compile") as compiled:
    results = mg.evaluate(sys.argv[1], frames)
    found = [
        mg.sospa(prediction, truth), mg.sospa(ring, ring[1:], closed=True, directed=False),
        mg.sospa_align(prediction, truth).pairs.tolist(), mg.sospa_from_distances([[0.5, 1.2], [1.0, 0.5]]),
        mg.sospa_matrix([prediction, ring], [truth, ring]).tolist(), mg.chamfer(prediction, truth),
        mg.frechet(prediction, truth), mg.frechet(ring, ring[1:], closed=True),
        mg.pld([prediction, truth + 5], [truth], confidence=[0.9, 0.2]).parts, results.mean,
        [one.distance for one in results.assignment("a").matches],
    ]
print(json.dumps(found))
print(sum(kind.is_start for _, kind in compiled.buffer))
"""


def test_first_steps_compile_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / "seen.json")
    environment = os.environ | {interpreting.SWITCH: "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", FIRST_STEPS, file]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    values, compiled = done.stdout.splitlines()
    assert compiled == "0"
    monkeypatch.setenv(interpreting.SWITCH, "0")
    monkeypatch.setattr(sys, "argv", ["-c", file])
    exec(FIRST_STEPS, {})
    assert values == capsys.readouterr().out.splitlines()[0]


@pytest.fixture
def little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], ModuleType]]:
    """Return a function that imports three small kernels, each time anew. What they compile stays on disk."""
    monkeypatch.setenv(interpreting.SWITCH, "1")
    # Calls are counted by the names of kernels, so the module has another name in each test.
    name = f"little_{tmp_path.name}"
    file = tmp_path / f"{name}.py"
    file.write_text(LITTLE, encoding="utf-8")

    def load() -> ModuleType:
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        interpreting._names_in.cache_clear()
        return module

    yield load
    interpreting._names_in.cache_clear()


def call(kernel: Any, *arguments: Any, size: float = 5) -> Any:
    return interpreted_while_small(100, lambda *_: size)(kernel)(*arguments)


def is_in_memory(kernel: Any) -> bool:
    return bool(kernel.entry.overloads)


def test_a_kernel_with_little_to_do_is_interpreted(little: Callable[[], ModuleType]) -> None:
    total = little().total
    assert call(total, 5) == 30.0
    assert not is_in_memory(total)
    assert total.seconds > 0.0


def test_a_kernel_with_much_to_do_is_compiled(little: Callable[[], ModuleType]) -> None:
    total = little().total
    assert call(total, 5, size=101) == 30.0
    assert is_in_memory(total)


def test_a_kernel_whose_budget_is_spent_is_compiled(little: Callable[[], ModuleType]) -> None:
    total = little().total
    call(total, 5)
    total.seconds = 2 * interpreting.BUDGET
    assert call(total, 5) == 30.0
    assert is_in_memory(total)


def test_a_kernel_that_is_called_often_is_compiled(little: Callable[[], ModuleType]) -> None:
    total = little().total
    for _ in range(interpreting.CALLS):
        total.seconds = 0.0  # only the number of calls counts here
        call(total, 5)
    assert not is_in_memory(total)
    assert call(total, 5) == 30.0
    assert is_in_memory(total)


def test_a_kernel_that_cannot_be_stored_is_compiled_by_its_time_only(
    little: Callable[[], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WATCH, "unstored", "no folder can be written")
    total = little().total
    for _ in range(interpreting.CALLS + 1):
        total.seconds = 0.0
        call(total, 5)
    assert not is_in_memory(total)


def test_resampling_in_a_loop_is_compiled_in_a_fresh_cache(tmp_path: Path) -> None:
    code = f"""
import mapgauge as mg
from mapgauge.kernels import resample
for _ in range({interpreting.CALLS + 1}):
    mg.resample([[0, 0], [9, 1]], spacing=0.5)
print(len(resample.resample_lines.entry.overloads), len(resample.lengths_of.entry.overloads))
"""
    settings = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    settings.pop(interpreting.SWITCH, None)
    done = subprocess.run(
        [sys.executable, "-c", code], env=settings, capture_output=True, text=True, check=True, encoding="utf-8"
    )
    assert done.stdout.split() == ["1", "1"]


def test_what_python_refuses_is_compiled(little: Callable[[], ModuleType]) -> None:
    inverse = little().inverse
    assert call(inverse, 4.0) == 0.25
    assert not is_in_memory(inverse)
    assert call(inverse, 0.0) == np.inf
    assert is_in_memory(inverse)


def test_the_switch(little: Callable[[], ModuleType], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(interpreting.SWITCH, "0")
    total = little().total
    assert call(total, 5) == 30.0
    assert is_in_memory(total)


def test_a_kernel_on_disk_is_used(little: Callable[[], ModuleType]) -> None:
    little().total(5)
    total = little().total
    assert not is_in_memory(total)
    assert call(total, 5) == 30.0
    assert sum(total.entry.stats.cache_hits.values()) == 1


def test_a_kernel_that_another_process_compiles_is_waited_for(
    little: Callable[[], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    total = little().total
    waited: list[str] = []
    monkeypatch.setitem(_jit.PENDING, total.name, waited.append)
    assert call(total, 5) == 30.0
    assert waited == [total.name]


def test_other_orders_and_large_lines_are_never_interpreted() -> None:
    kernel: Any = kernels.sospa.align_two
    lines = indexed(mg.Polylines.of([[[0, 0], [1, 0]], [[0, 1], [1, 1]]]))
    assert is_small(kernel, (lines, np.zeros(2, bool), True, 1.5, 1.0, None))
    assert not is_small(kernel, (lines, np.zeros(2, bool), True, 1.5, 2.0, None))
    lines = indexed(mg.Polylines.of([np.zeros((500, 2)), np.zeros((500, 2))]))
    assert not is_small(kernel, (lines, np.zeros(2, bool), True, 1.5, 1.0, None))


def test_few_lines_with_many_samples_are_not_interpreted() -> None:
    line, offsets = np.array([[0.0, 0.0], [1e9, 0.0]]), np.array([0, 2])
    no_line, no_offsets = np.zeros((0, 2)), np.array([0])
    rest = np.array([0]), np.array([1e9]), np.array([False])
    assert not is_small(
        kernels.resample.resample_lines,
        (line, offsets, no_line, no_offsets, *rest, 0.5, False, 0, -1.0),
    )


def test_commands_start_no_compilers_for_small_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(compiling, "compile_ahead", started.append)
    small, large = tmp_path / "small.json", tmp_path / "large.json"
    small.write_bytes(b" " * 100)
    large.write_bytes(b" " * 200_000)
    for files in ([small, small], [small, large], [small, tmp_path], []):
        compile_for([str(len(files))], files)
    assert started == [["2"], ["2"], ["0"]]
