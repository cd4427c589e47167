"""``compare --fail-if``: a pipeline stops when a model gets worse, and only then."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from tests.cli.conftest import Run

import mapgauge as mg
from mapgauge.results.flat import flat

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "gate.md").read_text(encoding="utf-8")


def gate(call: Run, *conditions: str, files: tuple[str, ...] = ("good.mg", "poor.mg")) -> tuple[int, str]:
    options = [part for condition in conditions for part in ("--fail-if", condition)]
    done = call("compare", *files, "--samples", "20", *options)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("condition", "status"),
    [
        ("pld > +0.005", 3),
        ("pld>+5e-3", 3),
        ("pld > +0.2", 0),
        ("pld/mean > +0.005", 3),
        ("pld/divider > +0.005", 3),
        ("pld/ped_crossing > +0.05", 0),
        ("ap_chamfer < -0.01", 3),
        ("ap_chamfer < -0.5", 0),
        ("ap_chamfer/divider/0.5 < -0.01", 3),
        ("pld/mean/confidence > +0.1", 3),
        ("pld/mean/localisation < +0", 3),
        ("pld > 0.84", 3),
        ("pld > 0.86", 0),
        ("ap_frechet < 0.5", 3),
        ("ap_frechet < .4", 0),
    ],
)
def test_a_condition_decides_by_the_difference_or_by_the_value(call: Run, condition: str, status: int) -> None:
    found, said = gate(call, condition)
    assert found == status, said
    assert said.startswith(
        "mapgauge: gate: poor: " if status else f"mapgauge: gate passed: no condition was met ({condition})"
    )


def test_a_model_that_must_improve_and_does_not_fails(call: Run) -> None:
    better = ("poor.mg", "good.mg")
    assert gate(call, "pld > -0.01", "ap_chamfer < +0.01", files=better)[0] == 0
    assert gate(call, "pld > -0.2", files=better)[0] == 3


def test_every_reason_has_its_line_with_the_numbers(call: Run, world: Path) -> None:
    status, said = gate(call, "pld > +0.005", "ap_chamfer < 0.99", "pld > +0.9", "pld/divider/false > +0")
    values = [flat(mg.load_results(world / name)) for name in ("good.mg", "poor.mg")]
    assert status == 3
    lines = said.splitlines()
    assert len(lines) == 3
    before, after = (value["pld/mean"] for value in values)
    expected = f"mapgauge: gate: poor: pld/mean is {after:.4f}, {after - before:+.4f} from {before:.4f} of good ["
    assert lines[0].startswith(expected)
    assert lines[0].endswith("]; fails if pld > +0.005")
    assert lines[2].endswith("of good; fails if pld/divider/false > +0")  # without an interval


def saved(folder: Path, tokens: str, **confidences: tuple[float, ...]) -> tuple[str, ...]:
    """Save results with one scene per token, and return their files."""
    truth = mg.MapFrames.of({token: {"divider": [[[0, 0], [9, 0]]]} for token in tokens})
    for name, confidence in confidences.items():
        settings = mg.protocol("paper-60x30", classes=["divider"])
        results = mg.evaluate(
            truth.with_confidence(confidence), truth, settings, scenes={token: token for token in tokens}
        )
        results.save(folder / f"{name}.mg")
    return tuple(str(folder / f"{name}.mg") for name in confidences)


def test_differences_that_cannot_be_told_apart_pass_if_asked_for(call: Run, tmp_path: Path) -> None:
    one, two, worse = (0.5, 0.6, 0.7, 0.8, 0.6, 0.6), (0.8, 0.5, 0.5, 0.5, 0.6, 0.6), (0.2, 0.3, 0.4, 0.4, 0.3, 0.3)
    files = saved(tmp_path, "abcdef", one=one, two=two, worse=worse)
    assert gate(call, "pld > +0.01", files=files[:2])[0] == 3
    assert gate(call, "pld > +0.01 and decided", files=files[:2])[0] == 0
    status, said = gate(call, "pld > +0.01 and   decided", files=files[::2])
    assert status == 3
    assert "cannot fail" not in said


@pytest.mark.parametrize("scenes", [1, 2, 4])
def test_below_five_scenes_a_condition_with_told_apart_cannot_fail_and_says_so(
    call: Run, tmp_path: Path, scenes: int
) -> None:
    files = saved(tmp_path, "abcd"[:scenes], good=(0.9,) * scenes, poor=(0.1,) * scenes)
    status, said = gate(call, "pld > +0.1 and decided", files=files)
    assert status == 0
    number = f"{scenes} scene{'s' if scenes > 1 else ''}"
    assert (
        "mapgauge: warning: gate: poor: 'pld > +0.1 and decided' cannot fail: too few scenes to decide "
        f"({number}; at least 5 with this class are needed)"
    ) in said
    assert gate(call, "pld > +0.1", files=files)[0] == 3  # without a verdict, the difference decides


def test_every_file_after_the_first_is_checked(call: Run, world: Path, tmp_path: Path) -> None:
    shutil.copy(world / "good.mg", tmp_path / "same.mg")
    status, said = gate(call, "pld > +0.005", files=("good.mg", str(tmp_path / "same.mg"), "poor.mg"))
    assert status == 3
    assert re.findall(r"gate: (\S+):", said) == ["poor"]


def test_a_single_file_is_checked_by_values(call: Run) -> None:
    assert gate(call, "pld > 0.84", files=("poor.mg",))[0] == 3
    assert gate(call, "pld > 0.84", files=("good.mg",))[0] == 0
    status, said = gate(call, "pld > +0.1", files=("good.mg",))
    assert status == 2
    assert "there is only one file" in said


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("pld", "must be KEY > LIMIT, KEY < LIMIT or KEY not within MARGIN"),
        ("pld >= 1", "must be KEY > LIMIT"),
        ("pld > much", "must be KEY > LIMIT"),
        ("pld > 0.1 and so on", "must be KEY > LIMIT"),
        ("pdl > 0.1", "unknown metric 'pdl'. Did you mean pld? Known: pld, completeness, "),
        ("pld < -0.01", "fails for good results: lower pld is better. Write pld > ..."),
        ("ap_chamfer/divider/0.5 > +0.1", "higher ap_chamfer is better. Write ap_chamfer < ..."),
        ("pld > 0.9 and decided", "only a difference can be decided"),
    ],
)
def test_what_is_no_condition_is_an_error_of_usage(call: Run, condition: str, message: str) -> None:
    status, said = gate(call, condition, files=("no such file", "either"))
    assert status == 2
    assert message in said


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("pld/dividers > +0.1", "good: pld/dividers not found; similar keys: pld/divider, "),
        ("ap_sospa < -0.1", "good: ap_sospa/mean not found; similar keys: ap_chamfer/mean, "),
        (
            "pld/mean/missed > +0.1 and decided",
            "'pld/mean/missed > +0.1 and decided': pld/mean/missed has no confidence interval",
        ),
    ],
)
def test_a_condition_that_cannot_be_checked_is_an_error(call: Run, condition: str, message: str) -> None:
    status, said = gate(call, condition)
    assert status == 1
    assert said.startswith(f"mapgauge: {message}")


@pytest.mark.parametrize("files", [("turned.mg", "good.mg"), ("good.mg", "turned.mg"), ("turned.mg",)])
def test_a_gate_with_an_error_among_the_findings_cannot_be_checked(
    call: Run, world: Path, tmp_path: Path, files: tuple[str, ...]
) -> None:
    shutil.copy(world / "good.mg", tmp_path)
    mg.evaluate(mg.read(world / "good.json").rotate(90), world / "truth.geojson").save(tmp_path / "turned.mg")
    done = call("compare", *files, "--samples", "20", "--fail-if", "pld > 0.999", "--json", cwd=tmp_path)
    assert done.returncode == 1
    first, *_, last = done.stderr.splitlines()
    assert first.startswith(f"error: {'turned: ' if len(files) > 1 else ''}the predictions are turned by 90 degrees")
    assert "mapgauge: 1 of the findings above is an error: do not trust the numbers" in done.stderr
    assert last.startswith("mapgauge: gate: could not be checked: there are errors among the findings of turned. ")
    document = json.loads(done.stdout)
    assert "gate" not in document
    assert document["notes"][0] == "error: there are errors among the findings of turned: do not trust the numbers"


def test_frames_that_were_ignored_on_request_do_not_stop_a_gate(call: Run, world: Path, tmp_path: Path) -> None:
    mg.write(mg.read(world / "truth.geojson").at(range(15)), tmp_path / "truth.geojson")
    command = ("evaluate", world / "good.json", "truth.geojson", "--ignore-unknown", "-q", "-o", "a.mg")
    assert call(*command, "--fail-on", "error", cwd=tmp_path).returncode == 0
    assert call("compare", "a.mg", "--fail-if", "pld > 0.999", cwd=tmp_path).returncode == 0


def test_the_json_has_every_check(call: Run, world: Path) -> None:
    conditions = ("--fail-if", "pld > +0.005", "--fail-if", "pld/divider/false > 0.9")
    done = call("compare", "good.mg", "poor.mg", "--samples", "20", "--json", *conditions)
    assert done.returncode == 3
    value, baseline = (flat(mg.load_results(world / name)) for name in ("poor.mg", "good.mg"))
    assert json.loads(done.stdout)["gate"] == [
        {
            "condition": condition,
            "name": "poor",
            "key": key,
            "value": value[key],
            "baseline": baseline[key],
            "decided": decided,
            "fails": fails,
            "caveat": None,
        }
        for condition, key, decided, fails in (
            ("pld > +0.005", "pld/mean", None, True),  # two scenes are too few to tell
            ("pld/divider/false > 0.9", "pld/divider/false", None, False),
        )
    ]


def test_the_page_shows_what_the_commands_print(call: Run, tmp_path: Path) -> None:
    """A line of three dots stands for any lines, dots in a line for any characters."""
    examples = re.findall(r"^```console\n\$ mapgauge (.+)\n((?:.*\n)*?)(?:\$ echo \$\?\n(\d)\n)?```$", PAGE, re.M)
    assert len(examples) == 4
    for command, expected, status in examples:
        done = call(*shlex.split(command), cwd=tmp_path)
        assert done.returncode == int(status or 0), done.stderr
        parts = [re.escape(part).replace(r"\.\.\.", ".*") for part in expected.split("...\n")]
        assert re.fullmatch("(?:.*\n)*".join(parts), done.stdout + done.stderr)


def test_the_pipeline_of_the_page_runs(call: Run, world: Path, tmp_path: Path) -> None:
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.M | re.S)
    commands = re.findall(r"- run: mapgauge (.+)", block)
    assert len(commands) == 2
    assert "--fail-on error" in commands[0]
    shutil.copy(world / "truth.geojson", tmp_path)
    shutil.copy(world / "good.mg", tmp_path / "baseline.mg")
    for predictions, status in (("good.json", 0), ("poor.json", 3)):
        shutil.copy(world / predictions, tmp_path / "predictions.json")
        assert [call(*shlex.split(command), cwd=tmp_path).returncode for command in commands] == [0, status]


def test_json_says_why_a_pass_excludes_nothing(call: Run) -> None:
    conditions = ("pld > +0.5", "pld > +0.5 and decided", "pld > 0.99")
    options = [part for condition in conditions for part in ("--fail-if", condition)]
    done = call("compare", "good.mg", "poor.mg", "--json", *options)
    assert done.returncode == 0
    assert [row["caveat"] for row in json.loads(done.stdout)["gate"]] == [
        "there are too few scenes to tell",
        "there are too few scenes to decide",
        None,  # a value is compared with a number, not with other scenes
    ]


def test_what_was_noted_about_methods_has_columns(call: Run, tmp_path: Path) -> None:
    predictions, truth = mg.demo.demo_world(10)
    mg.evaluate(predictions, truth, metadata={"commit": "4f2a", "epoch": 12}).save(tmp_path / "one.mg")
    mg.evaluate(predictions.with_confidence(0.5), truth).save(tmp_path / "other.mg")
    files = [str(tmp_path / name) for name in ("one.mg", "other.mg")]
    header, one, other = call("compare", *files, "-q").stdout.splitlines()[1:4]
    assert header.split()[-2:] == ["commit", "epoch"]
    assert one.split()[-2:] == ["4f2a", "12"]
    assert other.split()[-2:] == ["-", "-"]
    document = json.loads(call("compare", *files, "--json").stdout)
    assert document["metadata"] == {"one": {"commit": "4f2a", "epoch": "12"}, "other": {}}
    made = document["results"]["one"]
    assert made["date"].startswith("20")
    assert len(made["digest"]) == 64
    lines = call("compare", *files, "--csv").stdout.splitlines()
    assert ",metadata:commit,metadata:epoch," in lines[0]
    assert lines[1].endswith(",4f2a,12,,,,")
