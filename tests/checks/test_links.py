"""Checks of links: rows of matrices in another order, transposed matrices, and links of one side only."""

from dataclasses import replace

import numpy as np
from tests.checks.world import codes, none, one

import mapgauge as mg
from mapgauge.frames.links import Links
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
    links = Links.of([a for a, _ in pairs], [b for _, b in pairs], weight=scores)
    return replace(frames.with_confidence(0.5), links=links)


def moved(frames: mg.MapFrames, order: Indices) -> mg.MapFrames:
    """The frames with links between other lanes."""
    assert frames.links is not None
    at = np.concatenate([16 * i + order for i in range(len(frames))])
    return replace(frames, links=frames.links.moved(at))


def test_links_between_lanes_that_meet_are_no_finding() -> None:
    truth = roads()
    for noise in (0.0, 0.5):
        assert not {"links-far-apart", "links-reversed"} & codes(predicted(roads(noise=noise)), truth)


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
    assert one("links-reversed", predicted(turned), truth).count == 36
    assert none("links-far-apart", predicted(turned), truth)


def test_far_links_of_lanes_that_do_not_meet_are_the_fault_of_the_lanes() -> None:
    apart = roads(noise=30.0)
    assert {"links-far-apart", "links-reversed"}.isdisjoint(codes(predicted(apart), roads()))


def test_links_of_one_side_are_noted() -> None:
    truth = roads()
    without = replace(predicted(truth), links=None)
    assert "predictions: no links between lanes, and truth has 36" in one("links-one-side", without, truth).message
    assert none("links-one-side", predicted(truth), truth)
    assert none("links-one-side", without, replace(truth, links=None))
    results = mg.evaluate(without, truth, mg.protocol("paper-60x30", classes=None))
    assert "links-one-side" not in {finding.code for finding in results.findings}
