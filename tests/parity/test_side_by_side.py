"""``python -m tools.parity`` prints the numbers of public evaluators and those of mapgauge, and finds differences."""

import gzip
import json
import re
import shutil
from pathlib import Path

import pytest
from tests.shared_data import DATA, PARITY, needs_data
from tools.parity import EVALUATORS, Case, Evaluator, main, rows_of

import mapgauge as mg

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "parity.md").read_text("utf-8")
PREDICTIONS = PARITY / "submission_vector_good.json.gz"
TRUTH = PARITY / "tmp_gts_demo_60x30.pkl"
MAPTR = [PARITY / "nuscmap_results_poor.json.gz", PARITY / "demo_map_anns.json"]
REFERENCE = json.loads((PARITY / "reference.json").read_text("utf-8"))
STREAMMAPNET = REFERENCE["streammapnet"]["values"]["good"]
LINE = re.compile(r"^(\S.*?) +(\d\.\d{8}) +(\d\.\d{8}) +(-?\d\.\de[+-]\d\d)(?:  (\w+))?$", re.M)
# Those with shipped files, each with its numbers there.
SHIPPED = {"sospa": 114, "streammapnet": 26, "maptr": 26, "maptracker": 52}


def without_differences(text: str) -> str:
    """The text without its last column, whose rounding errors depend on the processor."""
    return re.sub(r"-?\d\.\de[+-]\d\d", "", text).replace(" ", "")


def largest_on_page(title: str) -> float:
    """The largest difference that the page states for the shipped files of an evaluator."""
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| {title} |"))
    return float(row.split("|")[-2])


@pytest.mark.needs_feature("tracks")
def test_without_arguments_the_shipped_files_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    printed = capsys.readouterr().out
    assert len(LINE.findall(printed)) == sum(SHIPPED.values())
    assert "ties" not in printed.replace("order of ties", "")  # no confidence occurs twice in these files
    example = re.search(r"^```\n(StreamMapNet.*?)^```$", PAGE, re.M | re.S)
    assert example
    assert without_differences(example[1]) in without_differences(printed)


@pytest.mark.needs_feature("tracks")
@pytest.mark.parametrize("option", SHIPPED)
def test_the_page_states_the_largest_difference(option: str) -> None:
    evaluator = next(one for one in EVALUATORS if one.option == option)
    rows = [row for case in evaluator.shipped() for row in rows_of(case)]
    assert len(rows) == SHIPPED[option]
    for row in rows:
        assert row.ours == pytest.approx(row.theirs, rel=0, abs=largest_on_page(evaluator.title)), row.value


def test_a_folder_with_the_files_of_the_table_and_the_reference_of_the_page_is_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = re.findall(r"^```json\n(.*?)^```$", PAGE, re.M | re.S)
    (row,) = [line for line in PAGE.splitlines() if line.startswith("| `--streammapnet` | `submission")]
    predictions, truth = re.findall(r"`([^`]+)`", row)[1:3]
    (tmp_path / predictions).write_bytes(gzip.decompress(PREDICTIONS.read_bytes()))
    (tmp_path / truth.replace("*", "demo")).write_bytes(TRUTH.read_bytes())
    (tmp_path / "reference.json").write_text(example, "utf-8")
    assert main(["--streammapnet", str(tmp_path)]) == 0
    assert len(LINE.findall(capsys.readouterr().out)) == 3


def test_the_table_has_the_files_that_each_option_reads() -> None:
    source = (ROOT / "tools" / "parity.py").read_text("utf-8")
    table = PAGE.partition("| option | files in the folder |")[2].partition("\n\n")[0]
    rows = [line.split("|")[1:3] for line in table.splitlines()[2:]]
    assert sorted(option.strip(" `-") for option, _ in rows) == sorted(one.option for one in EVALUATORS)
    for _, files in rows:
        for name in re.findall(r"`([^`]+)`", files):
            assert f'"{name.removeprefix("MODEL/")}"' in source, name


def test_every_comparison_on_the_page_has_a_result() -> None:
    for head in ("| evaluator | commit |", "| option or test |"):
        table = PAGE.partition(head)[2].partition("\n\n")[0]
        cells = [line.split("|")[4].strip() for line in table.splitlines()[2:]]
        assert len(cells) >= 4
        assert all(re.search(r"\d|none differs", cell) for cell in cells)


def test_the_page_names_every_option() -> None:
    assert {f"`--{one.option}`" for one in EVALUATORS} == set(re.findall(r"^\| (`--\w+`) ", PAGE, re.M))


def log(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def streammapnet_table() -> str:
    """What StreamMapNet prints: a table with four decimals."""
    heads = ["category", "num_preds", "num_gts", "AP@0.5", "AP@1.0", "AP@1.5", "AP"]
    lines = ["+----+", "| " + " | ".join(heads) + " |", "+----+"]
    for name in ("ped_crossing", "divider", "boundary"):
        cells = [name, "100", "50", *(f"{STREAMMAPNET[name][head]:.4f}" for head in heads[3:])]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(["loading", *lines, f"mAP_normal = {STREAMMAPNET['mAP']:.4f}", ""])


def test_a_log_of_streammapnet_is_read_and_compared_to_its_last_decimal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    numbers = log(tmp_path / "log.txt", streammapnet_table())
    assert main(["--streammapnet", str(PREDICTIONS), str(TRUTH), str(numbers)]) == 0
    rows = LINE.findall(capsys.readouterr().out)
    assert len(rows) == 3 * 4 + 1
    assert any(abs(float(gap)) > 1e-6 for _, _, _, gap, _ in rows)


def test_a_log_of_maptr_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    public = REFERENCE["maptrv2"]["values"]["poor"]
    saved = {"NuscMap_chamfer/mAP": public["mAP"]}
    for name in ("divider", "ped_crossing", "boundary"):
        saved[f"NuscMap_chamfer/{name}_AP"] = public[name]["AP"]
        saved |= {f"NuscMap_chamfer/{name}_AP_thr_{t}": public[name][f"AP@{t}"] for t in (0.5, 1.0, 1.5)}
    numbers = log(tmp_path / "log.txt", f"boundary: 0.1\n{saved}\n")
    assert main(["--maptr", *map(str, MAPTR), str(numbers)]) == 0
    assert len(LINE.findall(capsys.readouterr().out)) == 13


def test_a_number_that_nothing_explains_is_different(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changed = json.loads(json.dumps(STREAMMAPNET))
    changed["divider"]["AP@0.5"] += 1e-6
    numbers = log(tmp_path / "numbers.json", json.dumps(changed))
    assert main(["--streammapnet", str(PREDICTIONS), str(TRUTH), str(numbers)]) == 1
    printed = capsys.readouterr().out
    assert [row[0] for row in LINE.findall(printed) if row[4]] == ["divider AP@0.5"]
    assert printed.endswith("DIFFERENT or NOT COMPARED: 1\n")


@pytest.mark.parametrize(("value", "verdict"), [(0.5, ""), (1.0, "ties"), (0.75, "ties"), (0.4, "DIFFERENT")])
def test_the_order_of_equal_confidences_explains_a_difference(tmp_path: Path, value: float, verdict: str) -> None:
    """A hit and a miss with the same confidence: the area is 1 or a half, by their order."""
    line = [[0.0, 0.0], [10.0, 0.0]]
    far = [[0.0, 9.0], [10.0, 9.0]]
    truth = mg.MapFrames.of({"a": {"divider": [line]}})
    predictions = mg.MapFrames.of({"a": {"divider": [line, far]}}).with_confidence(0.5)
    mg.write(predictions, tmp_path / "predictions.geojson")
    mg.write(truth, tmp_path / "truth.geojson")
    case = Case(
        name="ties",
        predictions=tmp_path / "predictions.geojson",
        truth=tmp_path / "truth.geojson",
        theirs={"divider AP@1.0": value},
        protocol="streammapnet-60x30",
    )
    (row,) = rows_of(case)
    assert (row.ours, row.verdict) == (0.5, verdict)


def test_a_number_that_mapgauge_does_not_have_is_not_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = {"divider": {"AP@0.5": STREAMMAPNET["divider"]["AP@0.5"], "AP@7.0": 1}, "lanes": {"AP@0.5": 0.5}}
    numbers = log(tmp_path / "numbers.json", json.dumps(given))
    assert main(["--streammapnet", str(PREDICTIONS), str(TRUTH), str(numbers)]) == 1
    printed = capsys.readouterr().out
    assert re.search(r"^divider AP@0\.5 +\S+ +\S+ +\S+$", printed, re.M)
    assert re.search(r"^divider AP@7\.0 +1\.00000000 +NOT COMPARED$", printed, re.M)
    assert re.search(r"^lanes AP@0\.5 +0\.50000000 +NOT COMPARED$", printed, re.M)
    assert printed.endswith("NOT COMPARED: 2\n")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("log.txt", b"epoch 24\n", "no number was found in the log"),
        ("log.txt", b"\xff\xfe", "expected a log or JSON, got a file that is no text"),
        ("numbers.json", b'{"divider": ', "expected JSON, but it is damaged"),
        ("numbers.json", b"[1]", "expected a JSON object, got list"),
        ("numbers.json", b"{}", 'expected numbers such as {"divider": {"AP@0.5": 0.41}, "mAP": 0.55}, got none'),
        ("numbers.json", b'{"divider": {"AP@0.5": "high"}}', "expected a number for divider AP@0.5, got 'high'"),
        ("none.txt", None, "No such file or directory"),
    ],
)
def test_a_file_without_numbers_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: bytes | None, said: str
) -> None:
    numbers = tmp_path / name
    if text is not None:
        numbers.write_bytes(text)
    assert main(["--streammapnet", str(PREDICTIONS), str(TRUTH), str(numbers)]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"parity: {numbers}: {said}")
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_files_that_mapgauge_cannot_read_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    numbers = log(tmp_path / "numbers.json", json.dumps(STREAMMAPNET))
    assert main(["--streammapnet", "none.json", str(TRUTH), str(numbers)]) == 2
    assert capsys.readouterr().err.startswith("parity: none.json: no such file")
    assert main(["--streammapnet", str(TRUTH), str(PREDICTIONS), str(numbers)]) == 2
    assert "are the two exchanged?" in capsys.readouterr().err


@pytest.mark.parametrize("text", [None, "{}", "[]", '{"maps": {"a": 1}, "a": {"b": 1}, "v2.1": {"a": {}}}'])
@pytest.mark.parametrize("evaluator", EVALUATORS, ids=lambda one: one.option)
def test_a_folder_without_numbers_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], evaluator: Evaluator, text: str | None
) -> None:
    (tmp_path / "tmp_gts_x.pkl").touch()
    (tmp_path / "x_gt_tracks.pkl").touch()
    (tmp_path / "data_dict_x.pkl").touch()
    (tmp_path / "x_all_gt.json").touch()
    if text is not None:
        log(tmp_path / "reference.json", text)
    assert main([f"--{evaluator.option}", str(tmp_path)]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"parity: {tmp_path}")
    assert (captured.err.count("\n"), captured.out) == (1, "")


def test_numbers_of_paths_that_do_not_fit_an_option_are_errors_of_usage(capsys: pytest.CaptureFixture[str]) -> None:
    for option, takes in (("--maptr", "a folder or three files"), ("--sospa", "a folder")):
        with pytest.raises(SystemExit, match="2"):
            main([option, "a", "b"])
        assert f"{option} takes {takes}, got 2 paths" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "folder"),
    [
        pytest.param("streammapnet", "sample_60x30", marks=needs_data("sample_60x30")),
        pytest.param("maptr", "sample_60x30", marks=needs_data("sample_60x30")),
        pytest.param("sospa", "sample_100x50", marks=needs_data("sample_100x50")),
        pytest.param("vad", "vad_reference", marks=needs_data("vad_reference")),
        pytest.param(
            "openlanev2",
            "lanes_reference/centerline",
            marks=[needs_data("lanes_reference"), pytest.mark.needs_feature("openlane")],
        ),
    ],
)
def test_a_folder_with_its_numbers_is_compared(option: str, folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([f"--{option}", str(DATA / folder)]) == 0
    assert len(LINE.findall(capsys.readouterr().out)) >= 13


@needs_data("global_reference")
@pytest.mark.needs_feature("global_map")
def test_maps_of_a_folder_are_compared_with_their_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["good_60x30_maps.json", "good_100x50_maps.json"]
    for name in (*names, "av2_all_gt.json"):
        shutil.copy(DATA / "global_reference" / name, tmp_path)
    public = json.loads((DATA / "global_reference" / "reference.json").read_text("utf-8"))["maps"]
    log(tmp_path / "reference.json", json.dumps({"maps": {name: public[name] for name in names}}))
    assert main(["--globalmapnet", str(tmp_path)]) == 0
    assert len(LINE.findall(capsys.readouterr().out)) == 2 * 13
