"""The prior of each frame, and truth of which only changed lines count."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mapgauge.arguments import check_share
from mapgauge.errors import InvalidInput, MapgaugeError, Remedy, UnreadableFile
from mapgauge.features.priors import STATES, TRUE_STATES
from mapgauge.features.priors.states import INSERTED, match, of_geometry, states_of
from mapgauge.frames.alignment import align
from mapgauge.frames.findings import Finding, findings_about
from mapgauge.frames.map_frames import MapFrames
from mapgauge.metrics.pld import with_pld
from mapgauge.protocols import Protocol
from mapgauge.protocols import protocol as protocol_of
from mapgauge.scoring.data import BLOCK, in_threads
from mapgauge.scoring.ignored import refuse_ignored
from mapgauge.scoring.prepare import Frames, cut, loaded
from mapgauge.truth import own_map
from mapgauge.typing import Indices

GEOGRAPHIC_WORDS = "longitude and latitude"  # in the messages about coordinates that are no metres


class MapOptions(NamedTuple):
    """A file of a prior with options after its name, which are those of ``own_map`` if the file is a map."""

    path: Path
    read: Callable[[], MapFrames]  # reads the file as frames, with the options
    options: Mapping[str, Any]  # properties, rename and project

    def __fspath__(self) -> str:
        """Return the path as text."""
        return str(self.path)


class AlignedPrior(NamedTuple):
    """A prior and the truth, cropped, with the same frames and classes. The prior has the confidence 1."""

    prior: MapFrames
    truth: MapFrames
    lacking: tuple[str, ...]  # frames of the truth that the prior does not have

    def findings(self, of_truth: Indices) -> tuple[Finding, ...]:
        """Return what the prior lacks, given the states of the true lines."""
        name = self.prior.name or "prior"
        count = len(self.prior.polylines)
        if len(of_truth) and (of_truth == INSERTED).all():
            text = f"{name}: none of its {count} lines in the frames and classes of the truth is near a true line"
            return (Finding("warning", "prior-without-truth", f"{text}. All truth counts as inserted", count=count),)
        text = f"{name}: {len(self.lacking)} of {len(self.truth)} frames have no prior. Their truth counts as inserted"
        return tuple(findings_about(self.lacking, "warning", "frames-without-prior", text=text))


def aligned_prior(prior: Frames, truth: MapFrames, protocol: Protocol, workers: int | None = None) -> AlignedPrior:
    """Return the prior in the frames of the truth, whose coordinates it has, or at whose poses a map is cut."""
    own = _in_frames(prior, truth, protocol, workers=workers)
    z, y = align(own.with_confidence(1), truth, classes=truth.classes, unknown="ignore")
    z, y = cut(z, y, protocol)
    return AlignedPrior(z, y, tuple(token for token in y.tokens if token not in own.index))


def _in_frames(prior: Frames, truth: MapFrames, protocol: Protocol, workers: int | None) -> MapFrames:
    """Return the prior in the coordinates of each frame of the truth."""
    is_file = not isinstance(prior, MapFrames) and truth.poses is not None
    if isinstance(prior, MapOptions) and "project" in prior.options and is_file:
        return _cut_map(prior, truth, protocol, workers=workers)  # only a map has longitude and latitude
    try:
        if isinstance(prior, MapOptions):
            frames = prior.read()
        else:
            frames = loaded(prior, workers=workers)
    except UnreadableFile as error:  # a map may have more than lines of frames
        if not is_file:
            raise
        try:
            return _cut_map(prior, truth, protocol, workers=workers)
        except MapgaugeError as of_map:
            # What a map of longitude and latitude needs is an origin, which reading it as frames does not.
            raise of_map if GEOGRAPHIC_WORDS in error.message else error from None
    refuse_ignored(frames, "a prior has no such lines")
    if not len(truth) or {*frames.tokens} & {*truth.tokens}:
        return frames
    if is_file and len(frames) == 1:
        return _cut_map(prior, truth, protocol, workers=workers)
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
    path = Path(str(prior))
    options: Mapping[str, Any] = {}
    if isinstance(prior, MapOptions):
        path = prior.path
        options = prior.options
    frames = own_map(path, truth, region=protocol.region or (60.0, 30.0), workers=workers, **options)
    if truth.forward == "y":
        return frames.rotate(90)
    return frames


def blocks_of(frames: MapFrames) -> list[slice]:
    """Return ranges of frames that are compared together."""
    return [slice(*some) for some in pairwise([*range(0, len(frames), BLOCK), len(frames)])]


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
            Lines are sampled evenly, as ``changes`` does.
        same: Largest normalised SOSPA of a line that is kept.
        workers: Number of threads.

    >>> import mapgauge as mg
    >>> truth = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]], [[0, 5], [9, 5]]]}})
    >>> prior = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}})
    >>> mg.mark_ignored(truth, prior).ignore
    array([ True, False])
    """
    settings = of_geometry(with_pld(protocol_of(protocol)))
    limit = check_share("same", same)
    states = only
    if isinstance(only, str):
        states = [only]
    unknown = [state for state in states if state not in TRUE_STATES]
    if unknown or not states:
        raise InvalidInput(f"only must be one or more of {', '.join(TRUE_STATES)}, got {only!r}")
    y = loaded(truth, workers=workers)
    aligned = aligned_prior(prior, y, settings, workers=workers)
    y = aligned.truth

    def work(some: slice) -> Indices:
        newer = y.between(some)
        return states_of(match(aligned.prior.between(some), newer, settings), len(newer.polylines), limit)[1]

    of_truth = np.concatenate([np.empty(0, np.int64), *in_threads(work, blocks_of(y), workers)])
    others = ~np.isin(of_truth, [STATES.index(state) for state in states])
    marked = y.with_ignore(others if y.ignore is None else others | y.ignore)
    return replace(marked, findings=(*marked.findings, *aligned.findings(of_truth)))
