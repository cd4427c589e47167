"""Published values, which of them results may be compared with, and what to cite."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import mapgauge as mg
from mapgauge.features.provenance import citations, published
from mapgauge.features.provenance.origin import TITLES, origin_of
from mapgauge.features.provenance.published import reasons_of
from mapgauge.metrics.table import METRICS
from mapgauge.protocols import PROTOCOLS
from mapgauge.truth.selection import splits


def results_of(
    tokens: Sequence[str],
    protocol: str | mg.Protocol = "streammapnet-60x30",
    scenes: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
) -> mg.Results:
    """Results of predictions that are the truth, with some tokens and scenes."""
    truth = mg.MapFrames.of({token: {"divider": [[[0, 0], [9, 0]]]} for token in tokens})
    of_token = None if scenes is None else dict(zip(tokens, scenes, strict=True))
    return mg.evaluate(truth.with_confidence(1), truth, protocol, scenes=of_token, metrics=metrics)


PAPER = "https://arxiv.org/html/2605.22578v1"


def nuscenes(count: int) -> list[str]:
    return [f"{k:032x}" for k in range(count)]


def test_the_file_for_citing_names_the_same_paper_and_the_software_by_itself() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    file = yaml.safe_load((Path(__file__).parents[3] / "CITATION.cff").read_text("utf-8"))
    bibtex = mg.cite(results_of(["a"], "paper-60x30"))
    entries = dict(re.findall(r"^@\w+\{(\w+),\n(.+?)^\}", bibtex, re.M | re.S))
    paper = file["preferred-citation"]
    authors = " and ".join(f"{one['family-names']}, {one['given-names']}" for one in paper["authors"])
    assert f"author = {{{authors}}}" in entries["bencheikh2026beyond"]
    assert f"title = {{{paper['title']}}}" in entries["bencheikh2026beyond"]
    assert f"journal = {{arXiv preprint {paper['identifiers'][0]['value']}}}" in entries["bencheikh2026beyond"]
    assert (paper["type"], paper["journal"], paper["year"]) == ("article", "arXiv", 2026)
    # The authors announce a conference. No proceedings confirm it, so none is named.
    assert "NeurIPS" not in entries["bencheikh2026beyond"] + str(paper)
    assert f"version = {{{file['version']}}}" in entries["mapgauge"]
    assert f"author = {{{{{file['authors'][0]['name']}}}}}" in entries["mapgauge"]


def test_every_row_has_a_value_a_split_and_an_address() -> None:
    rows = mg.published()
    assert len(rows) >= 40
    for row in rows:
        assert row.dataset in TITLES
        assert 0 < row.value < 100
        file = r"https://github\.com/\S+/blob/[0-9a-f]{40}/(README|docs/getting_started)\.md"
        assert re.fullmatch(file, row.source) or row.source == PAPER
        assert (row.rate is not None) == (row.dataset == "argoverse2")
        assert row.split in ("val", "new-val", "subset-A val", "subset-B val")
    assert len({(row.method, row.variant, row.source) for row in rows}) > 20
    assert len(set(map(repr, rows))) == len(rows)


@pytest.mark.whole
def test_every_row_has_a_metric_and_rules_that_exist() -> None:
    for row in mg.published():
        assert row.rules in PROTOCOLS or row.rules in ("bemapnet", "globalmapnet")
        assert row.metric in METRICS or row.metric == "gap"


def test_a_row_of_a_metric_that_is_not_installed_says_so() -> None:
    results = results_of(nuscenes(1))
    (found,) = (one for one in mg.published() if (one.method, one.value) == ("MapTRv2", 89.3))
    reasons = list(reasons_of(found, results, origin_of(results), metrics=["ap_chamfer"]))
    assert "pld is a metric of no installed feature" in reasons


def test_a_mean_is_that_of_its_classes() -> None:
    """A slip of the pen in a row would show here. The sources round."""
    rows = [row for row in mg.published() if row.classes]
    assert len(rows) > 30
    for row in rows:
        assert sum(row.classes.values()) / 3 == pytest.approx(row.value, abs=0.1)


def test_results_of_a_whole_split_may_be_compared_with_rows_of_the_same_rules() -> None:
    scenes = splits("nuscenes")["new-val"]
    results = results_of(nuscenes(len(scenes)), scenes=scenes)
    able = [row for row in mg.published(results) if not row.reasons]
    assert {(row.dataset, row.split, row.region, row.metric) for row in able} == {
        ("nuscenes", "new-val", "60x30", "ap_chamfer")
    }
    assert {row.method for row in able} == {"StreamMapNet", "GlobalMapNet", "MapTracker"}
    assert {row.own for row in able} == {100.0}


@pytest.mark.parametrize(
    ("protocol", "row", "reason"),
    [
        ("streammapnet-60x30", ("MapTR-tiny", 50.0), "count 100, here 200"),
        ("streammapnet-60x30", ("StreamMapNet", 22.4), "region 100x50, here 60x30"),
        ("streammapnet-60x30", ("StreamMapNet", 58.3), "of Argoverse 2, here nuScenes"),
        ("streammapnet-60x30", ("StreamMapNet", 63.4), "of split val, here new-val"),
        ("streammapnet-60x30", ("GlobalMapNet", 17.6), "gap is a value of `mapgauge global`, not of results"),
        pytest.param(
            "streammapnet-60x30",
            ("TopoNet", 39.8),
            "the results have no OLS",
            marks=pytest.mark.needs_feature("openlane"),
        ),
        ("maptr", ("BeMapNet", 59.8), "no protocol has the rules of bemapnet"),
        ("maptr", ("MapQR", 43.3), "ap_chamfer.thresholds (0.2, 0.5, 1.0), here (0.5, 1.0, 1.5)"),
    ],
)
def test_a_row_that_may_not_be_compared_says_why(protocol: str, row: tuple[str, float], reason: str) -> None:
    scenes = splits("nuscenes")["new-val"]
    results = results_of(nuscenes(len(scenes)), protocol, scenes)
    (found,) = (one for one in mg.published(results) if (one.method, one.value) == row)
    assert reason in found.reasons


def argoverse2(seconds: float) -> list[str]:
    """Tokens of two frames of every log of the new split."""
    return [f"{log}_{int(k * seconds * 1e9):018d}" for log in splits("argoverse2")["new-val"] for k in range(2)]


def test_frames_of_another_rate_may_not_be_compared() -> None:
    for seconds, reasons in ((0.5, ()), (0.1, ("frames at 2 Hz, here 10 Hz",))):
        results = results_of(argoverse2(seconds))
        rows = {(row.method, row.value): row for row in mg.published(results)}
        assert rows["StreamMapNet", 58.3].reasons == reasons
    assert str(origin_of(results)).endswith("scenes, 10 Hz")


def test_order_of_classes_ties_and_cutoffs_do_not_matter_but_classes_and_cuts_do() -> None:
    scenes = splits("nuscenes")["new-val"]
    rules = mg.protocol("streammapnet-60x30")

    def reasons(**changed: Any) -> tuple[str, ...]:
        results = results_of(nuscenes(len(scenes)), rules.replace(**changed), scenes)
        (row,) = (row for row in mg.published(results) if (row.method, row.value) == ("StreamMapNet", 34.1))
        return row.reasons

    assert reasons(classes=("boundary", "divider", "ped_crossing"), ties="file", cutoffs=(1.5, 0.5), order=2.0) == ()
    assert reasons(classes=("divider",)) == ("classes (boundary, divider, ped_crossing), here divider",)
    assert reasons(crop=True) == ("crop False, here True",)
    assert reasons(window="ahead") == ("window none, here ahead",)
    assert reasons(count=100) == ("count 200, here 100",)
    assert reasons(region=(40.0, 20.0)) == ("region 60x30, here 40x20",)


@pytest.mark.needs_feature("openlane")
def test_a_combined_score_has_the_rules_of_its_parts() -> None:
    relevant = [published._relevant(PROTOCOLS[f"openlanev2-v{version}"], "ols") for version in ("1.0", "1.1")]
    assert relevant[0]["settings"].keys() == {"det_l", "det_t", "top_ll", "top_lt"}
    assert relevant[0] != relevant[1]


def test_the_origin_of_results_is_known_by_tokens_and_scenes() -> None:
    assert origin_of(results_of(["a", "b"])).dataset == ""
    assert origin_of(results_of(nuscenes(2))).split == ""
    part = origin_of(results_of(nuscenes(1), scenes=["scene-0103"]))
    assert (part.dataset, part.split) == ("nuscenes", "")
    assert "1 of 2 scenes of mini-val" in part.why
    logs = splits("argoverse2")["new-val"]
    whole = origin_of(results_of([f"{log}_{k:018d}" for k, log in enumerate(logs)]))
    assert whole[:2] == ("argoverse2", "new-val")
    for stamp, subset in (("315967376899927209", "subset-A"), ("1531883530412470", "subset-B")):
        tokens = [f"val/{k:05d}/{stamp}" for k in range(150)]
        assert origin_of(results_of(tokens))[:2] == ("openlanev2", f"{subset} val")
        few = origin_of(results_of(tokens[:2]))
        assert few[:3] == ("openlanev2", "", f"a part: 2 of 150 segments of {subset} val")
        assert origin_of(results_of([*tokens, f"test/00000/{stamp}"])).why == "frames of several splits"
    all_scenes = splits("nuscenes")["val"]
    assert "150 of 6019 frames of val" in str(origin_of(results_of(nuscenes(150), scenes=all_scenes)))


@pytest.mark.whole
def test_every_entry_has_uses_that_exist() -> None:
    uses = {use for of_entry in citations.entries().values() for use in of_entry}
    rules = {use.removeprefix("rules:") for use in uses if use.startswith("rules:")}
    assert all(any(f"{name}-".startswith(f"{rule}-") for name in PROTOCOLS) for rule in rules)
    assert all(any(f"{name}-".startswith(f"{rule}-") for rule in rules) for name in PROTOCOLS)
    assert {use for use in uses if use.startswith("data:")} == {f"data:{dataset}" for dataset in TITLES}
    assert {use for use in uses if ":" not in use} == {*METRICS, "software"}


def test_every_entry_says_where_it_was_read() -> None:
    for entry in citations.entries():
        assert re.fullmatch(r"(% .*\n)+@\w+\{\w+,\n(  .*\n)+\}", entry)
        assert entry.startswith("% Read ")
        assert entry.count("{") == entry.count("}")


@pytest.mark.parametrize(
    ("metrics", "own"),
    [
        (["pld"], ""),
        (["pld", "completeness"], "Completeness, correctness and offsets in metres"),
        (["causes"], "PLD by cause"),
        pytest.param(["network_pld"], "Network PLD", marks=pytest.mark.needs_feature("network")),
    ],
)
def test_the_paper_is_cited_for_nothing_that_is_of_mapgauge(metrics: list[str], own: str) -> None:
    protocol = mg.protocol("paper-60x30")
    if "network_pld" in metrics:
        protocol = protocol.replace(settings={"network_pld": {"break_cost": 0.5}})
    blocks = mg.cite(results_of(["a"], protocol, metrics=metrics)).split("\n\n")
    (paper,) = (block for block in blocks if "@article{bencheikh2026beyond" in block)
    assert paper.splitlines()[0] == "% Cited for: PLD, the rules of paper-60x30"
    (tool,) = (block.splitlines()[0].lower() for block in blocks if "@software{mapgauge" in block)
    assert tool == f"% cited for: {own.lower()}{', ' if own else ''}the software that computed the values"


def test_even_sampling_is_of_mapgauge_and_the_other_rules_are_of_the_paper() -> None:
    text = mg.cite(results_of(["a"], "even-60x30", metrics=["pld"]))
    assert "% Cited for: PLD, the rules of even-60x30 but for its sampling\n" in text
    (tool,) = (block for block in text.split("\n\n") if "@software{mapgauge" in block)
    assert tool.startswith("% Cited for: even sampling, the software that computed the values\n")


def test_values_of_the_paper_may_be_compared_with_results_of_its_rules() -> None:
    """The tables 2 and 3 of the paper. Those of another sampling and cutoff need the same."""
    scenes = splits("nuscenes")["new-val"]
    rules = mg.protocol("paper-60x30")

    def able(protocol: mg.Protocol) -> set[tuple[str, str, float]]:
        rows = mg.published(results_of(nuscenes(len(scenes)), protocol, scenes))
        return {(row.method, row.metric, row.value) for row in rows if not row.reasons}

    tables = {
        ("MapTRv2", "pld", 89.3),
        ("StreamMapNet", "pld", 86.6),
        ("MapTracker", "pld", 82.2),
        ("MapTRv2", "ap_chamfer", 27.8),
        ("StreamMapNet", "ap_chamfer", 33.5),
        ("MapTracker", "ap_chamfer", 39.0),
        ("MapTRv2", "ap_frechet", 15.0),
        ("StreamMapNet", "ap_frechet", 18.0),
        ("MapTracker", "ap_frechet", 22.2),
    }
    assert able(rules) == tables
    assert able(rules.replace(cutoffs=(1.0,))) == {row for row in tables if row[1] != "pld"}
    assert able(rules.replace(spacing=0.25)) >= {("StreamMapNet", "ap_chamfer", 34.5), ("StreamMapNet", "pld", 86.0)}
    other = mg.protocol("paper-100x50", cutoffs=(2.0,))
    assert able(other) >= {("MapTracker", "pld", 85.8), ("MapTracker", "ap_frechet", 9.1)}


def test_maptrv2_and_maptracker_on_nuscenes_are_listed() -> None:
    found = {(row.method, row.dataset, row.split, row.metric, row.value) for row in mg.published()}
    assert {("MapTRv2", "nuscenes", "val", "ap_chamfer", value) for value in (61.5, 68.7)} <= found
    assert ("MapTracker", "nuscenes", "val", "ap_chamfer", 76.08) in found
    assert ("MapTracker", "nuscenes", "new-val", "c_map", 32.5) in found


def test_exactly_the_used_sources_are_cited() -> None:
    scenes = splits("nuscenes")["new-val"]
    results = results_of(nuscenes(len(scenes)), "paper-60x30", scenes, metrics=["pld", "ap_chamfer"])
    text = mg.cite(results)
    keys = re.findall(r"^@\w+\{(\w+),", text, re.M)
    assert keys == ["bencheikh2026beyond", "mapgauge", "li2021hdmapnet", "yuan2024streammapnet", "nuscenes2019"]
    assert "% Cited for: PLD, the rules of paper-60x30\n" in text
    assert "% Cited for: the split new-val\n" in text
    unknown = mg.cite(results_of(["a"], "maptr"))
    assert re.findall(r"^@\w+\{(\w+),", unknown, re.M) == [
        "mapgauge",
        "li2021hdmapnet",
        "liao2023maptr",
        "liao2023maptrv2",
    ]
    assert "% No entry: the data set (the tokens are of no data set that is known here)\n" in unknown
    hard = mg.cite(results_of(["a"], "maptr-hard"))
    assert re.findall(r"^@\w+\{(\w+),", hard, re.M)[2:] == ["liao2023maptr", "liao2023maptrv2", "qiao2023bemapnet"]
