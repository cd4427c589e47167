"""Loads results from a file, or from the work folder of a streamed evaluation."""

import os
from pathlib import Path

from mapgauge.results.merging import load_folder
from mapgauge.results.results import Results
from mapgauge.results.saving import read_results
from mapgauge.scoring.prepare import Frames


def load_results(
    path: str | os.PathLike[str], predictions: Frames | None = None, truth: Frames | None = None
) -> Results:
    """Load results from a file that ``Results.save`` wrote, or from the work folder of a streamed evaluation.

    Args:
        path: The file or the folder.
        predictions: The evaluated predictions, for assignments and figures. They are not needed if the file has the
            geometry, or if ``Results.with_data`` finds the evaluated files. Their content must be the same; the file
            format may differ.
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
    file = Path(path)
    results = load_folder(file) if file.is_dir() else Results(*read_results(path), file)
    return results if predictions is None and truth is None else results.with_data(predictions, truth)
