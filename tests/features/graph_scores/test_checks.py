"""Checks of what graph scores leave out."""

import mapgauge as mg


def test_lanes_that_leave_the_region_of_cgnet_are_a_note() -> None:
    graphs = {"a": {"nodes": [[0.0, 0.0], [0.0, 40.0], [3.0, 3.0]], "edges": [[0, 1], [0, 2]]}}
    found = mg.frames_from_graphs(graphs)
    notes = {
        protocol: [
            (finding.count, finding.examples)
            for finding in mg.evaluate(found, found.with_confidence(None), protocol).findings
            if finding.code == "graphs-cropped"
        ]
        for protocol in ("graph", "cgnet-graph")
    }
    assert notes == {"graph": [], "cgnet-graph": [(1, ("a",)), (1, ("a",))]}
