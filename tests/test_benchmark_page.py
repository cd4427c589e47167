"""The tables of the benchmarks reach the pages as they were printed, and all of them from one run."""

import ast
import re
import sys
from pathlib import Path

import benchmarks.all as runner
import pytest
from tools.benchmark_page import MARKED, filled, main, pages, tables_of, titles_in

ROOT = Path(__file__).parents[1]

OUTPUT = """
### Machine

| what | value |
| --- | ---: |
| processor | Some processor |
| cores | 2 |
| Python | 3.11.7 |
| numba | 0.68.1 |
| commit | 0123abcd |
| date | 2026-11-19 |
| load before the run | 0.1 |

### Speed

| case | ratio |
| --- | ---: |
| 60 points | 0.020 (at most 0.03: ok) |
| 200 points | 1,234 (at least 5,000: MISSED) |

A sentence.

### Minutes of each benchmark

| benchmark | minutes |
| --- | ---: |
| speed | 1.0 |
| all | 1 |
"""

PAGE = """# Page

<!-- machine -->

old

<!-- end -->

Text before.

<!-- table: Speed -->

| case | old |
| --- | ---: |

<!-- end -->

Text after.
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text(PAGE, encoding="utf-8")
    return tmp_path


def test_a_page_gets_the_tables_of_a_run_without_targets(root: Path) -> None:
    main(OUTPUT, root)
    text = (root / "docs" / "page.md").read_text(encoding="utf-8")
    rows = "| 60 points | 0.020 |\n| 200 points | 1,234 |\n"
    assert f"<!-- table: Speed -->\n\n**Speed**\n\n| case | ratio |\n| --- | ---: |\n{rows}\n<!-- end -->" in text
    assert "old" not in text
    assert "Measured on 2026-11-19 on a machine with 2 cores (Some processor), at commit 0123abcd." in text
    assert "Versions: Python 3.11.7, numba 0.68.1." in text
    assert text.startswith("# Page\n")
    assert "\nText before.\n" in text
    assert text.endswith("\nText after.\n")
    assert filled(text, tables_of(OUTPUT)) == text


def test_no_page_changes_if_a_table_is_missing(root: Path) -> None:
    with pytest.raises(SystemExit, match="lacks tables that pages show; no page is changed(.|\n)*  Speed$"):
        main(OUTPUT.replace("### Speed", "### Other"), root)
    assert (root / "docs" / "page.md").read_text(encoding="utf-8") == PAGE


def test_a_table_without_rows_is_missing(root: Path) -> None:
    """A benchmark that fails may have printed the header."""
    with pytest.raises(SystemExit, match="Speed"):
        main(re.sub(r"\| \d+ points .*\n", "", OUTPUT), root)


def test_a_run_with_a_failure_or_without_an_end_is_refused(root: Path) -> None:
    with pytest.raises(SystemExit, match=r"benchmarks failed in this run(.|\n)*speed"):
        main(OUTPUT.replace("| speed | 1.0", "| speed | 1.0, failed"), root)
    with pytest.raises(SystemExit, match="the run did not end"):
        main(OUTPUT[: OUTPUT.index("### Minutes")], root)
    assert (root / "docs" / "page.md").read_text(encoding="utf-8") == PAGE


def test_the_output_of_two_runs_is_refused(root: Path) -> None:
    with pytest.raises(SystemExit, match="two tables called 'Machine', expected one run"):
        main(OUTPUT + OUTPUT, root)


def printed_titles() -> list[re.Pattern[str]]:
    """The titles of all tables that benchmarks print. What is computed in a title stands for any text."""
    found = []
    for path in (ROOT / "benchmarks").glob("bench_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            if node.func.id not in ("heading", "comparison"):
                continue
            title = node.args[0]
            parts = title.values if isinstance(title, ast.JoinedStr) else [title]
            words = [re.escape(str(part.value)) if isinstance(part, ast.Constant) else ".+" for part in parts]
            found.append(re.compile("".join(words)))
    return found


def test_every_table_of_a_page_is_printed_by_a_benchmark() -> None:
    shown = [title for text in pages(ROOT).values() for title in titles_in(text)]
    printed = printed_titles()
    assert [title for title in shown if not any(one.fullmatch(title) for one in printed)] == []
    assert len(shown) > 20


def test_the_page_of_benchmarks_has_no_other_tables_of_measurements() -> None:
    """All tables are of one run. The last one says what is exact, which is not measured in it."""
    text = MARKED.sub("", (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8"))
    assert re.findall(r"^\| (.+?) \|.*\n\| ---", text, re.M) == ["what is compared"]


def test_all_benchmarks_of_the_page_are_in_the_run() -> None:
    """Those that compare commits or layouts, or need a GPU or files that are not here, have pages of their own."""
    apart = {"against", "layouts", "torch", "training_step", "truth_nuscenes"}
    programs = {path.stem.removeprefix("bench_") for path in (ROOT / "benchmarks").glob("bench_*.py")}
    assert set(runner.NAMES) | apart == programs
    assert len(runner.NAMES) == len(set(runner.NAMES))


def test_a_benchmark_that_fails_stops_no_other_and_the_run_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    codes = {"io": 2, "view": 0}

    def run(name: str) -> int:
        sys.stdout.write(f"drawn by {name}\n")
        return codes[name]

    assert runner.main(["io", "view"], packages=["numpy"], run=run) == 1
    output = capsys.readouterr().out
    assert "drawn by view" in output
    assert re.search(r"^\| io \| 0\.\d, failed \|$", output, re.M)
    assert re.search(r"^\| view \| 0\.\d \|$", output, re.M)
    codes["io"] = 0
    assert runner.main(["io", "view"], packages=["numpy"], run=run) == 0


def test_a_benchmark_that_does_not_exist_is_refused() -> None:
    with pytest.raises(SystemExit, match="no benchmark is called paint"):
        runner.main(["paint"])
