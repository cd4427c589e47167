"""The terminal, JSON, the report and notebooks say the same sentences, with the values that they rest on."""

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.commands import said

import mapgauge as mg
from mapgauge.demo import demo_world


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("everywhere")
    for quality in ("good", "poor"):
        predictions, truth = demo_world(20, predictions=30, quality=quality)
        mg.write(predictions, folder / f"{quality}.json", "streammapnet")
    mg.write(truth, folder / "truth.geojson")
    turned = mg.read(folder / "good.json").rotate(90)
    mg.write(turned, folder / "turned.json", "streammapnet")
    return folder


@pytest.fixture(scope="module")
def results(folder: Path) -> dict[str, mg.Results]:
    """Return the results of each file."""
    return {path.name: mg.evaluate(path, folder / "truth.geojson") for path in folder.glob("*.json")}


def unwrapped(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(
    "files", [("good.json",), ("good.json", "poor.json"), ("good.json", "turned.json", "poor.json")]
)
def test_all_outputs_say_the_same_sentences(
    folder: Path, results: dict[str, mg.Results], files: tuple[str, ...]
) -> None:
    methods = [results[file] for file in files]
    names = [Path(file).stem for file in files]
    answer = mg.answer(methods, names=names)
    sentences = [statement.text for statement in answer.statements]
    words = f"evaluate {' '.join(files)} truth.geojson"
    printed = unwrapped(said(f"{words} --report page.html", folder))
    page = unwrapped(html.unescape((folder / "page.html").read_text(encoding="utf-8")))
    notebook = unwrapped(html.unescape(str(mg.first_screen(methods, names=names)._repr_html_())))
    document = re.search(r"^[\[{]$.*", said(f"{words} --json -q", folder), re.M | re.S)  # after errors, on stderr
    assert document is not None
    documents: Any = json.JSONDecoder().raw_decode(document[0])[0]
    if isinstance(documents, dict):
        documents = [documents]
    in_json = [statement for document in documents for statement in document["answer"]["statements"]]
    for statement in answer.statements:
        plain = json.loads(json.dumps(statement.to_dict()))
        assert plain in in_json
        assert unwrapped(statement.text) in page
        assert unwrapped(statement.text) in notebook
        # Of several methods, the terminal has the advice only that lowers PLD most.
        assert unwrapped(statement.text) in printed or (len(files) > 1 and statement.about == "confidence")
    assert {statement["text"] for statement in in_json} == set(sentences)


def test_the_values_of_a_sentence_are_those_that_it_prints(results: dict[str, mg.Results]) -> None:
    answer = mg.answer([results["good.json"]], names=["good"])
    values = {statement.about: statement for statement in answer.statements}
    found = values["found"]
    assert f"Finds {100 * float(found.values['found'] or 0):.0f} % of the map" in found.text
    assert f"{float(found.values['beside'] or 0):.2f} m beside it" in found.text
    extra = values["extra"]
    assert f"{100 * float(extra.values['far'] or 0):.0f} % of its length is over 1.5 m off" in extra.text
    assert f"{100 * float(extra.values['repeated'] or 0):.0f} % is repeated" in extra.text
    near = values["distance"]
    assert f"Finds {100 * float(near.values['found from 0 m'] or 0):.0f} % up to 10 m" in near.text
    causes = values["causes"]
    for family, share in causes.values.items():
        if family != "pld":
            assert f"{family} {100 * float(share or 0):.0f} %" in causes.text
