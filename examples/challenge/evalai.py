"""The evaluation script of EvalAI: the ``main.py`` of a challenge, whose ``__init__.py`` imports ``evaluate``.

The annotation file of the phase is the truth. ``challenge.json`` lies beside this script. EvalAI shows ``result`` on
the board, by split, and ``submission_result`` to the participant.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

import mapgauge as mg

MANIFEST = Path(__file__).with_name("challenge.json")


def evaluate(
    test_annotation_file: str, user_submission_file: str, phase_codename: str, **kwargs: Any
) -> dict[str, Any]:
    """Score a submission. Returns the means, and what the participant may see."""
    challenge = mg.Challenge.load(kwargs.get("manifest", MANIFEST))
    with tempfile.TemporaryDirectory() as folder:
        scored = mg.score_submission(challenge, user_submission_file, test_annotation_file, folder, name="submission")
    findings = [finding.for_shell() for finding in scored.checked.findings]
    if scored.document is None:
        raise ValueError("; ".join(findings))  # EvalAI marks the submission as failed and shows the text
    means = {key: value for key, value in scored.document["values"]["mean"].items() if value is not None}
    return {"result": [{phase_codename: means}], "submission_result": json.dumps(scored.document)}
