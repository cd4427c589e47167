"""What is wrong is said in one line on stderr, and the exit status says whose fault it was."""

import json
import pickle
from pathlib import Path

import pytest
from tests.cli.conftest import Run

import mapgauge as mg


class Harmful:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return Path.touch, (Path("harm"),)  # type: ignore[return-value]


@pytest.fixture(scope="module")
def broken(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("broken")
    (folder / "folder").mkdir()
    (folder / "empty.json").touch()
    (folder / "corrupt.json").write_text('{"meta": {}, "results": {"a": {"vectors": [[[0, 0], [9,', encoding="utf-8")
    (folder / "other.json").write_text('{"weather": "rain"}', encoding="utf-8")
    (folder / "harmful.pkl").write_bytes(pickle.dumps({"a": Harmful()}))
    (folder / "corrupt.mg").write_bytes((world / "good.mg").read_bytes()[:1000])
    (folder / "scenes.json").write_text(json.dumps({"a": 3}), encoding="utf-8")
    frames = mg.read(world / "poor.json")
    mg.evaluate(frames, world / "truth.geojson", mg.protocol("paper-60x30", cutoffs=[0.5])).save(folder / "other.mg")
    return folder


INPUT = {
    "evaluate {w}/nothing.json {b}/corrupt.json": "nothing.json: no such file",
    "evaluate {w}/good.json {b}/folder": "this is a directory",
    "evaluate {b}/empty.json {w}/truth.geojson": "the file is empty",
    "evaluate {b}/corrupt.json {w}/truth.geojson": "corrupt.json: ",
    "evaluate {b}/other.json {w}/truth.geojson": "Write FILE,format=NAME to see what is missing",
    "evaluate {b}/harmful.pkl {w}/truth.geojson": "harmful.pkl: ",
    "evaluate {w}/truth.geojson {w}/good.json": "are the two exchanged?",
    "evaluate {w}/good.json {w}/truth.geojson --classes lane": "the class lane is neither in this file nor in",
    "evaluate {w}/good.json,rename=lane:divider {w}/truth.geojson": "no class lane",
    "evaluate {w}/good.json {w}/truth.geojson,scenes={b}/scenes.json": "expected a JSON object from token to scene",
    "evaluate {w}/good.json {w}/truth.geojson -o {b}/none/results.mg": "does not exist. Create it first",
    "splits thin {w}/truth.geojson -o {b}/folder": "expected the name of a file, found a folder",
    "evaluate {w}/good.json {w}/poor.json {w}/truth.geojson -o {w}/good.json": "the folder cannot be created",
    "evaluate {w}/good.json {w}/truth.geojson --report {b}/none/x.html": "does not exist. Create it first",
    "sweep {w}/good.json {w}/nothing.pkl": "nothing.pkl: no such file",
    "compare {w}/good.mg {b}/corrupt.mg": "File is not a zip file. Check that it was written or copied completely",
    "compare {w}/good.mg {b}/empty.json": "the file is empty",
    "compare {w}/good.mg {b}/other.mg": "differ in cutoffs: 1.5 and 0.5",
    "compare {w}/good.mg {w}/poor.mg --classes lane": "class lane not found; available: ",
    "report {w}/nothing.mg -o {b}/x.html": "nothing.mg: no such file",
    "show {w}/good.json {w}/truth.geojson --frame scene-0000-77 -o {b}/x.svg": "did you mean scene-0000-7",
    "show {w}/good.json {w}/truth.geojson --frame scene-0000-7 -o {b}/x.bmp": "x.bmp: ",
    "inspect {b}/harmful.pkl": "harmful.pkl: ",
    "inspect {b}/corrupt.mg": "not a file of results",
    "convert {w}/good.json {b}/x.json": "which format? Pass --to with one of: ",
    "convert {w}/truth.geojson {b}/x.json --to maptr": "set the confidence to 1: FILE,certain",
    "show {w}/good.json {w}/truth.geojson -p maptr -o x.svg": "-c 1.5 -o results.mg && mapgauge show results.mg",
    "demo --output {w}/good.json": "the folder cannot be created",
}


@pytest.mark.whole
@pytest.mark.parametrize("command", INPUT)
def test_an_error_of_the_input_is_one_line_and_exits_1(call: Run, world: Path, broken: Path, command: str) -> None:
    before = {path: path.stat().st_mtime_ns for path in broken.rglob("*")}
    done = call(*command.format(w=world, b=broken).split(), cwd=broken)
    assert done.returncode == 1, done.stderr
    assert INPUT[command] in done.stderr
    assert done.stderr.startswith("mapgauge: ")
    assert done.stderr.count("\n") == 1
    assert {path: path.stat().st_mtime_ns for path in broken.rglob("*")} == before  # nothing ran, nothing is left


USAGE = {
    "evaluate good.json": "Missing argument 'TRUTH'. Give it after the predictions: mapgauge evaluate PRED",
    "inspect good.json,name=a": "good.json,name: has no effect in this command",
    "convert good.json,name=a x.geojson": "good.json,name: has no effect in this command",
    "sweep good.json": "Missing argument 'TRUTH'",
    "evaluate good.json truth.geojson --metrics pld --set ap_chamfer.thresholds=1": "without the metric ap_chamfer",
    "evaluate good.json truth.geojson --metrics ap_frechet -c 1": "--metrics pld or completeness or causes or ",
    "evaluate good.json truth.geojson --title T": "--title: has no effect without --report FILE",
    "evaluate a/ b/ --engine tcp://a:1 --workers 2": "--workers: has no effect with the address of a cluster",
    "compare good.mg poor.mg --json --classes divider": "--classes: has no effect with --json, which has all classes",
    "compare good.mg --correction holm": "--correction: has no effect with one file",
    "compare good.mg poor.mg --name b,c": "How a file is read is said after its name: FILE,name=VALUE",
    "compare good.mg poor.mg --scenes s.json": "were read by evaluate. Evaluate again with FILE,scenes=VALUE",
    "compare good.mg,scenes=s.json poor.mg": "Give it with a file that is evaluated, and evaluate again",
    "masks good.json truth.geojson": "such as maptracker-iou-60x30; none is given",
    "evaluate good.json truth.geojson --rename a:b": "said after its name: FILE,rename=VALUE",
    "evaluate good.json truth.geojson --planar": "said after its name: FILE,planar",
    "evaluate good.json truth.geojson --project": "such as PREDICTIONS,project=auto TRUTH,project=auto",
    "compare good.mg poor.mg --by city --tags tags.csv": "FILE,tags=VALUE, for the truth or the first results",
    "evaluate good.json truth.geojson --window ahead": "No such option: --window. Write --set window=VALUE",
    "show good.json truth.geojson --window ahead": "Evaluate first: mapgauge evaluate PREDICTIONS TRUTH --set window=",
    "compare good.mg poor.mg --latex --correction holm": "--correction: has no effect with --latex",
    "confidence good.mg --csv --bins 5": "--bins: has no effect with --csv",
    "track good.json -o x.parquet --region 100x50": "--region: has no effect without --method maptracker",
    "track good.json -o x.parquet --method maptracker -c 1": "--cutoff: has no effect without --method pld",
    "consistency good.json --json --worst 2": "--worst: has no effect with --json",
    "evaluate good.json truth.geojson --protocol best": "unknown protocol 'best'. Known: paper-60x30",
    "evaluate good.json truth.geojson --metrics miou": "unknown metric 'miou'",
    "evaluate good.json truth.geojson --metrics ap_frechet -p maptr": "ap_frechet",
    "evaluate good.json truth.geojson --metrics pld -p maptr": "Give them: --cutoff with numbers",
    "evaluate good.json truth.geojson --set ap_chamfer.thresholds=far": "Invalid value for --set",
    "evaluate good.json truth.geojson --set ap_sospa.thresholds=0.5 -p maptr": "need a cutoff",
    "evaluate good.json truth.geojson,properties=frame": "expected properties=NAME:FOUND",
    "evaluate good.json truth.geojson --by class": "needs --latex",
    "evaluate good.json truth.geojson --fail-on note": "must be warning or error",
    "paper good.mg -o out --samples 0": "Invalid value for --samples: must be at least 1, got 0",
    "evaluate good.json truth.geojson --cutoff far": "Invalid value for --cutoff: must be numbers",
    "evaluate good.json truth.geojson --cutoff 0": "Invalid value for --cutoff",
    "evaluate good.json truth.geojson --set spacing=1 --set count=9": "give spacing or count, not both",
    "evaluate good.json truth.geojson --ranges 9,3": "rising distances",
    "evaluate good.json,format=xml truth.geojson": "unknown format 'xml'",
    "evaluate good.json,degenerate=mend truth.geojson": "expected strict or drop",
    "evaluate good.json truth.geojson --workers 0": "must be at least 1",
    "evaluate good.json,rename=divider truth.geojson": "expected rename=OLD:NEW",
    "evaluate good.json truth.geojson --json --csv": "only one of --json and --csv can be given",
    "evaluate good.json poor.json truth.geojson -o all.mg": "must be a folder if there are several predictions",
    "evaluate good.json good.json truth.geojson": "the same file is given twice",
    "evaluate good.json truth.geojson --wokers 2": "No such option",
    "evaluate good.json truth.geojson --min-confidence 0.3": "FILE,confidence=VALUE or FILE,confidence=CLASS:VALUE",
    "sweep good.json truth.geojson --vary region=60": "must be LENGTHxWIDTH",
    "sweep good.json truth.geojson --vary spacing=0": "Invalid value for --vary",
    "compare good.mg poor.mg --level 2": "Invalid value for --level: must be between 0 and 1, got 2.0",
    "compare": "Missing argument",
    "verify good.mg": "Missing option '--predictions'.",
    "verify good.mg --truth truth.geojson": "Missing option '--predictions'.",
    "show good.json truth.geojson": "Missing option '--output'",
    "show good.json truth.geojson -o x.svg -c 1": "evaluate PREDICTIONS TRUTH -c METRES,... -o results.mg && mapgauge",
    "report good.mg -o x.pdf": "For a PDF, open the report in a browser and print it; for figures, use mapgauge plot",
    "evaluate good.json truth.geojson --report x.txt": "expected a name that ends in .html, got x.txt. Write to x.html",
    "report good.mg -o x.html --frames -1": "Invalid value for --frames: must be at least 0",
    "convert good.json x.json --to xml": "unknown format 'xml'",
    "demo --size 0": "Invalid value for --size: must be at least 1, got 0",
    "dance": "No such command",
}


@pytest.mark.whole
@pytest.mark.parametrize("command", USAGE)
def test_an_error_of_usage_exits_2_before_a_file_is_opened(call: Run, tmp_path: Path, command: str) -> None:
    done = call(*command.split(), cwd=tmp_path)  # where none of the files is
    assert (done.returncode, done.stdout) == (2, "")
    assert USAGE[command] in " ".join(done.stderr.split())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("evaluate good.json truth.geojson --csv", "--correction none"),
        ("evaluate good.json truth.geojson --csv -p maptr", "-p maptr"),
        ("compare good.mg poor.mg --csv", "--classes all"),
        ("compare good.mg poor.mg", "--all-pairs"),
        ("sweep good.json truth.geojson --vary region=60x30 --csv", "--set crop=true"),
        ("why good.mg", "--worst 10"),
    ],
)
def test_an_option_that_asks_for_what_happens_anyway_is_accepted(call: Run, command: str, more: str) -> None:
    plain, redundant = call(*command.split()), call(*command.split(), *more.split())
    assert redundant.returncode == 0
    assert redundant.stdout == plain.stdout


def test_an_option_of_a_file_may_be_repeated_with_the_same_value(call: Run) -> None:
    plain = call("inspect", "good.json,planar,rotate=90", "--json").stdout
    assert call("inspect", "good.json,planar,planar,rotate=90,rotate=90", "--json").stdout == plain


@pytest.mark.parametrize(
    ("command", "meant"),
    [
        ("evaluate good.json truth.geojson -p paper-60x3", "paper-60x30"),
        ("evaluate good.json truth.geojson -p MapTR", "maptr"),
        ("evaluate good.json truth.geojson --metrics pdl", "pld"),
        ("evaluate good.json truth.geojson --metrics AP_Chamfer", "ap_chamfer"),
        ("evaluate good.json truth.geojson --classes dividers", "divider"),
        ("evaluate good.json,confidence=dividers:0.5 truth.geojson", "divider"),
        ("evaluate good.json,rename=Divider:line truth.geojson", "divider"),
        ("evaluate good.json,format=maptrv2 truth.geojson", "maptr"),
        ("evaluate good.json,rotat=90 truth.geojson", "rotate"),
        ("evaluate good.json truth.geojson --by scenes", "scene"),
        ("evaluate good.json truth.geojson --engine process", "processes"),
        ("evaluate good.json truth.geojson --fail-on warn", "warning"),
        ("convert good.json x.json --to streammap", "streammapnet"),
        ("compare good.mg poor.mg --classes boundery", "boundary"),
        ("compare good.mg poor.mg --fail-if pdl>0.1", "pld"),
        ("compile --metrics ap-chamfer", "ap_chamfer"),
        ("plot part good.mg -o x.svg", "parts"),
        ("plot histogram good.mg --value mised -o x.svg", "missed"),
        ("plot pr good.mg --metric ap_chanfer -o x.svg", "ap_chamfer"),
        ("why good.mg --cause mised", "missed"),
        ("frames good.mg --sort mised", "missed"),
        ("truth nuscenes data -o x.parquet --rules streammap", "streammapnet"),
    ],
)
def test_a_misspelt_name_gets_the_nearest_one(call: Run, command: str, meant: str) -> None:
    done = call(*command.split())
    assert done.returncode in (1, 2)
    assert f"id you mean {meant}?" in " ".join(done.stderr.split())
