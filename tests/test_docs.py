"""The tables, links, pictures and commands of the documentation agree with the code."""

import doctest
import gzip
import importlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from docs import tables
from docs.conf import LISTS, contents_of
from docs.pictures import IMAGES, PICTURES
from docs.pictures.rooms import ROOMS as PICTURED
from docs.questions import write_files
from tests.commands import check, consoles_of, said
from tests.evaluation import twin
from tests.kernels import reference
from tests.lane_worlds import write_pickles
from tests.pages import PAGES_WITH_FILES
from tests.test_architecture import ROOMS
from tools.check_site import faults
from tools.metadata import read, relative_links

import mapgauge as mg
from mapgauge.frames.columns import COLUMNS
from mapgauge.metrics.causes import CAUSES, FAMILIES, label_of
from mapgauge.metrics.table import METRICS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
# `make docs` writes a page for each public name to reference/api.
PAGES = sorted(page for page in DOCS.rglob("*.md") if page.parent != DOCS / "reference" / "api")
MODULES = ("plot", "report", "loggers", "demo", "truth", "results.flat", "plugin", "torch", "mmengine")
OTHERS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    ROOT / "RELEASING.md",
]


def text_of(path: Path) -> str:
    """A page. Its links into the repository are relative, also where the repository has an address."""
    return relative_links(path.read_text(encoding="utf-8"), read(ROOT).address)


def prose_of(path: Path) -> str:
    """A page without its code."""
    return re.sub(r"^```.*?^```$", "", text_of(path), flags=re.M | re.S)


def headings_of(path: Path) -> set[str]:
    """The anchors of a page's headings, as code hosts and Sphinx make them."""
    headings = re.findall(r"^#+ (.+)$", prose_of(path), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*PAGES, *OTHERS], ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", prose_of(page))):
        if target.startswith(("http://", "https://")):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), target
        assert not anchor or anchor in headings_of(file), target


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_page_installs_from_an_index_what_is_on_none(page: Path) -> None:
    """``mapgauge[extra]`` is for an installed mapgauge, as the page on installing says."""
    assert not re.search(r"pip install mapgauge(?![\w/-])", text_of(page))


def test_the_first_page_lists_every_page_once() -> None:
    """Directly, or through the first page of a folder."""
    listed = []
    for index in DOCS.rglob("index.md"):
        pages = [page for _, pages in contents_of(text_of(index)) for page in pages]
        listed += [(index.parent / page).relative_to(DOCS).as_posix() for page in pages]
    assert sorted(listed) == sorted(set(listed))
    assert set(listed) == {page.relative_to(DOCS).with_suffix("").as_posix() for page in PAGES} - {"index"}


def test_every_picture_is_shown_and_says_what_it_shows() -> None:
    shown = {}
    for page in [*PAGES, *OTHERS]:
        for words, target in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", text_of(page)):
            shown[(page.parent / target).resolve()] = words
    assert set(shown) == set(IMAGES.iterdir())
    assert all(len(words) > 20 for words in shown.values())


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_what_the_code_draws_now(name: str) -> None:
    """`python -m docs.pictures` draws them again. The last digit may differ from machine to machine."""
    drawn, kept = str(PICTURES[name]()), text_of(IMAGES / f"{name}.svg")
    number = r"-?\d+\.(\d+)"
    assert re.sub(number, "", drawn) == re.sub(number, "", kept)
    for new, old in zip(re.finditer(number, drawn), re.finditer(number, kept), strict=True):
        assert float(new[0]) == pytest.approx(float(old[0]), abs=1.01 * 10.0 ** -len(new[1]))


def test_the_picture_of_the_rooms_has_all_of_them_in_the_order_of_their_imports() -> None:
    assert [name for row in PICTURED.values() for name in row] == [room for room in ROOMS if "." not in room]


def table(header: str, rows: list[str]) -> str:
    return "\n".join([header, "| " + " | ".join(["---"] * (header.count("|") - 1)) + " |", *rows])


@pytest.mark.parametrize(
    ("page", "generated"),
    [
        ("protocols", tables.protocols_table),
        ("protocols", tables.fields_table),
        ("protocols", tables.settings_table),
        ("json-output", tables.keys_table),
    ],
)
def test_a_table_of_the_reference_is_that_of_the_rows(page: str, generated: Callable[[], str]) -> None:
    assert generated() in text_of(DOCS / f"reference/{page}.md")


def test_the_glossary_has_every_word_of_tables_causes_and_columns() -> None:
    cells = re.findall(r"^\| ([^|]+) \|", text_of(DOCS / "reference/glossary.md"), re.M)
    explained = {word.strip() for cell in cells for word in cell.split(";")}
    titles = [value.title for metric in METRICS.values() for value in metric.values]
    printed = {title.removesuffix(" m") for title in titles}
    printed = {title.removesuffix(" left out") for title in printed} | {"left out"}
    printed |= {label_of(cause) for cause in CAUSES} | set(COLUMNS)
    assert printed - explained == set()
    families = re.findall(r"\*(\w+)\*", text_of(DOCS / "reference/glossary.md"))
    assert set(FAMILIES) <= set(families)


def names_of(module: ModuleType) -> list[str]:
    """What a module offers: what it lists, or else what it defines."""
    defined = [name for name, thing in vars(module).items() if getattr(thing, "__module__", "") == module.__name__]
    return [name for name in getattr(module, "__all__", defined) if not (name.isupper() or name.startswith("_"))]


def test_the_page_of_the_interface_lists_every_public_name_once() -> None:
    listed = re.findall(r"[\w.]+", " ".join(LISTS.findall(text_of(DOCS / "reference/api.md"))))
    public = [name for name in mg.__all__ if name != "__version__"]
    for module in MODULES:
        try:
            public += [f"{module}.{name}" for name in names_of(importlib.import_module(f"mapgauge.{module}"))]
        except mg.MissingDependency:  # torch, say
            listed = [name for name in listed if not name.startswith(f"{module}.")]
    assert sorted(listed) == sorted(public)


TABLES_OF_EQUATIONS = re.findall(r"(?:^\|.*\n)+", text_of(DOCS / "reference/equations.md"), re.M)[1:]
NAMES_OF_EQUATIONS = sorted(
    {name for rows in TABLES_OF_EQUATIONS for name in re.findall(r"`([\w.:]+)`", rows) if set(".:") & set(name)}
)


@pytest.mark.parametrize("name", NAMES_OF_EQUATIONS)
def test_a_name_in_the_table_of_equations_exists(name: str) -> None:
    if "::" in name:
        file, function = name.split("::")
        (path,) = (ROOT / "tests").rglob(f"{file}.py")
        assert re.search(rf"^def {function}\(", text_of(path), re.M)
        return
    room, *parts = name.split(".")
    thing: object = {"reference": reference, "twin": twin}.get(room)
    if thing is None:
        thing = importlib.import_module(f"mapgauge.{room}.{parts.pop(0)}")
    for part in parts:
        thing = getattr(thing, part)


def test_the_table_of_equations_has_every_equation_and_a_test_for_each() -> None:
    rows = [row.split("|") for rows in TABLES_OF_EQUATIONS[:2] for row in rows.splitlines()[2:]]
    numbers = re.findall(r"eq\. (\d+)(?: and (\d+))?", " ".join(row[1] for row in rows))
    assert {int(number) for pair in numbers for number in pair if number} == set(range(1, 14))
    for row in rows:
        assert all("`" in cell for cell in row[3:6]), row


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with the files of the demo, and what the demo printed."""
    folder = tmp_path_factory.mktemp("reader")
    return folder, said("demo", folder)


@pytest.fixture(scope="session")
def reader(demo: tuple[Path, str]) -> Path:
    """Where a reader of the tutorial works: the files of the demo, and those that its script writes."""
    folder, _ = demo
    (script,) = re.findall(r"^```python\n(.+?)^```$", text_of(DOCS / "tutorial.md"), re.M | re.S)
    subprocess.run([sys.executable, "-c", script], cwd=folder, check=True)
    return folder


def test_the_commands_of_the_tutorial_print_what_it_says(reader: Path, demo: tuple[Path, str]) -> None:
    (first, expected), *examples = consoles_of(DOCS / "tutorial.md")
    assert first == "demo"
    check(demo[1], expected, first)
    check_all(examples, reader)


@pytest.mark.parametrize(
    "page",
    [
        "how-to/choose-the-cutoff",
        "how-to/cluster",
        "how-to/consistency",
        "how-to/convert",
        "how-to/error-map",
        "how-to/find-frames",
        "how-to/global-maps",
        "how-to/regions-and-classes",
        "how-to/report",
        "how-to/slices",
        "how-to/splits",
        "how-to/track",
        "how-to/view",
        "how-to/why-numbers-differ",
    ],
)
def test_the_commands_of_a_page_print_what_it_says(reader: Path, page: str) -> None:
    check_commands(reader, page)


@pytest.mark.parametrize("page", PAGES_WITH_FILES)
def test_the_commands_of_a_page_read_the_files_that_its_python_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    make = tempfile.mkdtemp
    # Folders that the package makes for itself have a prefix.
    monkeypatch.setattr("tempfile.mkdtemp", lambda *named: make(*named) if named else str(tmp_path))
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert not doctest.testfile(str(DOCS / f"{page}.md"), module_relative=False, optionflags=flags).failed
    check_commands(tmp_path, page)


def test_the_answer_in_the_readme_is_what_the_command_prints(reader: Path) -> None:
    ((command, expected),) = consoles_of(ROOT / "README.md")
    check(said(command, reader), expected, command)


def test_the_readme_has_the_commands_that_mapgauge_alone_lists() -> None:
    (_, commands) = text_of(ROOT / "README.md").split("## Five commands\n")
    block = commands.partition("```sh\n")[2].partition("```")[0]
    listed = subprocess.run([sys.executable, "-m", "mapgauge"], capture_output=True, encoding="utf-8", check=False)
    daily = re.findall(r"^  (\w+)  ", listed.stdout, re.M)
    assert re.findall(r"^mapgauge (\w+)", block, re.M) == daily
    assert len(daily) == 5


def test_the_readme_fits_two_screens() -> None:
    assert len(text_of(ROOT / "README.md").splitlines()) <= 100


def test_the_commands_for_recordings_print_what_the_page_says(reader: Path) -> None:
    pytest.importorskip("rerun", reason="rerun-sdk is not installed")
    check_commands(reader, "how-to/rerun")


def test_the_commands_for_several_methods_print_what_the_page_says(tmp_path: Path) -> None:
    files = {
        "submission_vector.json": "submission_vector_good.json.gz",
        "nuscmap_results.json": "nuscmap_results_poor.json.gz",
        "pos_predictions.pkl": "pos_predictions_good.pkl",
        "tmp_gts_60x30.pkl": "tmp_gts_demo_60x30.pkl",
        "scenes.json": "scenes.json",
    }
    for name, source in files.items():
        data = (ROOT / "tests" / "data" / "parity" / source).read_bytes()
        (tmp_path / name).write_bytes(gzip.decompress(data) if source.endswith(".gz") else data)
    check_commands(tmp_path, "how-to/several-methods")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "All 24 frames can be drawn" in page
    assert (tmp_path / "again.html").stat().st_size > 100_000


def test_the_commands_for_lane_graphs_print_what_the_page_says(tmp_path: Path) -> None:
    check_commands(
        write_pickles(tmp_path, "result.pkl", "baseline.pkl", "data_dict_subset_A_val.pkl"), "how-to/openlane-v2"
    )


def test_the_commands_that_answer_critiques_print_what_the_page_says(tmp_path: Path) -> None:
    write_files(tmp_path)
    check_commands(tmp_path, "explanation/which-number")


def check_commands(folder: Path, page: str) -> None:
    """Run the commands of a page. They may need those before them."""
    examples = consoles_of(DOCS / f"{page}.md")
    assert examples
    check_all(examples, folder)


def check_all(examples: list[tuple[str, str]], folder: Path) -> None:
    for command, expected in examples:
        check(said(command, folder), expected, command)


def test_the_check_of_the_site_finds_faults(tmp_path: Path) -> None:
    """`make docs` runs it on the pages that it has built, and warnings of Sphinx are errors there."""
    docs, site = tmp_path / "docs", tmp_path / "site"
    for folder in (docs / "how-to", site / "how-to"):
        folder.mkdir(parents=True)
    (docs / "index.md").write_text("# One\n\n$$\na + b\n$$\n", encoding="utf-8")
    (docs / "how-to" / "two.md").write_text("# Two\n", encoding="utf-8")
    first = '<link href="style.css"><a href="https://example.org">elsewhere</a><script src="../a.js"></script>'
    (site / "index.html").write_text(f"{first}<math></math>", encoding="utf-8")
    (site / "how-to" / "two.html").write_text("<img src='data:image/png;base64,//8='>", encoding="utf-8")
    assert faults(docs, site) == []
    (site / "index.html").write_text(first, encoding="utf-8")
    (site / "how-to" / "two.html").unlink()
    tags = [
        '<script async src="https://example.org/a.js">',
        "<link href=//example.org/a.css>",
        "<img src='http://a/b'>",
    ]
    (site / "search.html").write_text("\n".join(tags), encoding="utf-8")
    assert faults(docs, site) == [
        f"how-to/two.html: expected a page made from {docs / 'how-to' / 'two.md'}, got no file",
        "index.html: expected equations as MathML, got none",
        *[f"search.html: loads something from elsewhere: {tag}" for tag in tags],
    ]
