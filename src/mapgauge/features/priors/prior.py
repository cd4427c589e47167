"""The prior of each frame, and truth of which only changed lines count."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from mapgauge.arguments import check_share
from mapgauge.errors import InvalidInput, MapgaugeError, Remedy, UnreadableFile
from mapgauge.evaluation.data import BLOCK, in_threads
from mapgauge.evaluation.ignored import refuse_ignored
from mapgauge.evaluation.prepare import Frames, cut, loaded
from mapgauge.features.priors.states import DELETED, STATES, match, states_of
from mapgauge.frames.alignment import align
from mapgauge.frames.map_frames import MapFrames
from mapgauge.metrics.pld import with_pld
from mapgauge.protocols import Protocol
from mapgauge.protocols import protocol as protocol_of
from mapgauge.truth import own_map
from mapgauge.typing import Indices

TRUE_STATES = STATES[:DELETED]  # the states that true lines can have


def prior_of(prior: Frames, truth: MapFrames, protocol: Protocol, workers: int | None = None) -> MapFrames:
    """Return the prior in the coordinates of each frame of the truth.

    It has these frames, or it is the file of a map in world metres, which is cut at the poses of the truth.
    """
    is_file = not isinstance(prior, MapFrames) and truth.poses is not None
    try:
        frames = loaded(prior, workers=workers)
    except UnreadableFile as error:  # a map may have more than lines of frames, or be Lanelet2
        if not is_file:
            raise
        try:
            return _cut_map(prior, truth, protocol, workers)
        except MapgaugeError:
            raise error from None
    refuse_ignored(frames, "a prior has no such lines")
    if not len(truth) or {*frames.tokens} & {*truth.tokens}:
        return frames
    if is_file and len(frames) == 1:
        return _cut_map(prior, truth, protocol, workers)
    raise InvalidInput(
        f"{frames.name or 'prior'}: no frame of the prior is in the truth (first: {(*frames.tokens, 'none')[0]})",
        remedy=Remedy(
            "Give a prior whose frames have the tokens of the truth. Cut a map at poses with mg.truth.own_map",
            "Give a prior whose frames have the tokens of the truth. Cut a map at poses first: mapgauge truth map MAP "
            "--poses POSES -o prior.parquet",
        ),
    )


def _cut_map(prior: Frames, truth: MapFrames, protocol: Protocol, workers: int | None) -> MapFrames:
    """Return a map, cut to the region of the protocol at the poses of the truth."""
    frames = own_map(Path(str(prior)), truth, region=protocol.region or (60.0, 30.0), workers=workers)
    return frames.rotate(90) if truth.forward == "y" else frames


def aligned_prior(prior: MapFrames, truth: MapFrames, protocol: Protocol) -> tuple[MapFrames, MapFrames]:
    """Return the prior, with the confidence 1, on the frames and classes of the truth, and the truth; both cropped."""
    z, y = align(prior.with_confidence(1), truth, classes=truth.classes, unknown="ignore")
    return cut(z, y, protocol)


def mark_ignored(
    truth: Frames,
    prior: Frames,
    only: str | Sequence[str] = "inserted",
    protocol: str | Protocol = "paper-60x30",
    *,
    same: float = 0.25,
    workers: int | None = None,
) -> MapFrames:
    """Return truth that ignores all lines but those that changed in some way since a prior map.

    Evaluated with it, predictions of other lines are neither right nor false. With ``"inserted"``, this is map
    completion: only lines that the prior does not have count.

    Args:
        truth: The truth. Lines that it ignores stay ignored.
        prior: The prior map, as for ``changes``.
        only: The states of lines that count: ``"kept"``, ``"moved"``, ``"inserted"``, or several of them.
        protocol: The settings by which prior and truth are matched. Without a cutoff, those of the paper are taken.
        same: Largest normalised SOSPA of a line that is kept.
        workers: Number of threads.

    >>> import mapgauge as mg
    >>> truth = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]], [[0, 5], [9, 5]]]}})
    >>> prior = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}})
    >>> mg.mark_ignored(truth, prior).ignore
    array([ True, False])
    """
    settings, limit = with_pld(protocol_of(protocol)), check_share("same", same)
    states = [only] if isinstance(only, str) else only
    unknown = [state for state in states if state not in TRUE_STATES]
    if unknown or not states:
        raise InvalidInput(f"only must be one or more of {', '.join(TRUE_STATES)}, got {only!r}")
    y = loaded(truth, workers=workers)
    z, y = aligned_prior(prior_of(prior, y, settings, workers), y, settings)

    def work(some: slice) -> Indices:
        newer = y.between(some)
        return states_of(match(z.between(some), newer, settings), len(newer.polylines), limit)[1]

    frames = [slice(*ends) for ends in pairwise([*range(0, len(y), BLOCK), len(y)])]
    of_truth = np.concatenate([np.empty(0, np.int64), *in_threads(work, frames, workers)])
    others = ~np.isin(of_truth, [STATES.index(state) for state in states])
    return y.with_ignore(others if y.ignore is None else others | y.ignore)
