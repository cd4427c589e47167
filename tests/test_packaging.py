"""What others build from: the sdist, the recipe for conda, the container file, and the metadata that they state.

Installing takes minutes. Tests that do it run where the environment variable ``MAPGAUGE_BUILD`` is set, as in a job of
the workflow of tests; the others compare files.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
from pathlib import Path
from typing import Any

import pytest
from tools import metadata

import mapgauge as mg

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
CONTAINER = ROOT / "packaging" / "Containerfile"
EXAMPLE = "https://example.org/group/mapgauge"
OTHER = "https://code.example.org/group/sub/maps"
builds = pytest.mark.skipif("MAPGAUGE_BUILD" not in os.environ, reason="set MAPGAUGE_BUILD to install packages")
# A slice of the tests that reads files from all over the repository.
SLICE = ["tests/test_installed.py", "tests/test_facts.py", "tests/test_public_types.py"]
MORE = ["tests/parity/test_public_evaluators.py", "tests/test_architecture.py", "tests/cli/test_help.py"]


# The version and the address.


def copy_of_files(folder: Path, address: str) -> Path:
    """Copy the files that state the version and the address, and write all that they should state."""
    for name in [*metadata.FILES, "src/mapgauge/version.py"]:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target)
    set_address(folder, address)
    return folder


def set_address(folder: Path, address: str) -> None:
    path = folder / "pyproject.toml"
    text = path.read_text("utf-8")
    path.write_text(re.sub(r'^address = ".*?"', f'address = "{address}"', text, flags=re.M), "utf-8", newline="\n")
    for changed, expected in list(metadata.changes(folder)):
        changed.write_text(expected, "utf-8", newline="\n")


def texts(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in metadata.FILES}


def test_all_files_state_the_version_and_the_address_of_this_project() -> None:
    assert [path.relative_to(ROOT).as_posix() for path, _ in metadata.changes(ROOT)] == []
    assert metadata.read(ROOT).version == mg.__version__
    assert f"\nversion: {mg.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


def test_a_new_version_is_written_into_all_files(tmp_path: Path) -> None:
    folder = copy_of_files(tmp_path, "")
    (folder / "src/mapgauge/version.py").write_text('__version__ = "2.3.4"\n', "utf-8")
    assert {path.name for path, _ in metadata.changes(folder)} == {"CITATION.cff", "recipe.yaml"}
    for path, expected in metadata.changes(folder):
        assert "2.3.4" in expected
        assert mg.__version__ not in expected, path


def test_an_address_changes_all_places(tmp_path: Path) -> None:
    written = texts(copy_of_files(tmp_path, EXAMPLE))
    urls = tomllib.loads(written["pyproject.toml"].decode())["project"]["urls"]
    assert urls["Source"] == EXAMPLE
    assert set(urls) == {"Source", "Documentation", "Changelog", "Issues"}
    assert all(url.startswith(EXAMPLE) for url in urls.values())
    readme = written["README.md"].decode()
    targets = re.findall(r"\]\(([^)\s]+)\)", readme)
    assert all(target.startswith("https://") for target in targets)
    for target in targets:
        kind, _, name = target.removeprefix(f"{EXAMPLE}/").partition("/main/")
        if target.startswith(EXAMPLE):
            assert (ROOT / name.partition("#")[0]).exists()
            assert kind == ("raw" if name.endswith(".png") else "blob"), target
    assert any(target.endswith(".png") for target in targets)
    for name in ("README.md", "docs/how-to/install.md"):
        assert f"```sh\ngit clone {EXAMPLE} && cd mapgauge\n" in written[name].decode()
    assert f"{EXAMPLE}/security/advisories/new" in written["SECURITY.md"].decode()
    assert "to those from whom" not in written["SECURITY.md"].decode()
    assert f"\nrepository-code: {EXAMPLE}\n" in written["CITATION.cff"].decode()
    assert f"  repository: {EXAMPLE}\n" in written["packaging/conda-forge/recipe.yaml"].decode()


def test_writing_an_address_twice_changes_nothing_and_taking_it_away_restores_all_files(tmp_path: Path) -> None:
    before = texts(copy_of_files(tmp_path, ""))
    set_address(tmp_path, EXAMPLE)
    first = texts(tmp_path)
    assert {name for name, text in first.items() if text != before[name]} == set(metadata.FILES)
    assert list(metadata.changes(tmp_path)) == []
    set_address(tmp_path, OTHER)
    assert all(EXAMPLE.encode() not in text for text in texts(tmp_path).values())
    set_address(tmp_path, EXAMPLE)
    assert texts(tmp_path) == first
    set_address(tmp_path, "")
    assert texts(tmp_path) == before


def test_a_release_needs_an_address_that_all_files_have(tmp_path: Path) -> None:
    folder = copy_of_files(tmp_path, "")
    assert "is empty" in metadata.check(folder)
    set_address(folder, EXAMPLE)
    assert metadata.check(folder) == ""
    security = folder / "SECURITY.md"
    security.write_text(security.read_text("utf-8").replace(EXAMPLE, OTHER), "utf-8", newline="\n")
    assert metadata.check(folder).startswith("version or address is another one in SECURITY.md.")
    workflows = {path.stem: path.read_text("utf-8") for path in (ROOT / ".github" / "workflows").glob("*.yml")}
    # Other workflows pass without an address.
    assert [name for name, text in workflows.items() if "tools.metadata --check" in text] == ["release"]


@pytest.mark.parametrize("address", ["http://example.org/a/b", f"{EXAMPLE}/", f"{EXAMPLE}.git", "https://a.org", "x"])
def test_an_address_of_another_kind_is_refused(tmp_path: Path, address: str) -> None:
    with pytest.raises(SystemExit, match="expected an address such as"):
        copy_of_files(tmp_path, address)


def test_the_classifier_of_the_development_is_that_of_the_version() -> None:
    expected = "5 - Production/Stable"
    if re.search(r"[a-z]", mg.__version__):
        expected = "4 - Beta"
    assert f"Development Status :: {expected}" in PROJECT["project"]["classifiers"]


# The sdist.


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of an sdist, in a folder outside the repository."""
    pytest.importorskip("hatchling", reason="hatchling is not installed")
    folder = tmp_path_factory.mktemp("sdist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    return folder / f"mapgauge-{mg.__version__}"


def test_an_sdist_has_all_files_of_the_repository(unpacked: Path) -> None:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is not a clone")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, encoding="utf-8").stdout
    kept = {name for name in listed.splitlines() if (ROOT / name).exists()}
    found = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()}
    assert kept - found == set()


def test_an_sdist_runs_its_own_tests(unpacked: Path) -> None:
    chosen = [*SLICE, *MORE] if "MAPGAUGE_BUILD" in os.environ else SLICE
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen],
        cwd=unpacked,
        env=os.environ | {"PYTHONPATH": str(unpacked / "src")},
        check=False,
        capture_output=True,
        encoding="utf-8",
    )
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr


# The recipe for conda.


@pytest.fixture(scope="module")
def recipe() -> dict[str, Any]:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    text = (ROOT / "packaging" / "conda-forge" / "recipe.yaml").read_text("utf-8")
    # Expressions name values of the context.
    context = yaml.safe_load(text)["context"]
    for name, value in context.items():
        text = text.replace(f"${{{{ {name} }}}}", value)
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def spaced(requirement: str) -> str:
    """A requirement as conda writes it."""
    return re.sub(r"(?=[<>=!])", " ", requirement, count=1)


def test_the_recipe_requires_what_the_package_requires(recipe: dict[str, Any]) -> None:
    project = PROJECT["project"]
    expected = {f"python {project['requires-python']}", *map(spaced, project["dependencies"])}
    assert set(recipe["requirements"]["run"]) == expected
    assert set(map(spaced, PROJECT["build-system"]["requires"])) <= set(recipe["requirements"]["host"])
    assert f"python {project['requires-python'].removeprefix('>=')}.*" in recipe["requirements"]["host"]


def test_the_recipe_describes_the_package(recipe: dict[str, Any]) -> None:
    project = PROJECT["project"]
    assert recipe["schema_version"] == 1
    assert recipe["package"] == {"name": project["name"], "version": mg.__version__}
    scripts = [f"{name} = {place}" for name, place in project["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == scripts
    assert recipe["build"]["noarch"] == "python"
    about = recipe["about"]
    assert (about["license"], about["summary"]) == (project["license"], project["description"])
    assert [about["license_file"]] == project["license-files"]
    assert ((ROOT / "packaging" / "conda-forge" / recipe["source"]["path"]).resolve()) == ROOT


@builds
def test_the_commands_of_the_recipe_make_an_environment_that_passes_its_tests(tmp_path: Path, recipe: Any) -> None:
    """As for the container file: the commands run in a virtual environment, and pip installs in the place of conda."""
    programs = make_environment(tmp_path / "environment")
    environment = os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    python = str(programs / "python")
    needed = [one for part in ("host", "run") for one in recipe["requirements"][part] if not one.startswith("python ")]
    subprocess.run([python, "-m", "pip", "install", "--quiet", *(one.replace(" ", "") for one in needed)], check=True)
    source = (ROOT / "packaging" / "conda-forge" / recipe["source"]["path"]).resolve()
    script = recipe["build"]["script"].replace("${{ PYTHON }}", shlex.quote(python))
    subprocess.run(script, shell=True, cwd=source, env=environment, check=True)
    about_imports, about_commands = recipe["tests"]
    for name in about_imports["python"]["imports"]:
        subprocess.run([python, "-c", f"import {name}"], cwd=tmp_path, env=environment, check=True)
    assert about_imports["python"]["pip_check"] is True
    subprocess.run([python, "-m", "pip", "check"], cwd=tmp_path, env=environment, check=True)
    for command in about_commands["script"]:
        subprocess.run(command, shell=True, cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "demo" / "report.html").exists()


# The container file.


def instructions() -> list[tuple[str, str]]:
    """The instructions of the container file, each with its text."""
    lines = CONTAINER.read_text("utf-8").replace("\\\n", " ").splitlines()
    return [(line.split()[0], line.partition(" ")[2]) for line in lines if line and not line.startswith("#")]


def copied_files() -> list[str]:
    """What the container file copies from the repository."""
    return [name for kind, text in instructions() if kind == "COPY" for name in text.split()[:-1]]


def test_a_build_context_has_what_the_container_file_copies_and_nothing_else() -> None:
    """Without the environments, the history and the data that may lie in a working tree."""
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    rules = [line for line in lines if not line.startswith("#")]
    assert rules[0] == "*"
    assert [rule.removeprefix("!") for rule in rules if rule.startswith("!")] == copied_files()
    assert rules[-1] == "**/__pycache__"


def test_the_container_file_copies_what_exists_and_installs_extras_that_exist() -> None:
    kinds = [kind for kind, _ in instructions()]
    assert kinds[0] == "FROM"
    assert kinds[-1] == "ENTRYPOINT"
    python = re.fullmatch(r"python:(3\.\d+)-slim", instructions()[0][1])
    assert python
    assert f"Programming Language :: Python :: {python[1]}" in PROJECT["project"]["classifiers"]
    copied = copied_files()
    assert all((ROOT / name).exists() for name in copied)
    # What the build of a wheel reads.
    assert {"pyproject.toml", PROJECT["project"]["readme"], *PROJECT["project"]["license-files"], "src"} <= set(copied)
    extras = re.findall(r"\.\[(\w+)\]", CONTAINER.read_text("utf-8"))
    assert extras == ["all"]


@builds
def test_the_commands_of_the_container_file_make_an_environment_that_evaluates(tmp_path: Path) -> None:
    programs = make_environment(tmp_path / "environment")
    source = tmp_path / "source"
    source.mkdir()
    environment = os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    kernels = tmp_path / "kernels"
    for kind, text in instructions():
        text = text.replace("/opt/mapgauge", str(kernels))
        if kind == "COPY":
            for name in text.split()[:-1]:
                copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
                copy(ROOT / name, source / name)
        elif kind == "ENV":
            environment |= dict(pair.split("=", 1) for pair in shlex.split(text))
        elif kind == "RUN" and not text.startswith("useradd"):
            subprocess.run(text, shell=True, cwd=source, env=environment, check=True)
    assert any(kernels.rglob("*.nbi"))
    demo = ["mapgauge", "demo", "--size", "4", "--output", "demo"]
    subprocess.run(demo, cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "demo" / "report.html").exists()


@builds
@pytest.mark.parametrize("command", ["uvx --from . mapgauge", "pipx run --spec . mapgauge"])
def test_the_command_runs_in_an_environment_for_one_command(tmp_path: Path, command: str) -> None:
    assert command in (ROOT / "docs" / "how-to" / "install.md").read_text("utf-8")
    programs = make_environment(tmp_path / "environment")
    subprocess.run([programs / "python", "-m", "pip", "install", "--quiet", "uv", "pipx"], check=True)
    environment = os.environ | {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PIPX_HOME": str(tmp_path / "pipx"),
    }
    ended = subprocess.run(
        [*command.split(), "--version"], cwd=ROOT, env=environment, check=False, capture_output=True, encoding="utf-8"
    )
    assert mg.__version__ in ended.stdout, ended.stderr


def make_environment(folder: Path) -> Path:
    """Make a virtual environment, and return the folder of its programs."""
    venv.create(folder, with_pip=True)
    return folder / ("Scripts" if sys.platform == "win32" else "bin")
