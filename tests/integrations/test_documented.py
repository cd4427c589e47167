"""The page about training shows code that runs."""

import os
import re
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.integrations.batches import MAPTR, batch_of, of_frames, tracked_world, world

import mapgauge as mg
from mapgauge.results.flat import flat

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "in-training.md").read_text(encoding="utf-8")
BLOCKS = {
    title: [textwrap.dedent(code) for code in re.findall(r"^```python\n(.*?)^```$", section, re.M | re.S)]
    for title, section in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)
}
PREDICTIONS, TRUTH = world()


def loop() -> dict[str, Any]:
    """What the page takes as given: a loader, a model, a logger."""
    shares = [TRUTH.tokens[start : start + 5] for start in range(0, len(TRUTH), 5)]
    logged: list[dict[str, float]] = []
    return {
        "loader": [(some, batch_of(TRUTH, some, MAPTR), some) for some in shares],
        "model": lambda tokens: batch_of(PREDICTIONS, tokens, MAPTR),
        "logger": SimpleNamespace(log=logged.append),
        "logged": logged,
        "CLASSES": list(MAPTR),
    }


def test_the_plain_loop_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names = loop()
    for block in BLOCKS["A plain loop"]:
        exec(block, names)
    expected = mg.evaluate(PREDICTIONS, TRUTH)
    assert names["logged"] == [flat(expected)]
    assert capsys.readouterr().out == expected.table() + "\n"
    assert mg.load_results("epoch.mg").mean == expected.mean


@pytest.mark.needs_feature("tracks")
def test_the_loop_over_time_runs() -> None:
    predictions, truth = tracked_world()
    shares = [truth.tokens[start : start + 5] for start in range(0, len(truth), 5)]
    names = loop() | {"model": lambda tokens: batch_of(predictions, tokens, MAPTR, tracks=True), "mg": mg}
    places = [of_frames(truth, some) for some in shares]
    names["drives"] = [
        (some, batch_of(truth, some, MAPTR, tracks=True), some, place["scenes"], place["timestamps"])
        for some, place in zip(shares, places, strict=True)
    ]
    (block,) = BLOCKS["Metrics over time"]
    exec(block, names)
    protocol = mg.protocol("paper-60x30", settings={"track_pld": {"switch_cost": 0.5}})
    assert names["logged"] == [flat(mg.evaluate(predictions, truth, protocol, metrics=["pld", "track_pld"]))]
    assert {"track_pld/mean", "track_pld/mean/inconsistency"} <= set(names["logged"][0])


def test_the_keys_of_the_page_are_there() -> None:
    (table,) = re.findall(r"\| key \| what \| better \|\n\| --- \| --- \| --- \|\n((?:\|.*\n)+)", PAGE)
    named = [key for row in table.splitlines() for key in re.findall(r"`([^`]+)`", row.split("|")[1])]
    protocol = mg.protocol("paper-60x30", cutoffs=(1.5, 0.5), settings={"ap_sospa": {"thresholds": (0.3,)}})
    values = flat(mg.evaluate(PREDICTIONS, TRUTH, protocol))
    assert len(named) > 10
    assert {key.replace("...", "pld/mean") for key in named} <= set(values)


def test_the_loop_with_torchmetrics_runs() -> None:
    pytest.importorskip("torch", reason="torch is not installed", exc_type=ImportError)
    pytest.importorskip("torchmetrics", reason="torchmetrics is not installed", exc_type=ImportError)
    names = loop()
    (block,) = BLOCKS["torchmetrics"]
    exec(block, names)
    found = {key: value.item() for key, value in names["values"].items()}
    assert found == {f"val/{key}": value for key, value in flat(mg.evaluate(PREDICTIONS, TRUTH)).items()}


def test_the_class_for_lightning_uses_what_there_is() -> None:
    """Lightning is not installed for the tests; a bare class stands for its module."""
    pytest.importorskip("torch", reason="torch is not installed", exc_type=ImportError)
    pytest.importorskip("torchmetrics", reason="torchmetrics is not installed", exc_type=ImportError)
    names = loop()
    logged: list[Any] = []

    class Module:
        def log_dict(self, values: Any) -> None:
            logged.append({key: value.item() for key, value in values.items()})

    (imports,), (block,) = BLOCKS["torchmetrics"], BLOCKS["Lightning"]
    exec(imports.partition("\n\n")[0], names)
    names["lightning"] = SimpleNamespace(LightningModule=Module)
    exec(block.replace("import lightning\n", ""), names)
    model = names["MapModel"](names["model"])
    for _ in range(2):
        for index, batch in enumerate(names["loader"]):
            model.validation_step(batch, index)
        model.on_validation_epoch_end()
    expected = {f"val/{key}": value for key, value in flat(mg.evaluate(PREDICTIONS, TRUTH)).items()}
    assert logged == [expected, expected]


def test_the_configuration_for_mmengine_builds() -> None:
    pytest.importorskip("torch", reason="torch is not installed", exc_type=ImportError)
    evaluator = pytest.importorskip("mmengine.evaluator", reason="mmengine is not installed", exc_type=ImportError)
    names: dict[str, Any] = {}
    (block,) = BLOCKS["mmengine"]
    exec(block, names)
    for module in names["custom_imports"]["imports"]:
        __import__(module)
    runner = evaluator.Evaluator([names["val_evaluator"]])
    runner.dataset_meta = {"classes": MAPTR}
    for token in TRUTH.tokens:
        (x,), (y,) = batch_of(PREDICTIONS, (token,), MAPTR), batch_of(TRUTH, (token,), MAPTR)
        runner.process([{"pred_instances": x | {"scores": x["confidence"]}, "gt_instances": y, "sample_token": token}])
    assert runner.evaluate(len(TRUTH)) == flat(mg.evaluate(PREDICTIONS, TRUTH))


HOOKS = dict(zip(("maptr", "streammapnet", "inside"), BLOCKS["MapTR and StreamMapNet"], strict=True))


def hooked(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """What the changed lines add, in a folder with the files that the repository has there."""
    monkeypatch.chdir(folder)
    (folder / "mapgauge" / "bin").mkdir(parents=True)
    command = folder / "mapgauge" / "bin" / "mapgauge"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mapgauge "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    maptr = name != "streammapnet"
    mg.write(PREDICTIONS, "predictions.json", "maptr" if maptr else "streammapnet")
    truth = "truth.json" if maptr else "tmp_gts_nusc_60x30_newsplit.pkl"
    mg.write(TRUTH, truth, "maptr-truth" if maptr else "streammapnet-truth")
    added: dict[str, float] = {}
    names = {"result_path": "predictions.json", "self": SimpleNamespace(map_ann_file=truth)}
    import json

    exec(HOOKS[name], names | {"json": json, "detail": added, "result_dict": added})
    return added


@pytest.mark.skipif(os.name == "nt", reason="the stand-in for the command is a shell script")
@pytest.mark.parametrize("name", ["maptr", "streammapnet"])
def test_the_changed_lines_of_older_repositories_add_values(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    added = hooked(name, tmp_path, monkeypatch)
    expected = mg.evaluate(PREDICTIONS, TRUTH)
    assert added["pld/mean"] == expected.mean["pld"]
    assert added["detection/divider"] == expected.classes["divider"]["detection"]
    assert len(added) == 5 * 4
    assert capsys.readouterr().out == f"mPLD: {expected.mean['pld']}\n"


def test_the_changed_lines_of_a_fork_on_a_newer_python_add_all_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hooked("inside", tmp_path, monkeypatch) == flat(mg.evaluate(PREDICTIONS, TRUTH))


def test_the_page_counts_the_changed_lines() -> None:
    stated = [int(count) for count in re.findall(r"(?:: |needs )(\d+) lines", PAGE)]
    counted = [sum(map(bool, block.splitlines())) for block in HOOKS.values()]
    assert stated == counted
    assert max(counted) < 20
