"""Loads results from a file, or from the work folder of a streamed evaluation."""

import os
from pathlib import Path

from mapgauge.errors import InvalidInput
from mapgauge.frames.content_hash import content_hash, hash_text
from mapgauge.results.merging import load_folder
from mapgauge.results.results import Results
from mapgauge.results.saving import read_results
from mapgauge.scoring.prepare import Frames, loaded, prepare


def load_results(
    path: str | os.PathLike[str], predictions: Frames | None = None, truth: Frames | None = None
) -> Results:
    """Load results from a file that ``Results.save`` wrote, or from the work folder of a streamed evaluation.

    Args:
        path: The file or the folder.
        predictions: The evaluated predictions, needed for assignments. Their content must be the same; the file format
            may differ.
        truth: The truth of the evaluation.

    >>> import mapgauge as mg
    >>> import pathlib, tempfile
    >>> truth = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}})
    >>> results = mg.evaluate(truth.with_confidence(1), truth, mg.protocol("paper-60x30", classes=["divider"]))
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "results.mg"
    >>> results.save(file)
    >>> mg.load_results(file).mean["pld"]
    0.0
    """
    results = load_folder(Path(path)) if Path(path).is_dir() else Results(*read_results(path))
    if predictions is None and truth is None:
        return results
    if predictions is None or truth is None:
        raise InvalidInput("predictions and truth must be given together, got one of them")
    # The evaluated data had no degenerate instances, or they were dropped. Dropping gives the same content either way.
    sides = loaded(predictions, "drop"), loaded(truth, "drop")
    wrong = "these are not the predictions that were evaluated", "this is not the truth that was evaluated"
    for side, recorded, message in zip(sides, results.inputs, wrong, strict=True):
        if recorded.hash != hash_text(content_hash(side)):
            raise InvalidInput(f"{path}: {message} ({recorded.name or 'from memory'})")
    return results.with_data(prepare(*sides, results.protocol, "ignore"))
