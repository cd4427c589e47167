"""Turns the matrices of scores of a frame into links: a link for each score that is not 0, by source and target.

The instances of a frame are its lanes, with one or three instances each, and at the end of the frame the elements that
lanes may be linked with. Where a lane has three instances, it is also linked with the other two.
"""

from mapgauge.kernels._jit import ONE, THREE, TWO, ZERO, U, jit


@jit
def links_of_frame(lanes, elements, first, first_element, codes, at, source, target, weight, code):
    """Write the links of a frame, from scores of its lanes. Return the number of links so far.

    ``first`` is the index of the first instance of the first lane, ``first_element`` the index of the first element.
    ``codes`` has the kind of a link to an element, then the kinds of links to the instances of a lane.
    """
    width = U(len(codes)) - ONE
    for i in range(U(lanes.shape[0])):
        own = first + width * i
        for j in range(U(lanes.shape[1])):
            if lanes[i, j] != 0.0:
                source[at], target[at], weight[at], code[at] = own, first + width * j, lanes[i, j], codes[ONE]
                at += ONE
            if i == j and width == THREE:
                for k in (ONE, TWO):
                    code[at] = codes[ONE + k]
                    source[at] = own
                    target[at] = own + k
                    weight[at] = 1.0
                    at += ONE
        for j in range(U(elements.shape[1])):
            if elements[i, j] != 0.0:
                source[at], target[at], weight[at], code[at] = own, first_element + j, elements[i, j], codes[ZERO]
                at += ONE
    return at
