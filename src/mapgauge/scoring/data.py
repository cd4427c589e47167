"""``Data``: the predictions and the truth of an evaluation, and their groups.

Everything that looks at single frames reads blocks of frames from here: scores, causes, confidences, assignments, the
figures and the report. So frames are resampled and grouped in one place, and known matches are used in one place.
"""

import os
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from threading import Event
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from mapgauge.arguments import check_workers
from mapgauge.errors import InvalidInput
from mapgauge.frames.content import by_row
from mapgauge.frames.findings import shortened
from mapgauge.frames.map_frames import MapFrames
from mapgauge.metrics.assigned import use_matches
from mapgauge.metrics.groups import Block, group
from mapgauge.protocols import Protocol
from mapgauge.scoring.scores import Scores
from mapgauge.typing import Progress

STOPPED = Event()  # after Ctrl-C in the command line: threads begin no further block of frames
Task = TypeVar("Task")
Outcome = TypeVar("Outcome")
Sides: TypeAlias = tuple[MapFrames, MapFrames]  # aligned predictions and truth

BLOCK = 48  # frames that are scored together; they take some milliseconds and little memory


class BlockWork(NamedTuple):
    """What is computed from every block of frames, for a sentence or a section. Equal keys have equal outcomes."""

    key: Hashable
    of_block: Callable[[Block], Any]


@dataclass(frozen=True, eq=False)
class Data:
    """Predictions and truth, with the frames in the order of the rows of results. They are read when first needed."""

    read: Callable[[], Sides]
    protocol: Protocol
    tokens: tuple[str, ...] | None = None  # the frames; None for all that are read, in their order
    parent: "Data | None" = None  # it has read the sides
    block_size: int = BLOCK  # frames that are scored together
    # Scores of metrics that were added after the evaluation, by metric, so that no view computes them again.
    added: dict[str, Scores] = field(default_factory=dict, repr=False)
    # Work that the next pass over all blocks does besides its own, and outcomes by key that nobody has taken yet.
    expected: list[BlockWork] = field(default_factory=list, repr=False)
    outcomes: dict[Hashable, list[Any]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, predictions: MapFrames, truth: MapFrames, protocol: Protocol, *, block_size: int = BLOCK) -> "Data":
        """Return aligned sides in memory."""
        data = cls(lambda: (predictions, truth), protocol, block_size=block_size)
        _ = data.all_sides
        return data

    def at(self, tokens: tuple[str, ...]) -> "Data":
        """Return some frames, in the given order. Their points are copied when they are needed."""
        return replace(self, tokens=tokens, parent=self.parent or self, added={}, expected=[], outcomes={})

    @property
    def is_read(self) -> bool:
        """Whether both sides are in memory."""
        return "all_sides" in vars(self.parent or self)

    @cached_property
    def all_sides(self) -> Sides:
        """Both sides as they were read. There may be more frames than in ``tokens``, in another order."""
        if self.parent is None:
            return self.read()
        return self.parent.all_sides

    @cached_property
    def sides(self) -> Sides:
        """Both sides. The instances of a frame have the order of the file."""
        x, y = self.all_sides
        if self.tokens is None or self.tokens == y.tokens:
            return x, y
        lacking = [token for token in self.tokens if token not in y.index]
        if lacking:
            raise InvalidInput(
                f"{len(lacking)} of the {len(self.tokens)} frames of the results are not in the evaluated files "
                f"(first: {shortened(lacking[0])})",
                remedy="The results were changed or are damaged: evaluate the files again",
            )
        places = [y.index[token] for token in self.tokens]
        return x.at(places), y.at(places)

    @cached_property
    def sorted_sides(self) -> Sides:
        """Both sides with the instances in the order of the rows of results."""
        x, y = self.sides
        return by_class(x), by_class(y)

    def block(self, frames: slice, *, links: bool = False, known: Scores | None = None) -> Block:
        """Return some consecutive frames in groups. Matches in ``known``, scores of all frames, are used again."""
        x, y = (side.between(frames) for side in self.sides)
        block = Block(frames, (x, y), group(x, y, self.protocol, links=links))
        if known is None:
            scored = None
        else:
            scored = known.scored_matches(frames)
        if scored is not None:
            use_matches(block, self.protocol, scored)
        return block

    def in_blocks(
        self,
        work: Callable[[Block], Outcome],
        *,
        links: bool = False,
        known: Scores | None = None,
        workers: int | None = 1,
        progress: Progress | None = None,
        whole_scenes: bool = False,
    ) -> list[Outcome]:
        """Return the outcome of a function for all blocks of frames, in their order. There is at least one block.

        Matches in ``known``, scores of these frames, are used again. ``progress`` is called with the number of finished
        frames and of all frames. With whole scenes, a block ends where a scene ends. The pass also does the work that
        is expected, and keeps its outcomes for ``outcomes_of``.
        """
        truth = self.sides[1]
        ends: Iterable[int] = range(1, len(truth))
        if whole_scenes and truth.scenes is not None:
            ends = [i for i in ends if truth.scenes[i] != truth.scenes[i - 1]]
        bounds = [0]
        for end in ends:
            if end - bounds[-1] >= self.block_size:
                bounds.append(end)
        frames = [slice(*some) for some in pairwise([*bounds, len(truth)])]

        def advance(done: int, _: int) -> None:
            if progress is not None:
                progress(frames[done - 1].stop, len(truth))

        besides = tuple(self.expected)
        self.expected.clear()

        def all_work(some: slice) -> tuple[Outcome, list[Any]]:
            block = self.block(some, links=links, known=known)
            return work(block), [one.of_block(block) for one in besides]

        done = in_threads(all_work, frames, workers, progress=advance)
        for k, one in enumerate(besides):
            self.outcomes[one.key] = [outcomes[k] for _, outcomes in done]
        return [outcome for outcome, _ in done]

    def expect(self, work: BlockWork) -> None:
        """Let the next pass over all blocks do this work, too."""
        known = {one.key for one in self.expected}
        if work.key not in known and work.key not in self.outcomes:
            self.expected.append(work)

    def outcomes_of(
        self,
        work: BlockWork,
        *,
        known: Scores | None = None,
        workers: int | None = 1,
        progress: Progress | None = None,
    ) -> list[Any]:
        """Return the outcomes of some work for all blocks, in their order. The arguments are as in ``in_blocks``.

        Outcomes of an earlier pass are taken, and not kept any longer: they may be large.
        """
        done = self.outcomes.pop(work.key, None)
        if done is None:
            self.expected[:] = [other for other in self.expected if other.key != work.key]
            return self.in_blocks(work.of_block, known=known, workers=workers, progress=progress)
        if progress is not None:
            count = len(self.sides[1])
            progress(count, count)
        return done


def by_class(frames: MapFrames) -> MapFrames:
    """Sort instances by frame and class, otherwise in the order of the file. The rows of results have this order."""
    key = frames.frame * max(len(frames.classes), 1) + frames.label
    if (np.diff(key) >= 0).all():
        return frames
    return frames.keep(by_row(frames))


def in_threads(
    work: Callable[[Task], Outcome], tasks: Sequence[Task], workers: int | None, progress: Progress | None = None
) -> list[Outcome]:
    """Return the outcome of each task, in the order of the tasks. No task may depend on another.

    ``progress`` gets the number of finished tasks and of all tasks. With one worker, there is no thread.
    Kernels release the interpreter lock. After ``STOPPED``, no further task begins, in no thread.
    """

    def unless_stopped(task: Task) -> Outcome:
        if STOPPED.is_set():
            raise KeyboardInterrupt
        return work(task)

    threads = min(check_workers(workers) or os.cpu_count() or 1, len(tasks))
    if threads > 1:
        pool = ThreadPoolExecutor(threads)
    else:
        pool = None
    done = []
    try:
        for outcome in map(unless_stopped, tasks) if pool is None else pool.map(unless_stopped, tasks):
            done.append(outcome)
            if progress is not None:
                progress(len(done), len(tasks))
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)
    return done
