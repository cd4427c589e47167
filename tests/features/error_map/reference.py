"""The rule of the error map in plain Python, written from its description. It is slow."""

import math
from collections import defaultdict
from itertools import pairwise

import mapgauge as mg

STEP, APART, TURN = 0.5, 0.25, 0.9


def crossings(start: tuple[float, float], end: tuple[float, float]) -> list[tuple[str, int, float, bool]]:
    """The grid lines that a segment crosses: direction, number, place on the line, whether the end is nearer."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    axis = 0 if abs(dx) >= TURN * abs(dy) else 1
    low, high = sorted((start[axis], end[axis]))
    found = []
    for k in range(math.floor(low / STEP) - 1, math.floor(high / STEP) + 2):
        if low < k * STEP <= high:
            share = (k * STEP - start[axis]) / (end[axis] - start[axis])
            place = start[1 - axis] + share * (end[1 - axis] - start[1 - axis])
            found.append(("xy"[axis], k, place, share > 0.5))
    return found


def pieces(results: mg.Results, least: float) -> list[tuple[str, str, int, float, int, int, float, int, int]]:
    """All pieces: class, direction, grid line, place, seen, found, median offset, pairs in a row, and flips."""
    data = results.data
    assert data is not None
    truth = data[1]
    assert truth.poses is not None
    lines = defaultdict(list)
    for frame, token in enumerate(results.tokens):
        assignment = results.assignment(token)
        pose = truth.poses[frame]
        size = math.hypot(pose[0, 0], pose[1, 0])
        c, s = pose[0, 0] / size, pose[1, 0] / size
        for i, line in enumerate(assignment.truth):
            points = [tuple(point) for point in line.points.tolist()]
            partner: dict[int, tuple[float, float]] = {}
            sure = -1.0
            for match in assignment.matches:
                if match.truth == i:
                    other = assignment.predictions[match.prediction]
                    sure = 1.0 if other.confidence is None else other.confidence
                    partner = {b: tuple(other.points[a].tolist()) for a, b in match.pairs.tolist()}
            numbers = list(range(len(points)))
            if assignment.truth_closed[i] and len(numbers) > 2:
                numbers.append(0)
            world = [(c * x - s * y + pose[0, 3], s * x + c * y + pose[1, 3]) for x, y in points]
            for a, b in pairwise(numbers):
                for axis, k, place, at_end in crossings(world[a], world[b]):
                    near = b if at_end else a
                    offset = math.nan
                    if near in partner:
                        (x0, y0), (x1, y1) = points[a], points[b]
                        u, v = partner[near][0] - points[near][0], partner[near][1] - points[near][1]
                        offset = abs((x1 - x0) * v - (y1 - y0) * u) / math.hypot(x1 - x0, y1 - y0)
                    found = near in partner and sure >= least
                    lines[line.class_name, axis, k].append((place, frame, found, offset))
    made = []
    for (name, axis, k), samples in lines.items():
        samples.sort(key=lambda sample: sample[0])
        runs = [[samples[0]]]
        for sample in samples[1:]:
            if sample[0] - runs[-1][-1][0] > APART:
                runs.append([])
            runs[-1].append(sample)
        for run in runs:
            by_frame = defaultdict(list)
            for _, frame, found, offset in run:
                by_frame[frame].append((found, offset))
            ok = {frame: all(found for found, _ in some) for frame, some in by_frame.items()}
            offsets = sorted(max(offset for _, offset in some) for frame, some in by_frame.items() if ok[frame])
            middle = math.nan
            if offsets:
                middle = (offsets[(len(offsets) - 1) // 2] + offsets[len(offsets) // 2]) / 2
            pairs = flips = 0
            at = {_position(truth, seen): seen for seen in ok}
            for position, seen in at.items():
                following = at.get((position[0], position[1] + 1))
                if following is not None:
                    pairs += 1
                    flips += ok[seen] != ok[following]
            place = sum(sample[0] for sample in run) / len(run)
            made.append((name, axis, k, place, len(ok), sum(ok.values()), middle, pairs, flips))
    return sorted(made)


def _position(truth: mg.MapFrames, frame: int) -> tuple[str, int]:
    """The scene of a frame, and its place in time there."""
    assert truth.scenes is not None
    assert truth.timestamps is not None
    times = truth.timestamps.tolist()
    same = [k for k, scene in enumerate(truth.scenes) if scene == truth.scenes[frame]]
    return truth.scenes[frame], sorted(same, key=times.__getitem__).index(frame)
