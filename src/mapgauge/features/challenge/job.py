"""What the process does with a submission: it reads and checks it, and evaluates it if there is a truth."""

import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from mapgauge.errors import MapgaugeError
from mapgauge.evaluation.evaluate import evaluate
from mapgauge.features.challenge.manifest import Challenge
from mapgauge.features.challenge.public import public_values
from mapgauge.features.challenge.submission import checked, not_scored, of_lines_alone, without_lines
from mapgauge.io import read
from mapgauge.io.files.source import Content
from mapgauge.manifest import use

JOB = "job.json"
SUBMISSION = "submission"  # the copy of the file; its name says nothing
RESULTS = "results.mg"
_THREADS = 8  # more would reserve memory for their stacks


def run(folder: Path) -> dict[str, Any]:
    """Do what ``job.json`` in a folder says. Returns what was found, as plain values.

    Without truth, the submission is evaluated with a truth that has no lines, because some lines cannot be evaluated
    whatever the truth is.
    """
    job = Content(folder / JOB).document
    use(job["plugins"])
    challenge = Challenge.from_dict(job["challenge"])
    found, predictions = checked(challenge, SUBMISSION, job["name"])
    document: dict[str, Any] = {"checked": found.to_dict()}
    if predictions is None or not found.is_accepted:
        return document
    # The files are named as the organiser knows them. They are not read again from here.
    predictions = replace(predictions, name=job["path"], history=None)
    if job["truth"] is None:
        metrics = of_lines_alone(challenge.metrics)
        if not metrics:
            return document
        truth = without_lines(predictions)
    else:
        metrics = challenge.metrics
        truth = replace(read(folder / job["truth"]), name=job["truth_name"], history=None)
    try:
        results = evaluate(
            predictions,
            truth,
            challenge.protocol,
            metrics=metrics,
            workers=min(_THREADS, os.cpu_count() or 1),
        )
    except MapgaugeError as error:
        message = error.message.replace(job["path"], job["name"])
        refused = not_scored(challenge, message, error.remedy, format=predictions.format)
        document["checked"] = found.with_finding(refused).to_dict()
        return document
    if job["truth"] is None:
        return document
    results.save(folder / RESULTS)
    document["values"] = public_values(results, show_scenes=challenge.show_scenes)
    # Their examples are tokens of frames in which a method fails.
    document["findings"] = [asdict(replace(finding, examples=())) for finding in results.findings]
    return document
