"""An answer from a comparison that is known already."""

import mapgauge as mg
from mapgauge.answers.answer import combined, explain
from mapgauge.demo import demo_world


def test_a_known_comparison_changes_nothing_of_the_answer() -> None:
    good, truth = demo_world(60, predictions=20)
    poor, _ = demo_world(60, predictions=20, quality="poor")
    methods = [mg.evaluate(side, truth) for side in (good, poor, good)]
    names = ["A", "B", "C"]
    told = [explain(*named) for named in zip(methods, names, strict=True)]
    known = mg.compare(methods, names=names)
    assert combined(told, known).to_dict() == combined(told).to_dict() == mg.answer(methods, names=names).to_dict()
