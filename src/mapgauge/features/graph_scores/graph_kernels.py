"""Road graphs: near points and their matching, points snapped to edges, and shortest paths (TOPO, APLS)."""

import numpy as np
from numpy.typing import NDArray

from mapgauge.kernels._jit import ONE, U, jit, jit_allocating
from mapgauge.kernels.grouping import pairs_of

_ROW = 1 << 31  # cells in a row of the grid; more than there are in any map


@jit_allocating
def _cells(points, size):
    """The number of the cell of each point in a grid over the first two coordinates."""
    cells = np.empty(len(points), np.int64)
    for i in range(len(points)):
        cells[i] = np.int64(np.floor(points[i, 0] / size)) * _ROW + np.int64(np.floor(points[i, 1] / size))
    return cells


@jit
def squared_gap(x: NDArray[np.float64], i: int, y: NDArray[np.float64], j: int) -> float:
    total = 0.0
    for k in range(x.shape[1]):
        step = x[i, k] - y[j, k]
        total += step * step
    return total


@jit_allocating
def close_points(
    points: NDArray[np.float64], bounds: NDArray[np.int64], radius: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """All pairs of two points of a group closer than ``radius``: both indices, the squared distance, and offsets.

    Group g has the points ``bounds[g, 0] .. bounds[g, 1]``, which come first in pairs, and ``bounds[g, 1] ..
    bounds[g, 2]``. Its pairs begin at ``offsets[g]``.
    """
    first = np.empty(64, np.int64)
    second = np.empty(64, np.int64)
    squared = np.empty(64)
    offsets = np.zeros(len(bounds) + 1, np.int64)
    begin = np.zeros(3, np.int64)
    count = 0
    for g in range(len(bounds)):
        start, middle, end = bounds[g]
        own = _cells(points[start:middle], radius)
        cells = _cells(points[middle:end], radius)
        order = np.argsort(cells, kind="mergesort")
        cells = cells[order]
        for i in range(middle - start):
            for row in range(3):
                cell = own[i] + (row - 1) * _ROW
                if i == 0 or own[i] != own[i - 1]:
                    begin[row] = np.searchsorted(cells, cell - 1)
                k = begin[row]
                while k < len(cells) and cells[k] <= cell + 1:
                    distance = squared_gap(points, start + i, points, middle + order[k])
                    if distance < radius * radius:
                        if count == len(first):
                            first = np.concatenate((first, np.empty(count, np.int64)))
                            second = np.concatenate((second, np.empty(count, np.int64)))
                            squared = np.concatenate((squared, np.empty(count)))
                        second[count] = middle + order[k]
                        first[count] = start + i
                        squared[count] = distance
                        count += 1
                    k += 1
        offsets[g + 1] = count
    return first[:count].copy(), second[:count].copy(), squared[:count].copy(), offsets


@jit_allocating
def accept_pairs(first: NDArray[np.int64], second: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The positions of the pairs that a one-to-one matching of ``count`` points accepts, in the order given."""
    used = np.zeros(count, np.bool_)
    accepted = np.empty(min(count, len(first)), np.int64)
    size = 0
    for k in range(len(first)):
        if not used[first[k]] and not used[second[k]]:
            used[first[k]] = used[second[k]] = True
            accepted[size] = k
            size += 1
    return accepted[:size].copy()


@jit
def _gap_to(x, y):
    """The sum of the distances from the points of x to the nearest point of y."""
    total = 0.0
    for i in range(len(x)):
        nearest = np.inf
        for j in range(len(y)):
            nearest = min(nearest, squared_gap(x, i, y, j))
        total += np.sqrt(nearest)
    return total


@jit
def _along(points, offsets, lanes, out):
    """Write the points along some lanes, of which each begins at the end of the one before; -1 is no lane."""
    count = 0
    for k in range(len(lanes)):
        if lanes[k] >= 0:
            for p in range(offsets[lanes[k]] + (k > 0), offsets[lanes[k] + 1]):
                for axis in range(points.shape[1]):
                    out[count, axis] = points[p, axis]
                count += 1
    return count


@jit_allocating
def mean_gaps(
    points: NDArray[np.float64], offsets: NDArray[np.int64], x: NDArray[np.int64], y: NDArray[np.int64]
) -> NDArray[np.float64]:
    """For two ways ``x[k]`` and ``y[k]``: the mean of the mean distances from the points of one to the other."""
    longest = 0
    for lane in range(len(offsets) - 1):
        longest = max(longest, offsets[lane + 1] - offsets[lane])
    room = np.empty((2, longest * x.shape[1], points.shape[1]))
    out = np.empty(len(x))
    for k in range(len(x)):
        own = room[0, : _along(points, offsets, x[k], room[0])]
        other = room[1, : _along(points, offsets, y[k], room[1])]
        out[k] = 0.5 * (_gap_to(own, other) / len(own) + _gap_to(other, own) / len(other))
    return out


SAME = 1e-9  # metres: distances that differ by less are equal


@jit
def _foot(points, p, nodes, u, v):
    """The share of the edge before the point that is nearest to a point, and its distance."""
    along = 0.0
    squared = 0.0
    for k in range(points.shape[1]):
        step = nodes[v, k] - nodes[u, k]
        along += (points[p, k] - nodes[u, k]) * step
        squared += step * step
    share = 0.0
    if squared > 0.0:
        share = min(1.0, max(0.0, along / squared))
    total = 0.0
    for k in range(points.shape[1]):
        gap = points[p, k] - (nodes[u, k] + share * (nodes[v, k] - nodes[u, k]))
        total += gap * gap
    return share, np.sqrt(total)


@jit_allocating
def snap(points, own, points_of, nodes, edges, edges_of, radius):
    """The edge of each point and its share of the edge before the point; -1 for points farther than ``radius``.

    Graphs come in pairs. Graph g has the points ``points_of[g] .. points_of[g + 1]``, and edges likewise. A point is
    snapped to the nearest edge of the other graph of its pair. Of edges that are equally near, a point that is a node
    (``own`` -1) takes one that has a node there, and a point inside the edge ``own`` the one whose ends are nearest to
    the ends of its own edge.
    """
    edge = np.full(len(points), -1)
    share = np.zeros(len(points))
    near = np.empty(len(edges), np.int64)
    feet = np.empty(len(edges))
    distances = np.empty(len(edges))
    reach = radius + 1e-6  # edges whose boxes are farther away are not compared
    low = np.empty((len(edges), 2))
    high = np.empty((len(edges), 2))
    for e in range(len(edges)):
        for axis in range(2):
            one = nodes[edges[e, 0], axis]
            two = nodes[edges[e, 1], axis]
            low[e, axis] = min(one, two) - reach
            high[e, axis] = max(one, two) + reach
    for g in range(len(points_of) - 1):
        for p in range(points_of[g], points_of[g + 1]):
            nearest = np.inf
            count = 0
            x = points[p, 0]
            y = points[p, 1]
            for e in range(edges_of[g ^ 1], edges_of[(g ^ 1) + 1]):
                if x < low[e, 0] or x > high[e, 0] or y < low[e, 1] or y > high[e, 1]:
                    continue
                near[count] = e
                feet[count], distances[count] = _foot(points, p, nodes, edges[e, 0], edges[e, 1])
                nearest = min(nearest, distances[count])
                count += 1
            if nearest > radius:
                continue
            best = np.inf
            for k in range(count):
                e = near[k]
                at = feet[k]
                u = edges[e, 0]
                v = edges[e, 1]
                if distances[k] > nearest + SAME:
                    continue
                if own[p] < 0:
                    apart = min(np.sqrt(squared_gap(points, p, nodes, u)), np.sqrt(squared_gap(points, p, nodes, v)))
                else:
                    a = edges[own[p], 0]
                    b = edges[own[p], 1]
                    straight = np.sqrt(squared_gap(nodes, a, nodes, u)) + np.sqrt(squared_gap(nodes, b, nodes, v))
                    crossed = np.sqrt(squared_gap(nodes, a, nodes, v)) + np.sqrt(squared_gap(nodes, b, nodes, u))
                    apart = min(straight, crossed)
                if apart < best - SAME:
                    best = apart
                    edge[p] = e
                    share[p] = at
    return edge, share


@jit_allocating
def csr(
    count: int, edges: NDArray[np.int64], lengths: NDArray[np.float64], ways: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """The edges that leave each node: the first of each, and targets and lengths. ``ways`` are forward and backward."""
    first = np.zeros(count + 1, np.int64)
    for e in range(len(edges)):
        for way in range(2):
            first[edges[e, way] + 1] += ways[e, way]
    first = np.cumsum(first)
    at = first.copy()
    target = np.empty(first[-1], np.int64)
    length = np.empty(first[-1])
    for way in range(2):
        for e in range(len(edges)):
            if ways[e, way]:
                k = at[edges[e, way]]
                target[k], length[k] = edges[e, 1 - way], lengths[e]
                at[edges[e, way]] += 1
    return first, target, length


@jit
def walk(first, target, length, start, limit, distance, found, queue, queued):
    """Write the distances, infinite before, of all nodes within ``limit`` of ``start``, and list these nodes.

    A node is looked at again when a shorter path to it is found. In a road graph this is rare, and takes less time than
    to sort the nodes by distance.
    """
    distance[start] = 0.0
    found[0] = start
    queue[0] = start
    count = 1
    size = 1
    head = 0
    while size > 0:
        node = U(queue[head])
        queued[node] = False
        if head + 1 < len(queue):
            head = head + 1
        else:
            head = 0
        size -= 1
        near = distance[node]
        for e in range(U(first[node]), U(first[node + ONE])):
            far = near + length[e]
            then = U(target[e])
            if far <= limit and far < distance[then]:
                if distance[then] == np.inf:
                    found[count] = then
                    count += 1
                distance[then] = far
                if not queued[then]:
                    queued[then] = True
                    end = head + size
                    queue[end if end < len(queue) else end - len(queue)] = then
                    size += 1
    return count


@jit_allocating
def matches_within(graph, starts, limit, pair_a, pair_b):
    """For each pair of starts: nodes within ``limit`` of each, and how many of them a one-to-one matching pairs.

    ``pair_a`` and ``pair_b`` are all pairs of close nodes in the order in which they are matched. A pair is matched
    unless an earlier pair takes one of its nodes. So each node of a asks for its pairs in turn, and a node of b keeps
    the earliest pair that it was asked for.
    """
    first, target, length = graph
    count = len(first) - 1
    out = np.zeros((len(starts), 3), np.int64)
    distance = np.full(count, np.inf)
    queued = np.zeros(count, np.bool_)
    found = np.empty((2, count), np.int64)
    queue = np.empty(count, np.int64)
    of, pairs = pairs_of(pair_a, count)
    next_of = of.copy()
    none = len(pair_a)
    held = np.full(count, none)  # the pair that a node of b keeps
    for k in range(len(starts)):
        count_a = walk(first, target, length, starts[k, 0], limit, distance, found[0], queue, queued)
        count_b = walk(first, target, length, starts[k, 1], limit, distance, found[1], queue, queued)
        for i in range(count_a):
            next_of[found[0, i]] = of[found[0, i]]
        for i in range(count_a):
            node = found[0, i]
            while next_of[node] < of[node + 1]:
                pair = pairs[next_of[node]]
                next_of[node] += 1
                other = pair_b[pair]
                if distance[other] < np.inf and pair < held[other]:
                    pair, held[other] = held[other], pair
                    if pair == none:
                        out[k, 2] += 1
                        break
                    node = pair_a[pair]  # it has lost its pair, and asks for the next one
        out[k, 0] = count_a
        out[k, 1] = count_b
        for side in range(2):
            for i in range(out[k, side]):
                distance[found[side, i]] = np.inf
                held[found[side, i]] = none
    return out


@jit_allocating
def path_costs(graph_a, graph_b, points_of, other, shortest, lost_costs_all):
    """The sum of ``min(1, |L - L'| / L)`` over all paths in a between different control points, and their number.

    There is a row for each graph: graph g has the control points ``points_of[g] .. points_of[g + 1]``, which are nodes
    of a. Control point i is the node ``other[i]`` of b, or -1 if b does not have it. L is the length of the path in a,
    L' in b. The cost is 1 if there is no path in b. Paths below ``shortest`` are left out, except those from a point
    that b does not have if ``lost_costs_all``.
    """
    first_a, target_a, length_a = graph_a
    first_b, target_b, length_b = graph_b
    distance_a = np.full(len(first_a) - 1, np.inf)
    distance_b = np.full(len(first_b) - 1, np.inf)
    most = max(len(distance_a), len(distance_b))
    found = np.empty((2, most), np.int64)
    queue = np.empty(most, np.int64)
    queued = np.zeros(most, np.bool_)
    totals = np.zeros((len(points_of) - 1, 2))
    for g in range(len(totals)):
        total = 0.0
        count = 0
        for i in range(points_of[g], points_of[g + 1]):
            count_a = walk(first_a, target_a, length_a, i, np.inf, distance_a, found[0], queue, queued)
            count_b = 0
            if other[i] >= 0:
                count_b = walk(first_b, target_b, length_b, other[i], np.inf, distance_b, found[1], queue, queued)
            for j in range(points_of[g], points_of[g + 1]):
                long = distance_a[j]
                if i == j or long == np.inf or (long < shortest and not (lost_costs_all and other[i] < 0)):
                    continue
                count += 1
                if other[i] < 0 or other[j] < 0 or distance_b[other[j]] == np.inf:
                    total += 1.0
                else:
                    total += min(1.0, abs(long - distance_b[other[j]]) / long)
            for k in range(count_a):
                distance_a[found[0, k]] = np.inf
            for k in range(count_b):
                distance_b[found[1, k]] = np.inf
        totals[g, 0] = total
        totals[g, 1] = count
    return totals


@jit_allocating
def united(node: NDArray[np.int64], pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """The lowest of the points that each point is the same as, if the points of some pairs are the same as well."""
    low = np.arange(len(node))
    for k in range(len(pairs)):
        a = node[pairs[k, 0]]
        b = node[pairs[k, 1]]
        while low[a] != a:
            a = low[a]
        while low[b] != b:
            b = low[b]
        low[max(a, b)] = min(a, b)
    out = np.empty(len(node), np.int64)
    for k in range(len(node)):
        low[k] = low[low[k]]  # lower points come first
        out[k] = low[node[k]]
    return out


@jit_allocating
def paths_between_junctions(
    count: int, edges: NDArray[np.int64], two_way: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Nodes and offsets of the paths of ``paths_of``, in the order of their first nodes. No edge may be repeated."""
    out_of = np.zeros(count + 1, np.int64)
    into = np.zeros(count + 1, np.int64)
    for e in range(len(edges)):
        out_of[edges[e, 0] + 1] += 1
        into[edges[e, 1] + 1] += 1
    out_of = np.cumsum(out_of)
    into = np.cumsum(into)
    start = np.empty(len(edges), np.int64)
    end = np.empty(len(edges), np.int64)
    source = np.empty(len(edges), np.int64)
    at = out_of.copy()
    filled = into.copy()
    for e in range(len(edges)):
        a, b = edges[e]
        start[at[a]], end[at[a]], source[filled[b]] = a, b, a
        at[a] += 1
        filled[b] += 1
    # edges are sorted by their starts now
    then = np.full(len(edges), -1)
    begun = np.zeros(len(edges), np.bool_)
    for e in range(len(edges)):
        node = end[e]
        ways = 0
        back = 0
        following = -1
        for f in range(out_of[node], out_of[node + 1]):
            if end[f] != start[e]:
                ways += 1
                following = f
        if ways != 1 or not (two_way or (out_of[node + 1] - out_of[node] == 1 == into[node + 1] - into[node])):
            continue
        for k in range(into[node], into[node + 1]):
            back += source[k] != end[following]
        if back == 1:
            then[e] = following
            begun[following] = True
    # Paths that begin at an edge that follows no other, then cycles, which begin anywhere.
    done = np.zeros(len(edges), np.bool_)
    size = np.zeros(len(edges), np.int64)
    path = np.empty(2 * len(edges), np.int64)
    place = np.full(len(edges), -1)
    total = 0
    number = 0
    order = np.empty(len(edges), np.int64)
    for cycles in range(2):
        for e in range(len(edges)):
            if done[e] or (begun[e] and cycles == 0):
                continue
            path[total] = start[e]
            place[e] = total
            order[number] = e
            number += 1
            total += 1
            f = e
            while f >= 0 and not done[f]:
                done[f] = True
                path[total] = end[f]
                total += 1
                f = then[f]
            size[e] = total - place[e]
    nodes = np.empty(total + count, np.int64)
    offsets = np.zeros(number + count + 1, np.int64)
    first_of = np.argsort(start[order[:number]], kind="mergesort")
    lanes = 0
    total = 0
    k = 0
    for node in range(count):
        if out_of[node] == out_of[node + 1] and into[node] == into[node + 1]:
            nodes[total] = node
            total += 1
            lanes += 1
            offsets[lanes] = total
        while k < number and start[order[first_of[k]]] == node:
            e = order[first_of[k]]
            nodes[total : total + size[e]] = path[place[e] : place[e] + size[e]]
            total += size[e]
            lanes += 1
            offsets[lanes] = total
            k += 1
    return nodes[:total].copy(), offsets[: lanes + 1].copy()


@jit
def _is_less(length, way, other_length, other_way):
    """Whether a way is shorter, or of the same length and before the other by the numbers of its lanes."""
    if length != other_length:
        return length < other_length
    for k in range(len(way)):
        if way[k] != other_way[k]:
            return way[k] < other_way[k]
    return False


@jit_allocating
def ways_between(
    count: int, start: NDArray[np.int64], end: NDArray[np.int64], length: NDArray[np.float64], hops: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The shortest ways over at most ``hops`` lanes between ``count`` landmarks: both landmarks, and the lanes or -1.

    Lanes are sorted by the landmarks where they start. Of equally long ways, the first by the numbers of lanes counts.
    """
    first = np.searchsorted(start, np.arange(count + 1))
    # before the last hop, and with it
    best = np.full(count, np.inf)
    fresh = np.full(count, np.inf)
    way = np.full((count, hops), -1)
    fresh_way = np.full((count, hops), -1)
    reached = np.empty(count, np.int64)
    following = np.empty(count, np.int64)
    touched = np.empty(count, np.int64)
    option = np.empty(hops, np.int64)
    ends = np.empty((64, 2), np.int64)
    ways = np.empty((64, hops), np.int64)
    total = 0
    for s in range(count):
        if first[s] == first[s + 1]:
            continue
        best[s] = 0.0
        touched[0] = s
        reached[0] = s
        seen = 1
        size = 1
        for hop in range(hops):
            count_next = 0
            for k in range(size):
                node = reached[k]
                option[:] = way[node]
                for lane in range(first[node], first[node + 1]):
                    far = best[node] + length[lane]
                    to = end[lane]
                    option[hop] = lane
                    shorter = _is_less(far, option, best[to], way[to])
                    if shorter and _is_less(far, option, fresh[to], fresh_way[to]):
                        if fresh[to] == np.inf:
                            following[count_next] = to
                            count_next += 1
                        fresh[to] = far
                        fresh_way[to] = option
            for k in range(count_next):
                node = following[k]
                if best[node] == np.inf:
                    touched[seen] = node
                    seen += 1
                best[node] = fresh[node]
                fresh[node] = np.inf
                way[node] = fresh_way[node]
                reached[k] = node
            size = count_next
        for k in range(seen):
            node = touched[k]
            if node != s:
                if total == len(ends):
                    ends = np.concatenate((ends, np.empty_like(ends)))
                    ways = np.concatenate((ways, np.empty_like(ways)))
                ends[total, 0] = s
                ends[total, 1] = node
                ways[total] = way[node]
                total += 1
            best[node] = np.inf
            way[node] = -1
    return ends[:total].copy(), ways[:total].copy()
