"""Turns matrices of scores into links: one for each score that is not 0, sorted by source and target.

The instances of a frame are its lanes, with one or three instances each, and at the end of the frame the elements that
lanes may be linked with. The first matrix has a score for each pair of lanes, the second for each lane and each
element. Where a lane has three instances, it is also linked with the other two.
"""

from mapgauge.kernels._jit import ONE, TWO, ZERO, U, jit


@jit
def link(at, source, target, weight, code, own, other, score, kind):
    """Write one link, and return the place of the next."""
    source[at], target[at], weight[at], code[at] = own, other, score, kind
    return at + ONE


@jit
def links_of_matrices(lanes, elements, counts, first, last, between, beside, codes, at, source, target, weight, code):
    """Write the links of several frames.

    Args:
        lanes: Number of lanes of each frame.
        elements: Number of elements of each frame.
        counts: ``(frames, 2)``: the number of scores that each frame has in ``between`` and in ``beside``; 0 if it
            lacks the matrix.
        first: Index of the first instance of each frame.
        last: Index after the last instance of each frame.
        between: The scores between lanes, one matrix after the other.
        beside: The scores between lanes and elements.
        codes: The kind of a link to an element, then those to the instances of a lane.
        at: Number of links so far.
        source: Index of the instance at which a link begins.
        target: Index of the instance at which a link ends.
        weight: The score.
        code: The kind.

    Returns:
        Number of links afterwards, and whether all scores are from 0 to 1.
    """
    width = U(len(codes)) - ONE
    p, q = ZERO, ZERO
    sound = True
    for f in range(U(len(lanes))):
        for i in range(lanes[f]):
            own = first[f] + width * i
            for j in range(lanes[f]):
                if counts[f, ZERO] > ZERO:
                    score = between[p]
                    p += ONE
                    sound &= 0.0 <= score <= 1.0
                    if score != 0.0:
                        at = link(at, source, target, weight, code, own, first[f] + width * j, score, codes[ONE])
                if i == j and width == U(3):
                    at = link(at, source, target, weight, code, own, own + ONE, 1.0, codes[TWO])
                    at = link(at, source, target, weight, code, own, own + TWO, 1.0, codes[U(3)])
            if counts[f, ONE] > ZERO:
                for j in range(elements[f]):
                    score = beside[q]
                    q += ONE
                    sound &= 0.0 <= score <= 1.0
                    if score != 0.0:
                        at = link(at, source, target, weight, code, own, last[f] - elements[f] + j, score, codes[ZERO])
    return at, sound
