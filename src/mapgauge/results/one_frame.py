"""Reads one frame of evaluated files alone, so that it can be drawn before all frames are read."""

import os
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import numpy as np

from mapgauge.errors import MapgaugeError
from mapgauge.frames.history import READ, arguments_of, replay
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.cropping import corridor_radius
from mapgauge.io._format import ReadOptions
from mapgauge.io.dataset import open_dataset, read_row_groups, row_groups_of
from mapgauge.io.files.places import is_url, streams
from mapgauge.io.files.source import is_folder, is_plain_file
from mapgauge.results.results import Results
from mapgauge.results.saving import recorded_paths
from mapgauge.results.values import Input
from mapgauge.scoring.data import Data
from mapgauge.scoring.prepare import prepare

# The files of predictions and truth if they were moved, otherwise None.
Moved: TypeAlias = tuple[str | Path | None, str | Path | None]


def frame_alone(results: Results, token: str, moved: Moved = (None, None)) -> Results | None:
    """Return the results of one frame with its predictions and truth; None if these cannot be read alone.

    Only Parquet on this machine with several row groups can be read in parts. The row group that has the frame is read,
    and prepared as the whole file would be. The content is not checked: results have one hash of all frames. A frame
    with other numbers of lines than the evaluated one is not returned, and ``Results.with_data`` must tell whether the
    rest is right.

    Args:
        results: The results, from a file.
        token: The frame.
        moved: The files that were moved, as ``Results.with_data`` takes them.
    """
    if results.geometry is not None or corridor_radius(results.protocol.window) is not None:
        return None  # a corridor leads through frames that are not read
    try:
        predictions, truth = (
            _row_group(recorded, path, results.origin, token=token)
            for recorded, path in zip(results.inputs, moved, strict=True)
        )
        if predictions is None or truth is None:
            return None
        if results.rows.drive is not None:
            predictions, truth = results.rows.drive.given_to(
                (predictions, truth), results.protocol, results.tokens, scenes=results.rows.scenes
            )
        data = Data.of(*prepare(predictions, truth, results.protocol, unknown="ignore"), results.protocol)
        alone = replace(results.of_frames([results.tokens.index(token)]), geometry=data.at((token,)))
        if not _has_evaluated_counts(alone):
            return None
    except MapgaugeError:
        return None  # reading all frames says what is wrong
    return alone


def _row_group(recorded: Input, moved: str | Path | None, origin: Path | None, token: str) -> MapFrames | None:
    """Return the frames of one side that are stored together with a frame, changed as all frames were."""
    if not recorded.history or not recorded.hash:
        return None
    first, *steps = recorded.history
    arguments = arguments_of(first)
    is_parquet = first.name == READ and arguments["format"] in (None, "parquet")
    if not is_parquet or arguments["classes"] is not None or arguments["options"]:
        return None
    if any(step.name == "of_tokens" for step in steps):
        return None  # it names frames that are not read
    path = _local_path(recorded, moved, origin)
    if path is None or not streams(path):
        return None
    data_set = open_dataset(path)
    groups = data_set.groups_with(token)
    if not groups or len(groups) == len(data_set.groups):  # there is nothing to leave out
        return None
    frames = read_row_groups(row_groups_of(groups), ReadOptions(degenerate=arguments["degenerate"]))
    return replay(frames, tuple(steps))


def _local_path(recorded: Input, moved: str | Path | None, origin: Path | None) -> str | None:
    """Return the first path of a side that exists on this machine."""
    if moved is None:
        paths = recorded_paths(recorded, origin)
    else:
        paths = [os.fspath(moved)]
    local = (path for path in paths if not is_url(path))
    return next((path for path in local if is_plain_file(path) or is_folder(path)), None)


def _has_evaluated_counts(alone: Results) -> bool:
    """Whether a frame has the classes and the numbers of lines that were evaluated."""
    scores = alone.scores
    for side, counts in zip(alone.need_data().sides, (scores.predicted[0], scores.true[0]), strict=True):
        if side.classes != alone.class_names:
            return False
        if not np.array_equal(np.bincount(side.label, minlength=len(counts)), counts):
            return False
    return True
