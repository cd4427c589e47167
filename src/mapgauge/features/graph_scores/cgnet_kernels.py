"""CGNet's evaluator: walks along edges, the matching of what they meet, and points inserted into a graph."""

import numpy as np
from numpy.typing import NDArray

from mapgauge.features.graph_scores.graph_kernels import squared_gap
from mapgauge.kernels._jit import jit, jit_allocating
from mapgauge.kernels.grouping import pairs_of


@jit_allocating
def first_seen(rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first place of each distinct row, in their order, and the number of each row among them."""
    size = 16
    while size < 2 * len(rows):
        size *= 2
    table = np.full(size, -1)
    first = np.empty(len(rows), np.int64)
    number = np.empty(len(rows), np.int64)
    count = 0
    for i in range(len(rows)):
        mixed = np.uint64(0)
        for k in range(rows.shape[1]):
            mixed = (mixed ^ np.uint64(rows[i, k])) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(32)
        at = np.int64(mixed & np.uint64(size - 1))
        while table[at] >= 0:
            same = True
            for k in range(rows.shape[1]):
                same &= rows[first[table[at]], k] == rows[i, k]
            if same:
                break
            at = (at + 1) % size
        if table[at] < 0:
            table[at] = count
            first[count] = i
            count += 1
        number[i] = table[at]
    return first[:count].copy(), number


@jit
def _from_segment(x, y, ax, ay, bx, by):
    """The distance of a point from a segment, in the order of operations that GEOS has."""
    dx = bx - ax
    dy = by - ay
    squared = dx * dx + dy * dy
    if squared == 0.0:
        return np.sqrt((x - ax) * (x - ax) + (y - ay) * (y - ay))
    share = ((x - ax) * dx + (y - ay) * dy) / squared
    if share <= 0.0:
        return np.sqrt((x - ax) * (x - ax) + (y - ay) * (y - ay))
    if share >= 1.0:
        return np.sqrt((x - bx) * (x - bx) + (y - by) * (y - by))
    return abs(((ay - y) * dx - (ax - x) * dy) / squared) * np.sqrt(squared)


@jit_allocating
def insert_one_by_one(points, nodes, edges, radius, box):
    """Insert points into an undirected graph one after the other, as CGNet's copy of the APLS code does.

    Each point splits the nearest edge. A point at an end of the edge takes the place of that node, and the point that
    had it before is lost. Of equally near edges, the first is taken in the order in which networkx lists them: by the
    lower node, then by the time when the edge was added. ``edges`` are listed in this order, from the lower node.

    Returns the node of each point (-1 if it is farther than ``radius`` or lost), all edges, and their lengths.
    """
    most = len(nodes) + len(points)
    position = np.empty((most, 2))
    position[: len(nodes)] = nodes
    held = np.full(most, -1)  # the point that has the place of a node
    edge = np.empty((len(edges) + len(points), 2), np.int64)
    edge[: len(edges)] = edges
    added = np.arange(len(edge))
    count = len(nodes)
    total = len(edges)
    clock = len(edges)
    place = np.full(len(points), -1)
    reach = radius + 1e-6  # edges whose boxes are farther away are not compared
    for p in range(len(points)):
        x = points[p, 0]
        y = points[p, 1]
        best = -1
        nearest = np.inf
        low = 0
        for e in range(total):
            a = edge[e, 0]
            b = edge[e, 1]
            ax = position[a, 0]
            ay = position[a, 1]
            bx = position[b, 0]
            by = position[b, 1]
            if min(ax, bx) - reach > x or max(ax, bx) + reach < x or min(ay, by) - reach > y or max(ay, by) + reach < y:
                continue
            distance = _from_segment(x, y, ax, ay, bx, by)
            lower = min(a, b)
            earlier = best >= 0 and (lower < low or (lower == low and added[e] < added[best]))
            if distance < nearest or (distance == nearest and earlier):
                best = e
                nearest = distance
                low = lower
        if best < 0 or nearest > radius:
            continue
        a = edge[best, 0]
        b = edge[best, 1]
        dx = position[b, 0] - position[a, 0]
        dy = position[b, 1] - position[a, 1]
        squared = dx * dx + dy * dy
        size = np.sqrt(dx * dx + dy * dy)
        factor = 0.0
        if squared > 0.0:
            factor = ((x - position[a, 0]) * dx + (y - position[a, 1]) * dy) / squared
        along = min(max(factor, 0.0), 1.0) * size
        if 0.0 < along < size:
            share = along / size
            position[count, 0], position[count, 1] = share * dx + position[a, 0], share * dy + position[a, 1]
            edge[best, 1] = count
            edge[total, 0] = count
            edge[total, 1] = b
            # The half at the lower node is added first.
            if a < b:
                added[best], added[total] = (clock, clock + 1)
            else:
                added[best], added[total] = (clock + 1, clock)
            clock += 2
            total += 1
            place[p] = count
            held[count] = p
            count += 1
            continue
        if along <= 0.0:
            end = a
        else:
            end = b
        u = min(a, b)
        v = max(a, b)
        near_u = abs(position[end, 0] - position[u, 0]) <= box and abs(position[end, 1] - position[u, 1]) <= box
        if near_u:
            node = u
        else:
            node = v
        if held[node] >= 0:
            place[held[node]] = -1
        place[p] = node
        held[node] = p
        # networkx copies the graph to rename a node, and edges are added again in the order in which it lists them.
        key = np.empty(total, np.int64)
        for e in range(total):
            key[e] = min(edge[e, 0], edge[e, 1]) * (clock + 1) + added[e]
        order = np.argsort(key)
        for k in range(total):
            added[order[k]] = k
        clock = total
    ends = edge[:total].copy()
    length = np.empty(total)
    for e in range(total):
        dx = position[ends[e, 1], 0] - position[ends[e, 0], 0]
        dy = position[ends[e, 1], 1] - position[ends[e, 0], 1]
        length[e] = np.sqrt(dx * dx + dy * dy)
    return place, ends, length, count


@jit_allocating
def depth_first(
    first: NDArray[np.int64],
    target: NDArray[np.int64],
    points: NDArray[np.float64],
    starts: NDArray[np.int64],
    limit: float,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The nodes that a walk from each start meets, in the order in which it meets them, and their offsets.

    A walk takes the last node that it has seen. It goes on from nodes that are less than ``limit`` from the start along
    the way that it has taken.
    """
    met = np.empty(64, np.int64)
    offsets = np.zeros(len(starts) + 1, np.int64)
    stack = np.empty(64, np.int64)
    depth = np.empty(64)
    visited = np.full(len(points), -1)  # the last walk that has met a node
    total = 0
    for k in range(len(starts)):
        stack[0] = starts[k]
        depth[0] = 0.0
        size = 1
        while size > 0:
            size -= 1
            node = stack[size]
            far = depth[size]
            if visited[node] != k:
                visited[node] = k
                if total == len(met):
                    met = np.concatenate((met, np.empty_like(met)))
                met[total] = node
                total += 1
            if far < limit:
                for e in range(first[node], first[node + 1]):
                    if visited[target[e]] != k:
                        if size == len(stack):
                            stack = np.concatenate((stack, np.empty_like(stack)))
                            depth = np.concatenate((depth, np.empty_like(depth)))
                        stack[size] = target[e]
                        depth[size] = far + np.sqrt(squared_gap(points, node, points, target[e]))
                        size += 1
        offsets[k + 1] = total
    return met[:total].copy(), offsets


@jit_allocating
def matches_of_walks(pair_a, pair_b, squared, count, walk_a, of_a, walk_b, of_b):
    """How many nodes of two walks a one-to-one matching pairs, the nearest first, and whether ties may decide that.

    ``pair_a`` and ``pair_b`` are all pairs of close nodes, by rising distance in each frame. Walk k meets the nodes
    ``walk_a[of_a[k]:of_a[k + 1]]`` of a. Equal distances are ordered by the places of the nodes of b, then of a, in
    their walks.
    """
    out = np.zeros(len(of_a) - 1, np.int64)
    tied = np.zeros(len(of_a) - 1, np.bool_)
    of, pairs = pairs_of(pair_a, count)
    width = 1
    for k in range(len(out)):
        width = max(width, of_a[k + 1] - of_a[k], of_b[k + 1] - of_b[k])
    rank = np.zeros(len(squared), np.int64)
    for k in range(1, len(squared)):
        rank[k] = rank[k - 1] + (squared[k] != squared[k - 1])
    walk = np.full(count, -1)
    place = np.empty(count, np.int64)
    keys = np.empty(len(pairs), np.int64)
    # the last walk that has used a node, and its last key
    used = np.full(count, -1)
    last = np.full(count, -1)
    for k in range(len(out)):
        for i in range(of_b[k], of_b[k + 1]):
            walk[walk_b[i]], place[walk_b[i]] = k, i - of_b[k]
        size = 0
        for i in range(of_a[k], of_a[k + 1]):
            for at in range(of[walk_a[i]], of[walk_a[i] + 1]):
                other = pair_b[pairs[at]]
                if walk[other] == k:
                    keys[size] = (rank[pairs[at]] * width + place[other]) * width + i - of_a[k]
                    size += 1
        keys[:size].sort()
        for i in range(size):
            a = walk_a[of_a[k] + keys[i] % width]
            b = walk_b[of_b[k] + keys[i] // width % width]
            equal = keys[i] // (width * width)
            if used[a] != k and used[b] != k:
                used[a] = used[b] = k
                last[a] = last[b] = equal
                out[k] += 1
            elif (used[a] != k or last[a] == equal) and (used[b] != k or last[b] == equal):
                tied[k] = True  # it was taken by a pair that is equally near
    return out, tied
