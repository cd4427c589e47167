"""Checks of links: matrices that are transposed or sorted in another way, links that lanes cannot have."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from tests.checks.world import codes, none, one

import mapgauge as mg
from mapgauge.checks import links
from mapgauge.frames.links import CONTROLLED_BY, Links
from mapgauge.typing import Indices


def roads(frames: int = 3, *, noise: float = 0.0) -> mg.MapFrames:
    """Four roads of four lanes each, every lane linked with the next one of its road."""
    rng = np.random.default_rng(0)
    starts = np.array([[10.0 * k - 20, 4.0 * road - 8] for road in range(4) for k in range(4)])
    lanes = np.stack([starts, starts + np.array([10, 0])], axis=1)
    nested = {f"{i}": {"centerline": lanes + rng.normal(0, noise, lanes.shape)} for i in range(frames)}
    first = [16 * i + 4 * road + k for i in range(frames) for road in range(4) for k in range(3)]
    return replace(mg.MapFrames.of(nested), links=Links.of(first, [lane + 1 for lane in first]))


def predicted(frames: mg.MapFrames, weight: float = 0.25) -> mg.MapFrames:
    """The links with a score below 0.5, and weak links between all lanes."""
    linked = {(a, b) for a, b, _, _ in frames.links or ()}
    size = np.diff(frames.offsets)[0]
    pairs = [(a, b) for a in range(len(frames.label)) for b in range(len(frames.label)) if a // size == b // size]
    scores = [weight if pair in linked else 0.01 for pair in pairs]
    made = Links.of([a for a, _ in pairs], [b for _, b in pairs], weight=scores)
    return replace(frames.with_confidence(0.5), links=made)


def codes_of(frames: mg.MapFrames) -> list[str]:
    """The findings about the links of one side."""
    return [finding.code for finding in links.of_side("truth", frames)]


def with_links(frames: mg.MapFrames, source: Iterable[int], target: Iterable[int]) -> mg.MapFrames:
    """The frames with these links, whose weight is 1, in addition to the others."""
    found = {(a, b): weight for a, b, weight, _ in frames.links or ()} | dict.fromkeys(
        zip(source, target, strict=True), 1.0
    )
    pairs = np.array(list(found))
    return replace(frames, links=Links.of(pairs[:, 0], pairs[:, 1], weight=list(found.values())))


def moved(frames: mg.MapFrames, order: Indices) -> mg.MapFrames:
    """The frames with links between other lanes."""
    assert frames.links is not None
    at = np.concatenate([16 * i + order for i in range(len(frames))])
    return replace(frames, links=frames.links.moved(at))


def test_links_between_lanes_that_meet_are_no_finding() -> None:
    truth = roads()
    for noise in (0.0, 0.5):
        assert not [code for code in codes(predicted(roads(noise=noise)), truth) if code.startswith("links")]


def test_rows_in_the_order_of_ids_are_found_on_both_sides() -> None:
    truth = roads()
    wrong = moved(truth, np.random.default_rng(1).permutation(16))
    finding = one("links-far-apart", predicted(truth), wrong)
    assert finding.level == "warning"
    assert "truth: 30 of 36 links (83.3 %) lead to a lane that starts more than 5 m from the end" in finding.message
    assert "33 of 36 pairs of lanes that meet have no link" in finding.message
    assert "not by id" in str(finding)
    assert one("links-far-apart", predicted(wrong), truth).message.startswith("predictions: ")


def test_a_transposed_matrix_is_found() -> None:
    truth = roads()
    assert truth.links is not None
    turned = replace(truth, links=Links.of(truth.links.target, truth.links.source))
    finding = one("links-reversed", predicted(turned), truth)
    assert (finding.level, finding.count) == ("error", 36)
    assert "Transpose the matrix" in finding.for_shell()
    assert one("links-reversed", predicted(truth), turned).message.startswith("truth: 36 of 36 links (100 %)")
    assert none("links-far-apart", predicted(turned), truth)


def test_two_transposed_links_are_enough_if_the_lanes_meet() -> None:
    lanes = [[[0, 0], [3, 0]], [[3, 0], [6, 0]], [[6, 0], [9, 0]]]
    frames = mg.MapFrames.of({"a": {"centerline": lanes}})
    assert codes_of(replace(frames, links=Links.of([1, 2], [0, 1]))) == ["links-reversed"]
    assert codes_of(replace(frames, links=Links.of([0, 1], [1, 2]))) == []


def test_a_transposed_matrix_of_a_poor_method_is_found() -> None:
    truth = roads(20)
    assert truth.links is not None
    turned = replace(roads(20, noise=3.0), links=Links.of(truth.links.target, truth.links.source))
    assert codes_of(predicted(turned)) == ["links-reversed"]
    assert codes_of(predicted(roads(20, noise=3.0))) == []


def test_lanes_that_lead_into_themselves_are_found_unless_they_are_rings() -> None:
    truth = roads()
    one_lane = with_links(truth, [5], [5])
    assert codes_of(one_lane) == ["links-to-self"]
    assert "1 of 48 lanes (2.08 %) lead into themselves" in next(links.of_side("truth", one_lane)).message
    everywhere = with_links(predicted(truth), range(48), range(48))
    assert codes_of(everywhere) == ["links-to-self"]
    assert codes_of(with_links(predicted(truth), range(5), range(5))) == []
    ring = mg.MapFrames.of({"a": {"centerline": [[[0, 0], [9, 0], [9, 9], [0, 0]]]}})
    assert codes_of(replace(ring, links=Links.of([0], [0]))) == []


def test_a_matrix_of_ones_has_more_links_than_lanes_can_have() -> None:
    truth, ones = roads(), predicted(roads(), 1.0)
    assert ones.links is not None
    ones = replace(ones, links=Links.of(ones.links.source, ones.links.target))
    finding = one("links-too-many", ones, truth)
    assert (finding.level, finding.count) == ("warning", 3 * 16 * 15)
    assert "predictions: 720 links between 48 lanes, 15 per lane on average" in finding.message
    assert one("links-too-many", predicted(truth), replace(ones, confidence=None)).level == "error"


def test_links_in_both_directions_are_found() -> None:
    truth = roads()
    assert truth.links is not None
    both = with_links(truth, truth.links.target, truth.links.source)
    assert codes_of(both) == ["links-both-ways"]
    assert codes_of(predicted(both)) == ["links-both-ways"]


def test_equal_scores_of_links_are_found_if_lanes_have_probabilities() -> None:
    certain = replace(roads(), confidence=np.linspace(0.1, 0.9, 48))
    assert codes_of(certain) == ["links-equal"]
    assert "scores of all 36 links are 1" in next(links.of_side("predictions", certain)).message
    for confidence in (np.ones(48), np.arange(48.0) % 2):
        assert codes_of(replace(certain, confidence=confidence)) == []
    assert certain.links is not None
    with_zeros = Links.of(certain.links.source, certain.links.target, weight=np.arange(36) % 2)
    assert (
        "scores of all 18 links are 1" in next(links.of_side("predictions", replace(certain, links=with_zeros))).message
    )


def test_equal_scores_of_links_to_traffic_elements_are_found() -> None:
    made = replace(roads(), confidence=np.linspace(0.1, 0.9, 48))
    for weight, code in ((np.ones(36), ["links-equal"]), (np.linspace(0.1, 0.9, 36), [])):
        assert made.links is not None
        to_elements = Links.of(made.links.source, made.links.target, weight=weight, kind=CONTROLLED_BY)
        assert codes_of(replace(made, links=to_elements)) == code


def test_far_links_of_lanes_that_do_not_meet_are_the_fault_of_the_lanes() -> None:
    apart = roads(noise=30.0)
    assert {"links-far-apart", "links-reversed"}.isdisjoint(codes(predicted(apart), roads()))


def test_links_of_one_side_are_noted() -> None:
    truth = roads()
    without = replace(predicted(truth), links=None)
    assert "predictions: no links between lanes, and truth has 36" in one("links-one-side", without, truth).message
    assert none("links-one-side", predicted(truth), truth)
    assert none("links-one-side", without, replace(truth, links=None))


@pytest.mark.needs_feature("graph_scores")
@pytest.mark.needs_feature("lane_graph")
def test_an_evaluation_reports_links_only_if_a_metric_uses_them() -> None:
    truth = roads()
    assert truth.links is not None
    turned = predicted(replace(truth, links=Links.of(truth.links.target, truth.links.source)))
    for wrong, code in ((turned, "links-reversed"), (with_links(turned, range(48), range(48)), "links-to-self")):
        for metrics, told in ((["pld"], False), (["pld", "lane_graph_pld"], True)):
            protocol = mg.protocol("paper-60x30", classes=None, settings={"lane_graph_pld": {"link_cost": 0.1}})
            results = mg.evaluate(wrong, truth, protocol, metrics=metrics)
            assert (code in {finding.code for finding in results.findings}) is told
