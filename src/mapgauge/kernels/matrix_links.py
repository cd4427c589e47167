"""Turns matrices of scores into links: one for each score that is not 0, sorted by source and target.

The instances of a frame are its lanes, with one or three instances each, and at the end of the frame the elements that
lanes may be linked with. The first matrix has a score for each pair of lanes, the second for each lane and each
element. Where a lane has three instances, it is also linked with the other two. Scores are read where they are in the
file.
"""

import numpy as np

from mapgauge.kernels._jit import ONE, THREE, TWO, ZERO, U, jit
from mapgauge.kernels.pickle_calls import word_at

FLOAT64, FLOAT32, INT8, UINT8 = (U(i) for i in range(4))  # types of scores
_BYTES = np.array([8, 4, 1, 1], np.uint64)


@jit
def _score(data, at, kind):
    """Return the number at a byte."""
    if kind == FLOAT32:
        low = np.uint32(data[at]) | (np.uint32(data[at + ONE]) << np.uint32(8))
        high = (np.uint32(data[at + TWO]) << np.uint32(16)) | (np.uint32(data[at + THREE]) << np.uint32(24))
        return np.float64(np.uint32(low | high).view(np.float32))
    if kind == INT8:
        return np.float64(np.int8(data[at]))
    if kind == UINT8:
        return np.float64(data[at])
    return U(word_at(data, at)).view(np.float64)


@jit
def _row(data, begin, kind, low, high, own, other, step, links, at, name):
    """Write the links of a part of a row. Return the place of the next link, and whether all scores are from 0 to 1.

    A link is written for each score, and overwritten by the next if the score is 0. This is faster than a branch.
    """
    source, target, weight, code = links
    sound = True
    size = _BYTES[kind]
    for j in range(low, high):
        score = _score(data, begin + size * j, kind)
        sound &= (score >= 0.0) & (score <= 1.0)
        source[at], target[at], weight[at], code[at] = own, other + step * j, score, name
        at += U(score != 0.0)
    return at, sound


@jit
def links_of_matrices(
    data, starts, types, lanes, elements, given, first, last, codes, at, source, target, weight, code
):
    """Write the links of several frames.

    Args:
        data: The bytes that hold the scores.
        starts: ``(frames, 2)``: where the matrix of lanes and the matrix of elements of each frame start.
        types: ``(frames, 2)``: the types of their scores.
        lanes: Number of lanes of each frame.
        elements: Number of elements of each frame.
        given: ``(frames, 2)``: 1 if the frame has the matrix, else 0.
        first: Index of the first instance of each frame.
        last: Index after the last instance of each frame.
        codes: The kind of a link to an element, then those to the instances of a lane.
        at: Number of links so far.
        source: Index of the instance at which a link begins. It and the next have space for one more link than there
            are.
        target: Index of the instance at which a link ends.
        weight: The score.
        code: The kind.

    Returns:
        Number of links afterwards, and whether all scores are from 0 to 1.
    """
    width = U(len(codes)) - ONE
    links = (source, target, weight, code)
    sound = True
    for f in range(U(len(lanes))):
        count, others, kind = lanes[f], elements[f], types[f, ZERO]
        for i in range(count):
            own, name = first[f] + width * i, codes[ONE]
            begin = starts[f, ZERO] + _BYTES[kind] * count * i
            for part in range(TWO):  # the lines of a lane come right after its link to itself
                low, high = (ZERO, i + ONE) if part == ZERO else (i + ONE, count)
                if given[f, ZERO]:
                    at, fits = _row(data, begin, kind, low, high, own, first[f], width, links, at, name)
                    sound &= fits
                if part == ZERO and width == THREE:
                    for k in (ONE, TWO):
                        source[at], target[at], weight[at], code[at] = own, own + k, 1.0, codes[ONE + k]
                        at += ONE
            if given[f, ONE]:
                begin = starts[f, ONE] + _BYTES[types[f, ONE]] * others * i
                beside, name = last[f] - others, codes[ZERO]
                at, fits = _row(data, begin, types[f, ONE], ZERO, others, own, beside, ONE, links, at, name)
                sound &= fits
    return at, sound
