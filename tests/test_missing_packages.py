"""What Python code is told where an optional package is missing, fails, or is the only one that is there."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import mapgauge as mg
from mapgauge.dependencies import require

ROOT = Path(__file__).parents[1]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
# The package that installs a module, where the names differ. Pillow comes with matplotlib.
PACKAGES = {"PIL": "matplotlib", "mlflow": "mlflow-skinny", "rerun": "rerun-sdk"}


def run(code: str, *missing: str) -> str:
    """What a program prints where some modules cannot be imported."""
    block = f"from tests.without_extras import take_away\ntake_away(set({missing!r}))"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"{block}\n{code}"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("call", "extra", "what"),
    [
        ("log_wandb(None)", "wandb", "Weights & Biases"),
        ("log_mlflow(None)", "mlflow", "MLflow"),
        ("log_tensorboard(None, None)", "tensorboard", "TensorBoard"),
    ],
)
def test_a_logger_without_matplotlib_names_its_own_extra(call: str, extra: str, what: str) -> None:
    code = f"""
import mapgauge as mg
try:
    mg.loggers.{call}
except mg.MissingDependency as error:
    print(error)
"""
    expected = f"logging to {what} needs matplotlib. Install it with: pip install 'mapgauge[{extra}]'"
    assert run(code, "matplotlib") == expected


def test_parquet_needs_no_pandas(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    code = f"""
import mapgauge as mg
from mapgauge.demo import demo_world
predictions, truth = demo_world(4)
single = mg.MapFrames.of({{"a": {{"divider": [[[0, 0], [0.5, 2]]]}}}}).with_confidence(0.5)
for name, frames in (("truth", truth), ("predictions", predictions), ("single", single)):
    file = {str(tmp_path)!r} + "/" + name + ".parquet"
    mg.write(frames, file)
    again = mg.read(file)
    print((again.polylines.coords == frames.polylines.coords).all(), again.tokens == frames.tokens)
"""
    assert run(code, "pandas").split() == ["True"] * 6


def test_a_package_that_fails_is_not_called_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "too_old.py").write_text("raise ImportError('numpy.core.multiarray\\nfailed')", encoding="utf-8")
    (tmp_path / "half_there.py").write_text("import no_such_part", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(mg.MissingDependency, match="which cannot be imported: numpy.core.multiarray failed"):
        require("too_old", "reading maps", "geo")
    with pytest.raises(mg.MissingDependency, match="which cannot be imported: No module named 'no_such_part'"):
        require("half_there", "reading maps", "geo")
    with pytest.raises(mg.MissingDependency, match=r"needs not_there. Install it with: pip install 'mapgauge\[geo\]'"):
        require("not_there", "reading maps", "geo")


def required() -> list[tuple[str, str]]:
    """The module and the extra of each call of ``require`` in the source."""
    calls = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "require(" in text else ():
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "require":
                module, _, extra = (getattr(argument, "value", None) for argument in node.args)
                if isinstance(module, str) and isinstance(extra, str):
                    calls.append((module.partition(".")[0], extra))
    return calls


def packages_of(extra: str) -> set[str]:
    return {re.split(r"[\[>=;]", package)[0] for package in EXTRAS[extra]}


def test_the_extra_that_an_error_names_installs_the_module() -> None:
    calls = required()
    assert len(calls) > 20
    wrong = [(module, extra) for module, extra in calls if PACKAGES.get(module, module) not in packages_of(extra)]
    assert wrong == []


# What an environment with mapgauge[all] and the group `pytest` lacks, as in jobs of the workflow of tests.
ABSENT = {
    *("mlflow", "mmengine", "pandas", "playwright", "polars", "rerun", "sphinx", "tensorboard", "tensorboardX"),
    *("torch", "torchmetrics", "triton", "wandb"),
}
# Files that only tests import which skip themselves where the packages are missing.
HELPERS = {"tests/torch/criterion_process.py"}
OWN = {"mapgauge": ROOT / "src", "tests": ROOT, "docs": ROOT, "tools": ROOT, "benchmarks": ROOT}


def imported_first(node: ast.AST) -> Iterator[str]:
    """Yield what is imported together with a module. A branch or an attempt asks whether it is there."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            yield from (f"{child.module}.{alias.name}" for alias in child.names)
        elif not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.If | ast.Try):
            yield from imported_first(child)


def absent_for(path: Path) -> set[str]:
    """The absent packages that a file imports first, and does not skip itself without."""
    text = path.read_text(encoding="utf-8")
    if not any(name in text for name in ABSENT):
        return set()
    skipped = re.findall(r'^(?:\w+(?:: Any)? = )?pytest\.importorskip\("(\w+)', text, re.M)
    found = {name.partition(".")[0] for name in imported_first(ast.parse(text))}
    if any(
        name.startswith(("mapgauge.torch.", "mapgauge.training.torch.")) for name in imported_first(ast.parse(text))
    ):
        found.add("torch")
    return found & ABSENT - set(skipped)


def packages_needed_by_files() -> dict[str, tuple[str, ...]]:
    """The files and folders that pytest leaves out where packages are missing, with these packages."""
    text = (ROOT / "conftest.py").read_text(encoding="utf-8")
    needs: dict[str, tuple[str, ...]] = ast.literal_eval(text.partition("_NEEDS = ")[2].partition("\n}")[0] + "}")
    return needs


@pytest.mark.whole
def test_what_is_left_out_where_packages_are_missing_exists() -> None:
    assert [name for name in packages_needed_by_files() if not (ROOT / name).exists()] == []


def test_tests_can_be_collected_where_packages_of_single_features_are_missing() -> None:
    """pytest imports all files of these folders. One that cannot be imported would stop all tests."""
    needs = packages_needed_by_files()
    found = {}
    for folder in ("src", "tests", "docs"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            is_left_out = any(f"{name}/".startswith(f"{start}/") for start in needs)
            lacking = absent_for(path)
            if lacking and not is_left_out and name not in HELPERS:
                found[name] = sorted(lacking)
    assert found == {}
