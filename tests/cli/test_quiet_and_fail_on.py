"""Options that commands share: --quiet, --fail-on, and those of single formats; the bar; files of the wrong kind."""

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run

import mapgauge as mg
from mapgauge.cli.app import app
from mapgauge.cli.output import progress, set_quiet

TURNED = ("good.json,rotate=90", "truth.geojson")


def options_of(command: str) -> set[str]:
    import typer

    found = typer.main.get_command(app).commands[command]  # type: ignore[attr-defined]
    return {option for one in found.params for option in one.opts}


def test_quiet_commands_print_their_document_only(call: Run, tmp_path: Path) -> None:
    done = call(
        "evaluate", "good.json", "truth.geojson", "-q", "-o", tmp_path / "x.mg", "--report", tmp_path / "x.html"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("good.json against truth.geojson: 20 frames, 2 scenes, paper-60x30\n")
    assert "--notes" not in done.stdout
    assert (tmp_path / "x.mg").exists()
    assert (tmp_path / "x.html").exists()
    for command in (
        ("plot", "parts", "good.mg", "-o", tmp_path / "x.svg"),
        ("report", "good.mg", "-o", tmp_path / "x.html"),
        ("convert", "good.json", tmp_path / "x.geojson"),
    ):
        done = call(*command, "--quiet")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "written to" in call("convert", "good.json", tmp_path / "x.geojson").stderr  # it is not kept


def test_quiet_keeps_warnings_and_errors(call: Run) -> None:
    done = call("evaluate", *TURNED, "-q", "--metrics", "pld")
    assert done.returncode == 0
    assert "error: the predictions are turned" in done.stderr
    assert "note:" not in done.stdout + done.stderr
    assert "no such file" in call("evaluate", "nothing.json", "truth.geojson", "-q").stderr


@pytest.mark.parametrize("form", ["--json", "--csv", "--latex", ""])
def test_findings_of_a_level_fail_after_all_work(call: Run, tmp_path: Path, form: str) -> None:
    command = ("evaluate", *TURNED, "--metrics", "pld", *filter(None, [form]))
    plain, failed = (call(*command, *more, "-o", tmp_path / "x.mg") for more in ((), ("--fail-on", "error")))
    assert (plain.returncode, failed.returncode) == (0, 1)
    assert failed.stdout == plain.stdout
    assert (tmp_path / "x.mg").exists()
    assert failed.stderr.splitlines()[-1] == "mapgauge: failed: 1 error among the findings (--fail-on error)"


def test_a_level_means_all_that_are_as_serious(call: Run, world: Path, tmp_path: Path) -> None:
    predictions = mg.read(world / "good.json")
    most = len(predictions) // 2 + 1
    mg.write(predictions.at(range(most)), tmp_path / "half.json", "streammapnet")  # frames are missing: a warning
    half = (tmp_path / "half.json", "truth.geojson", "--metrics", "pld")
    assert call("evaluate", *half, "--fail-on", "error").returncode == 0
    failed = call("evaluate", *half, "--fail-on", "warning")
    assert failed.returncode == 1
    assert "1 warning among the findings" in failed.stderr
    assert call("evaluate", "good.json", "truth.geojson", "--fail-on", "warning").returncode == 0  # it has notes
    call("evaluate", *half, "-o", tmp_path / "half.mg")
    assert call("inspect", "good.mg", tmp_path / "half.mg", "--fail-on", "warning").returncode == 1
    document = json.loads(call("inspect", tmp_path / "half.mg", "--json").stdout)
    (missing,) = (one for one in document["findings"] if one["code"] == "tokens-missing")
    assert missing["examples"] == list(predictions.tokens[most:])  # all of them


@pytest.mark.parametrize("certain", [("good.json,certain",)])
def test_who_asks_for_equal_confidences_is_not_warned_of_them(call: Run, certain: tuple[str, ...]) -> None:
    done = call("evaluate", certain[0], "truth.geojson", *certain[1:], "--metrics", "pld", "--json")
    assert (done.returncode, "confidences" in done.stderr) == (0, False)


def test_commands_that_print_findings_have_fail_on() -> None:
    assert all("--fail-on" in options_of(name) for name in ("evaluate", "inspect", "convert"))
    with_quiet = ("evaluate", "compare", "sweep", "show", "plot", "report", "paper", "convert")
    assert all({"--quiet", "-q"} <= options_of(name) for name in with_quiet)


def test_long_tokens_are_shortened_in_the_shell_only() -> None:
    tokens = tuple(f"3b3570b4-7b0b-3268-a571-b0889dbf40b6_31597191{k}927482490" for k in range(5))
    finding = mg.Finding("warning", "tokens-missing", "5 frames are missing", 5, tokens)
    assert finding.for_shell().endswith("(3b3570b4…910927482490, 3b3570b4…911927482490, 3b3570b4…912927482490, ...)")
    assert str(finding).endswith(f"({', '.join(tokens[:3])}, ...)")


class Screen:
    """A stream that says it is a terminal."""

    def __init__(self) -> None:
        self.text = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None:
        pass


def test_the_bar_shows_rate_time_left_and_which_of_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, now = Screen(), [0.0]
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    with progress("evaluating A", settings=4) as advance:
        for done in (1000, 1500, 2000, 4000):  # a resumed run begins at 1000
            advance(done, 4000)
            now[0] += 1.0
    lines = screen.text.split("\r\x1b[K")
    assert "evaluating A, setting 2 of 4 [======                  ] 1000/4000 frames" in lines
    assert "evaluating A, setting 2 of 4 [=========               ] 1500/4000 frames, 500/s, 0:05 left" in lines
    assert "evaluating A, setting 4 of 4 [========================] 4000/4000 frames, 1000/s, 0:00 left" in lines
    monkeypatch.setenv("COLUMNS", "60")
    with progress("evaluating a method with a very long name") as advance:
        advance(40, 80)
    assert "evaluating a metho… [============            ] 40/80 frames" in screen.text
    before = screen.text
    set_quiet(True)
    with progress("evaluating A") as advance:
        advance(40, 80)
    set_quiet(False)
    assert screen.text == before


def test_without_a_terminal_there_is_a_line_every_half_minute(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    with progress("evaluating A") as advance:
        for done in range(0, 101, 10):
            advance(done, 100)
            now[0] += 10.0
    assert capsys.readouterr().err.splitlines() == [
        "mapgauge: evaluating A: 30/100 frames, 1/s, 1:10 left",
        "mapgauge: evaluating A: 60/100 frames, 1/s, 0:40 left",
        "mapgauge: evaluating A: 90/100 frames, 1/s, 0:10 left",
    ]


def test_a_sweep_counts_the_frames_of_all_settings(world: Path) -> None:
    seen: list[tuple[int, int]] = []
    mg.sweep(
        *(world / "good.json", world / "truth.geojson"),
        counts=[20, 30],
        regions=[(60, 30), (30, 30)],
        metrics=["pld"],
        progress=lambda done, of: seen.append((done, of)),
    )
    assert seen == sorted(seen)
    assert {of for _, of in seen} == {80}
    assert {20, 40, 60, 80} <= {done for done, _ in seen}


@pytest.mark.parametrize("command", ["compare {}", "plot parts {} -o x.svg", "report {} -o x.html", "paper {} -o x"])
def test_predictions_in_place_of_results(call: Run, world: Path, tmp_path: Path, command: str) -> None:
    done = call(*command.format(world / "good.json").split(), cwd=tmp_path)
    if command.startswith("compare"):
        assert done.returncode == 1
        assert "these are predictions, expected results (.mg). Run evaluate first: mapgauge evaluate" in done.stderr
    else:
        assert done.returncode == 2
        assert "give predictions and truth, or results" in " ".join(done.stderr.split())
    assert not list(tmp_path.iterdir())


def test_results_can_have_a_name_but_no_other_option(call: Run, tmp_path: Path) -> None:
    done = call("compare", "good.mg,name=A B", "poor.mg", "--csv", "--samples", "9")
    assert done.returncode == 0, done.stderr
    assert "\nA B,paper-60x30,,mean,pld," in done.stdout
    for command in (("compare", "good.mg,rotate=90"), ("show", "good.mg,planar", "-o", tmp_path / "x.svg")):
        refused = call(*command)
        assert refused.returncode == 2
        assert "results have no option" in " ".join(refused.stderr.split())


def test_results_in_place_of_predictions(call: Run) -> None:
    for command in (("evaluate", "good.mg", "truth.geojson"), ("sweep", "good.json", "good.mg")):
        done = call(*command)
        assert done.returncode == 1
        assert "good.mg: these are results, expected predictions or truth" in done.stderr


def test_several_files_are_inspected(call: Run) -> None:
    done = call("inspect", "good.json", "good.mg", "truth.geojson")
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines() if " (" in line and line[0] in "gt"][:1] == [
        "good.json"
    ]
    assert "\n\ngood.mg (results of mapgauge" in done.stdout
    assert "\n\ntruth.geojson (geojson: " in done.stdout
    documents = json.loads(call("inspect", "good.json", "good.mg", "--json").stdout)
    assert [one["name"] for one in documents] == ["good.json", "good"]
    assert json.loads(call("inspect", "good.json", "--json").stdout) == documents[0]


def test_thresholds_are_options(call: Run) -> None:
    thresholds = ("ap_chamfer.thresholds=0.7", "ap_frechet.thresholds=1.5,2.5", "ap_sospa.thresholds=0.4")
    command = ("evaluate", "good.json", "truth.geojson", *(word for text in thresholds for word in ("--set", text)))
    document = json.loads(call(*command, "--json").stdout)
    settings = document["protocol"]["settings"]
    assert (settings["ap_chamfer"]["thresholds"], settings["ap_frechet"]["thresholds"]) == ([0.7], [1.5, 2.5])
    assert {"ap_chamfer@0.7", "ap_frechet@2.5", "ap_sospa@0.4"} <= set(document["mean"])
    assert json.loads(call("sweep", *command[1:], "--json").stdout)[0]["ap_sospa"] == document["mean"]["ap_sospa"]


@pytest.fixture(scope="module")
def foreign(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Truth in GeoJSON with other names of properties."""
    file = tmp_path_factory.mktemp("foreign") / "truth.geojson"
    text = (world / "truth.geojson").read_text(encoding="utf-8")
    file.write_text(text.replace('"frame":', '"sample":').replace('"class":', '"kind":'), encoding="utf-8")
    return file


def test_names_of_properties_are_options(call: Run, world: Path, foreign: Path) -> None:
    usual = json.loads(call("evaluate", "good.json", "truth.geojson", "--json").stdout)
    done = call("evaluate", "good.json", f"{foreign},properties=frame:sample,properties=class:kind", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["mean"] == usual["mean"]
    refused = call("inspect", foreign)
    assert refused.returncode == 1
    assert "write FILE,properties=frame:NAME" in refused.stderr
    wrong = call("evaluate", "good.json,properties=frame:sample", "poor.json")
    assert wrong.returncode == 1
    assert "the format streammapnet has no option properties" in wrong.stderr


def test_unshrinking_is_an_option(call: Run, tmp_path: Path) -> None:
    import pickle

    points = [[-30.0, -15.0], [0.0, 0.0], [29.0, 14.0]]
    vector = {"pts": points, "pts_num": 3, "type": 0}
    pair = {"a": {"vectors": [vector | {"confidence_level": 0.9}]}}, {"a": {"vectors": [vector]}}
    data = {"meta": {}, "results": pair[0], "groundTruth": pair[1]}
    (tmp_path / "v.pkl").write_bytes(pickle.dumps(data))
    usual = json.loads(call("inspect", tmp_path / "v.pkl", "--json").stdout)
    file = f"{tmp_path / 'v.pkl'},unshrink"
    assert json.loads(call("inspect", file, "--json").stdout)["extent"] != usual["extent"]
    done = call("evaluate", f"{file},name=V", file, "--json")
    assert done.returncode == 0, done.stderr
    assert not [one for one in json.loads(done.stdout)["findings"] if "shrunk" in one["code"]]
    refused = call("inspect", "good.json,unshrink")
    assert refused.returncode == 1
    assert "the format streammapnet has no option unshrink" in refused.stderr
