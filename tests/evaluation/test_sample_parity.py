"""Compares results on the sample files with four other implementations. The files are not part of the repository.

``independent`` in ``reference.json`` comes from a brute-force evaluation in float64, ``sospa_public`` from the code of
the paper's authors, ``streammapnet`` and ``maptrv2`` from those tools. ``tests/parity`` has the same comparisons on
files without ties, which are part of the repository.

Average precision and ties: hundreds of predictions in these files share a confidence (457 have the lowest, 0.0001). The
public evaluators rank them one by one, in the order that an unstable sort happens to leave. mapgauge takes equal
confidences as one step. So where a tie holds both hits and misses, the public number belongs to one order among many.
No evaluation without that sort can reproduce it to 1e-6. But a hit that is ranked before a miss of the same confidence
never lowers the area. All orders therefore lie between "all misses of each tie first" and "all hits of each tie first".
Both ends follow from our records of hits. The public number must lie between them. Where the ends coincide, no tie
matters, and the numbers must be equal. (Our number is the lower end. Behind the misses of a tie the precision rises to
its value at the end of the tie, and the envelope gives that value to all hits in the tie.)
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.evaluation.twin import PARTS, average_precision
from tests.shared_data import DATA, needs_data

import mapgauge as mg

pytestmark = needs_data("sample_60x30", "sample_100x50")

CLASSES = ("ped_crossing", "divider", "boundary")
THRESHOLDS = {"60x30": (0.5, 1.0, 1.5), "100x50": (1.0, 1.5, 2.0)}  # also the cutoffs in the reference
CASES = [(region, x, name) for region, values in THRESHOLDS.items() for x in values for name in CLASSES]
AUTHORS = {"60x30": ("chamfer", "frechet"), "100x50": ("chamfer",)}  # the values of their code in the reference
STREAMMAPNET = ("submission_vector.json", "tmp_gts_av2_{}.pkl")
MAPTR = ("nuscmap_results.json", "nuscenes_map_anns_val.json")


def files(region: str, pair: tuple[str, str] = STREAMMAPNET) -> tuple[Path, Path]:
    folder = DATA / f"sample_{region}"
    return folder / pair[0], folder / pair[1].format(region)


@cache
def reference(region: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DATA / f"sample_{region}" / "reference.json").read_text(encoding="utf-8"))
    return found


@cache
def paper(region: str, pair: tuple[str, str] = STREAMMAPNET) -> mg.Results:
    """Return the settings of the authors' code. Its cutoffs and both lists of thresholds are the same."""
    values = THRESHOLDS[region]
    settings = mg.protocol(
        f"paper-{region}",
        cutoffs=values,
        settings={"ap_chamfer": {"thresholds": values}, "ap_frechet": {"thresholds": values}},
    )
    return mg.evaluate(*files(region, pair), settings)


@cache
def streammapnet(region: str) -> mg.Results:
    return mg.evaluate(*files(region), f"streammapnet-{region}")


@cache
def maptr(region: str) -> mg.Results:
    return mg.evaluate(*files(region, MAPTR), "maptr")


def stepwise(hits: NDArray[np.bool_], truth: int) -> float:
    """Return the average precision of predictions that are ranked one by one."""
    return average_precision(((-rank, bool(hit)) for rank, hit in enumerate(hits)), truth)


def orders(results: mg.Results, metric: str, threshold: float, name: str) -> tuple[float, float]:
    """Return the lowest and the highest average precision over all orders of equal confidences."""
    c = results.class_names.index(name)
    mine = results.scores.label == c
    t = results.protocol.settings[metric].thresholds.index(threshold)
    hits = ((results.scores.hits[metric][mine] >> t) & 1).astype(np.bool_)
    confidence = results.scores.confidence[mine]
    truth = int(results.scores.true[:, c].sum())
    misses_first, hits_first = np.lexsort([hits, -confidence]), np.lexsort([~hits, -confidence])
    return stepwise(hits[misses_first], truth), stepwise(hits[hits_first], truth)


def assert_is_an_order_of_the_ties(
    results: mg.Results, metric: str, threshold: float, name: str, public: dict[str, Any]
) -> None:
    """Check that the public number equals ours, or that of another order of equal confidences."""
    values, number = results.classes[name], public[f"AP@{threshold}"]
    assert (values["predictions"], values["truth"]) == (public["num_preds"], public["num_gts"])
    lowest, highest = orders(results, metric, threshold, name)
    assert values[f"{metric}@{threshold}"] == pytest.approx(lowest, abs=1e-12)
    assert lowest - 1e-6 <= number <= highest + 1e-6
    if highest - lowest < 1e-12:  # ties have no effect
        assert values[f"{metric}@{threshold}"] == pytest.approx(number, abs=1e-6)


@pytest.mark.parametrize(("region", "cutoff", "name"), CASES)
def test_all_five_parts_are_those_of_the_independent_evaluation(region: str, cutoff: float, name: str) -> None:
    expected = reference(region)["independent"][f"cutoff_{cutoff}"][name]
    values = paper(region).classes[name]
    for part in ("pld", *PARTS):
        assert values[f"{part}@{cutoff}"] == pytest.approx(expected[part], abs=1e-9), part


@pytest.mark.parametrize(
    ("region", "threshold", "name", "metric"), [(*case, metric) for case in CASES for metric in AUTHORS[case[0]]]
)
def test_chamfer_and_frechet_ap_are_the_authors_in_some_order_of_the_ties(
    region: str, threshold: float, name: str, metric: str
) -> None:
    public = reference(region)["sospa_public"][f"{metric}_AP"][name]
    assert_is_an_order_of_the_ties(paper(region), f"ap_{metric}", threshold, name, public)


@pytest.mark.parametrize(("region", "threshold", "name"), CASES)
def test_chamfer_ap_is_streammapnets_in_some_order_of_the_ties(region: str, threshold: float, name: str) -> None:
    public = reference(region)["streammapnet"]["results"][name]
    assert_is_an_order_of_the_ties(streammapnet(region), "ap_chamfer", threshold, name, public)


@pytest.mark.parametrize("threshold", [0.5, 1.0, 1.5])
@pytest.mark.parametrize("name", CLASSES)
def test_chamfer_ap_is_maptrv2s_in_some_order_of_the_ties(threshold: float, name: str) -> None:
    # MapTRv2 stores average precision as float32. The rounding error is 3e-8 here, well below 1e-6.
    public = reference("60x30")["maptrv2"]["results"][name]
    assert_is_an_order_of_the_ties(maptr("60x30"), "ap_chamfer", threshold, name, public)


def test_most_public_numbers_are_ours_to_one_in_a_million() -> None:
    """Without this test, the tests above could pass because of ties alone."""
    cases = [
        *((paper(r), f"ap_{m}", reference(r)["sospa_public"][f"{m}_AP"]) for r in THRESHOLDS for m in AUTHORS[r]),
        *((streammapnet(r), "ap_chamfer", reference(r)["streammapnet"]["results"]) for r in THRESHOLDS),
        (maptr("60x30"), "ap_chamfer", reference("60x30")["maptrv2"]["results"]),
    ]
    differences = [
        abs((results.classes[name][f"{metric}@{t}"] or 0) - public[name][f"AP@{t}"])
        for results, metric, public in cases
        for t in results.protocol.settings[metric].thresholds
        for name in CLASSES
    ]
    assert len(differences) == 54
    assert max(differences) < 3e-5  # the effect of the order of ties in these files
    assert sum(difference < 1e-6 for difference in differences) == 39
