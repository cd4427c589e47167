"""The example notebook runs as it is, and everything in it shows itself."""

from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[1] / "examples" / "notebook.ipynb"


def read() -> Any:
    return pytest.importorskip("nbformat").read(NOTEBOOK, as_version=4)


def test_the_notebook_is_kept_without_outputs() -> None:
    cells = [cell for cell in read().cells if cell.cell_type == "code"]
    assert cells
    assert not [cell for cell in cells if cell.outputs or cell.execution_count is not None]


@pytest.mark.filterwarnings("default")  # of the packages that run it
def test_the_notebook_runs_and_shows_tables_and_pictures(tmp_path: Path) -> None:
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    book = read()
    nbclient.NotebookClient(
        book, timeout=240, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    ).execute()
    shown: dict[str, list[Any]] = {}
    for cell in book.cells:
        for output in cell.get("outputs", ()):
            assert output.output_type == "execute_result", output  # nothing is printed, and nothing warns
            shown.setdefault(cell.source.splitlines()[-1], []).append(output.data)
    assert all(len(outputs) == 1 for outputs in shown.values())
    html = [last for last, (data,) in shown.items() if "<table" in data.get("text/html", "")]
    assert {"truth", "results", "worst"} <= set(html)
    assert "<iframe" in shown["results"][0]["text/html"]  # the panels of the first screen
    assert any(last.startswith("mg.compare") for last in html)
    pictures = [last for last, (data,) in shown.items() if "image/png" in data]
    assert [last.partition("(")[0] for last in pictures] == ["mg.plot.parts", "mg.plot.ranges", "mg.plot.frame"]
    for (data,) in shown.values():
        assert len(data["text/plain"]) < 3000
