"""BLAKE2b (RFC 7693) with digests of 16 bytes, of many frames at once.

``hashlib`` computes the same digests, one after the other. Here, eight frames are the lanes of vectors, which takes a
third of the time. numba has no vectors, so the step of eight blocks is written as instructions of LLVM.
"""

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from mapgauge.kernels._jit import U, jit, jit_allocating

LANES = 8
BLOCK = 16  # words of 64 bits
SIZE = 8 * BLOCK  # bytes
START = np.array(
    [
        *(0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1),
        *(0x510E527FADE682D1, 0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179),
    ],
    np.uint64,
)
SETTINGS = U(0x01010000 ^ 16)  # no key, digests of 16 bytes
ALL_ONES = U(2**64 - 1)
# The order of the words of a block in each round; the last two rounds are the first two again.
ORDER = [
    *((0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), (14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3)),
    *((11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4), (7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8)),
    *((9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13), (2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9)),
    *((12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11), (13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10)),
    *((6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5), (10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0)),
]
# The columns of the state that are mixed, then its diagonals.
MIXED = [(k, 4 + (k + j) % 4, 8 + (k + 2 * j) % 4, 12 + (k + 3 * j) % 4) for j in (0, 1) for k in range(4)]


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def _compress(_, state, places, counted, last):
    """Add a block to the state of each lane.

    ``state`` is ``(8, LANES)``. ``places`` has the address of the block of each lane, ``counted`` the number of bytes
    so far, and ``last`` all bits in lanes whose block is the last one.
    """

    def write(context, builder, signature, arguments):
        lanes = ir.VectorType(ir.IntType(64), LANES)

        def array_of(index):
            return context.make_array(signature.args[index])(context, builder, arguments[index])

        def rows_of(index):
            return builder.bitcast(array_of(index).data, lanes.as_pointer())

        def row(rows, k):
            return builder.gep(rows, [ir.Constant(ir.IntType(64), k)])

        def load(rows, k, align=8):
            found = builder.load(row(rows, k))
            found.align = align
            return found

        def same(number):
            return ir.Constant(lanes, [int(number)] * LANES)

        def turn(value, bits):
            return builder.or_(builder.lshr(value, same(bits)), builder.shl(value, same(64 - bits)))

        def zipped(a, b, first):
            order = [
                k for pair in zip(range(first, first + 4), range(first + 8, first + 12), strict=True) for k in pair
            ]
            return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), LANES), order))

        def turned(rows):
            """Exchange rows and columns of eight vectors of eight words."""
            for _ in range(3):
                rows = [zipped(rows[k], rows[k + 4], first) for k in range(4) for first in (0, 4)]
            return rows

        states, counts, ends = rows_of(0), rows_of(2), rows_of(3)
        before = [load(states, k) for k in range(8)]
        halves = []
        for lane in range(LANES):
            place = builder.load(builder.gep(array_of(1).data, [ir.Constant(ir.IntType(64), lane)]))
            block = builder.inttoptr(place, lanes.as_pointer())
            halves.append([load(block, 0, 1), load(block, 1, 1)])
        words = [*turned([half[0] for half in halves]), *turned([half[1] for half in halves])]
        v = [*before, *(same(number) for number in START)]
        v[12] = builder.xor(v[12], load(counts, 0))
        v[14] = builder.xor(v[14], load(ends, 0))
        for order in [*ORDER, *ORDER[:2]]:
            for k, (a, b, c, d) in enumerate(MIXED):
                for word, right, left in ((words[order[2 * k]], 32, 24), (words[order[2 * k + 1]], 16, 63)):
                    v[a] = builder.add(builder.add(v[a], v[b]), word)
                    v[d] = turn(builder.xor(v[d], v[a]), right)
                    v[c] = builder.add(v[c], v[d])
                    v[b] = turn(builder.xor(v[b], v[c]), left)
        for k in range(8):
            stored = builder.store(builder.xor(before[k], builder.xor(v[k], v[k + 8])), row(states, k))
            stored.align = 8
        return context.get_dummy_value()

    return types.void(state, places, counted, last), write


@jit
def _put(target, at, source, begin, end):
    """Copy bytes, and return the place after them."""
    for k in range(end - begin):
        target[at + U(k)] = source[begin + U(k)]
    return at + (end - begin)


@jit
def _message(target, frame, tokens, token_ends, width, names, name_ends, labels, instances, sizes):
    """Write the parts of the message of a frame before its coordinates, and return their length."""
    at = _put(target, U(0), tokens, token_ends[frame], token_ends[frame + 1])
    begin, end = instances[frame], instances[frame + 1]
    if begin == end:
        return at
    target[at], target[at + U(1)] = 0, width
    at += U(2)
    for i in range(begin, end):
        if i > begin:
            target[at] = 0
            at += U(1)
        at = _put(target, at, names, name_ends[labels[i]], name_ends[labels[i] + 1])
    return _put(target, at, sizes, U(8) * begin, U(8) * end)


@jit_allocating
def digests_of_frames(
    tokens, token_ends, width, names, name_ends, labels, instances, sizes, coords, points, others, other_ends
):
    """Return the two words of the digest of each frame: of its token and, if it has instances, of all its parts.

    Bytes are ``tokens``, ``names`` (of classes), ``sizes``, ``coords`` and ``others`` (what comes last in a frame).
    """
    count = len(token_ends) - 1
    long_name = U(0)
    for k in range(1, len(name_ends)):
        long_name = max(long_name, name_ends[k] - name_ends[k - 1])
    longest = U(0)  # bytes of a message, at most, without coordinates
    for k in range(count):
        rows = (instances[k + 1] - instances[k]) * (long_name + U(9))
        ends = token_ends[k + 1] - token_ends[k] + other_ends[k + 1] - other_ends[k]
        longest = max(longest, rows + ends + U(2))
    digests = np.empty((count, 2), np.uint64)
    # A lane has the message without the blocks in the middle that hold coordinates only. They are read where they are.
    memory = np.empty((LANES, longest // U(8) + U(4 * BLOCK)), np.uint64)
    state = np.zeros((8, LANES), np.uint64)
    counted, last = np.zeros(LANES, np.uint64), np.zeros(LANES, np.uint64)
    frame, length = np.full(LANES, -1), np.zeros(LANES, np.uint64)
    done, places = np.zeros(LANES, np.uint64), np.zeros(LANES, np.uint64)  # bytes, and the address of the next block
    # Where the blocks of coordinates begin and end in the message, and what is added to the bytes that are done to get
    # an address: before, within and after them.
    borders, bases = np.zeros((LANES, 2), np.uint64), np.zeros((LANES, 3), np.uint64)
    bases[:] = U(memory.ctypes.data)  # a lane without a frame reads anything
    waiting, left = 0, count
    while left > 0:
        for lane in range(LANES):
            if frame[lane] < 0 and waiting < count:
                message = memory[lane].view(np.uint8)
                head = _message(message, waiting, tokens, token_ends, width, names, name_ends, labels, instances, sizes)
                begin = U(8 * width) * points[instances[waiting]]
                end = U(8 * width) * points[instances[waiting + 1]]
                first = min((U(SIZE) - head % U(SIZE)) % U(SIZE), end - begin)  # bytes that fill a block of the head
                middle = (end - begin - first) // U(SIZE) * U(SIZE)
                at = _put(message, head, coords, begin, begin + first)
                at = _put(message, at, coords, begin + first + middle, end)
                at = _put(message, at, others, other_ends[waiting], other_ends[waiting + 1])
                for k in range(U(SIZE)):
                    message[at + U(k)] = 0
                borders[lane, 0], borders[lane, 1] = head + first, head + first + middle
                bases[lane, 0] = U(message.ctypes.data)
                bases[lane, 1] = U(coords.ctypes.data) + begin - head
                bases[lane, 2] = bases[lane, 0] - middle
                frame[lane], length[lane], done[lane] = waiting, at + middle, 0
                for k in range(8):
                    state[k, lane] = START[k]
                state[0, lane] ^= SETTINGS
                waiting += 1
            part = U(done[lane] >= borders[lane, 0]) + U(done[lane] >= borders[lane, 1])
            places[lane] = bases[lane, part] + done[lane]
            done[lane] += U(SIZE) if frame[lane] >= 0 else U(0)
            counted[lane] = min(done[lane], length[lane])
            last[lane] = ALL_ONES if counted[lane] == length[lane] else U(0)
        _compress(state, places, counted, last)
        for lane in range(LANES):
            if frame[lane] >= 0 and last[lane] > 0:
                digests[frame[lane], 0], digests[frame[lane], 1] = state[0, lane], state[1, lane]
                frame[lane] = -1
                done[lane] = borders[lane, 0] = borders[lane, 1] = 0
                bases[lane, 2] = bases[lane, 0]
                left -= 1
    return digests
