"""Road graphs: near points and their matching, points snapped to edges, and shortest paths (TOPO, APLS)."""

import numpy as np

from mapgauge.kernels._jit import jit, jit_allocating

_ROW = 1 << 31  # cells in a row of the grid; more than there are in any map


@jit_allocating
def _cells(points, size):
    """The number of the cell of each point in a grid over the first two coordinates."""
    cells = np.empty(len(points), np.int64)
    for i in range(len(points)):
        cells[i] = np.int64(np.floor(points[i, 0] / size)) * _ROW + np.int64(np.floor(points[i, 1] / size))
    return cells


@jit
def _squared(x, i, y, j):
    total = 0.0
    for k in range(x.shape[1]):
        step = x[i, k] - y[j, k]
        total += step * step
    return total


@jit_allocating
def close_points(x, y, radius):
    """All pairs of a point of x and a point of y closer than ``radius``: both indices, and the squared distance."""
    own, cells = _cells(x, radius), _cells(y, radius)
    order = np.argsort(cells, kind="mergesort")
    cells = cells[order]
    first, second, squared = np.empty(64, np.int64), np.empty(64, np.int64), np.empty(64)
    count = 0
    for i in range(len(x)):
        for row in range(-1, 2):
            middle = own[i] + row * _ROW
            k = np.searchsorted(cells, middle - 1)
            while k < len(cells) and cells[k] <= middle + 1:
                distance = _squared(x, i, y, order[k])
                if distance < radius * radius:
                    if count == len(first):
                        first = np.concatenate((first, np.empty(count, np.int64)))
                        second = np.concatenate((second, np.empty(count, np.int64)))
                        squared = np.concatenate((squared, np.empty(count)))
                    first[count], second[count], squared[count] = i, order[k], distance
                    count += 1
                k += 1
    return first[:count].copy(), second[:count].copy(), squared[:count].copy()


@jit_allocating
def accept_pairs(first, second, firsts, seconds):
    """The positions of the pairs that a one-to-one matching accepts, which takes them in the order given."""
    used, taken = np.zeros(firsts, np.bool_), np.zeros(seconds, np.bool_)
    accepted = np.empty(min(firsts, seconds), np.int64)
    count = 0
    for k in range(len(first)):
        if not used[first[k]] and not taken[second[k]]:
            used[first[k]] = taken[second[k]] = True
            accepted[count] = k
            count += 1
    return accepted[:count].copy()


@jit
def _gap_to(x, y):
    """The sum of the distances from the points of x to the nearest point of y."""
    total = 0.0
    for i in range(len(x)):
        nearest = np.inf
        for j in range(len(y)):
            nearest = min(nearest, _squared(x, i, y, j))
        total += np.sqrt(nearest)
    return total


@jit
def mean_gap(x, y):
    """The mean of the two mean distances from the points of one set to the nearest point of the other."""
    return 0.5 * (_gap_to(x, y) / len(x) + _gap_to(y, x) / len(y))


SAME = 1e-9  # metres: distances that differ by less are equal


@jit
def _foot(points, p, nodes, u, v):
    """The share of the edge before the point that is nearest to a point, and its distance."""
    along, squared = 0.0, 0.0
    for k in range(points.shape[1]):
        step = nodes[v, k] - nodes[u, k]
        along += (points[p, k] - nodes[u, k]) * step
        squared += step * step
    share = min(1.0, max(0.0, along / squared)) if squared > 0.0 else 0.0
    total = 0.0
    for k in range(points.shape[1]):
        gap = points[p, k] - (nodes[u, k] + share * (nodes[v, k] - nodes[u, k]))
        total += gap * gap
    return share, np.sqrt(total)


@jit_allocating
def snap(points, own, ends, nodes, edges, radius):
    """The edge of each point and its share of the edge before the point; -1 for points farther than ``radius``.

    A point is snapped to the nearest edge. Of edges that are equally near, a point that is a node (``own`` -1) takes
    one that has a node there, and a point inside the edge ``ends[own]`` the one whose ends are nearest to the ends of
    its own edge. ``ends`` are positions ``(edges, 2, dimension)``.
    """
    edge, share = np.full(len(points), -1), np.zeros(len(points))
    near, feet, distances = np.empty(len(edges), np.int64), np.empty(len(edges)), np.empty(len(edges))
    reach = radius + 1e-6  # edges whose boxes are farther away are not compared
    for p in range(len(points)):
        nearest, count = np.inf, 0
        for e in range(len(edges)):
            u, v = edges[e, 0], edges[e, 1]
            x, y = points[p, 0], points[p, 1]
            if x < min(nodes[u, 0], nodes[v, 0]) - reach or x > max(nodes[u, 0], nodes[v, 0]) + reach:
                continue
            if y < min(nodes[u, 1], nodes[v, 1]) - reach or y > max(nodes[u, 1], nodes[v, 1]) + reach:
                continue
            near[count] = e
            feet[count], distances[count] = _foot(points, p, nodes, u, v)
            nearest = min(nearest, distances[count])
            count += 1
        if nearest > radius:
            continue
        best = np.inf
        for k in range(count):
            e, at = near[k], feet[k]
            u, v = edges[e, 0], edges[e, 1]
            if distances[k] > nearest + SAME:
                continue
            if own[p] < 0:
                apart = min(np.sqrt(_squared(points, p, nodes, u)), np.sqrt(_squared(points, p, nodes, v)))
            else:
                one, two = ends[own[p]], ends[own[p]]
                straight = np.sqrt(_squared(one, 0, nodes, u)) + np.sqrt(_squared(two, 1, nodes, v))
                apart = min(straight, np.sqrt(_squared(one, 0, nodes, v)) + np.sqrt(_squared(two, 1, nodes, u)))
            if apart < best - SAME:
                best, edge[p], share[p] = apart, e, at
    return edge, share


@jit
def _from_segment(x, y, ax, ay, bx, by):
    """The distance of a point from a segment, in the order of operations that GEOS has."""
    dx, dy = bx - ax, by - ay
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
    count, total, clock = len(nodes), len(edges), len(edges)
    place = np.full(len(points), -1)
    for p in range(len(points)):
        x, y = points[p, 0], points[p, 1]
        best, nearest, low = -1, np.inf, 0
        for e in range(total):
            a, b = edge[e, 0], edge[e, 1]
            distance = _from_segment(x, y, position[a, 0], position[a, 1], position[b, 0], position[b, 1])
            lower = min(a, b)
            earlier = best >= 0 and (lower < low or (lower == low and added[e] < added[best]))
            if distance < nearest or (distance == nearest and earlier):
                best, nearest, low = e, distance, lower
        if best < 0 or nearest > radius:
            continue
        a, b = edge[best, 0], edge[best, 1]
        dx, dy = position[b, 0] - position[a, 0], position[b, 1] - position[a, 1]
        squared, size = dx * dx + dy * dy, np.sqrt(dx * dx + dy * dy)
        factor = ((x - position[a, 0]) * dx + (y - position[a, 1]) * dy) / squared if squared > 0.0 else 0.0
        along = min(max(factor, 0.0), 1.0) * size
        if 0.0 < along < size:
            share = along / size
            position[count, 0], position[count, 1] = share * dx + position[a, 0], share * dy + position[a, 1]
            edge[best, 1] = count
            edge[total, 0], edge[total, 1] = count, b
            # The half at the lower node is added first.
            added[best], added[total] = (clock, clock + 1) if a < b else (clock + 1, clock)
            clock += 2
            total += 1
            place[p], held[count] = count, p
            count += 1
            continue
        end = a if along <= 0.0 else b
        u, v = min(a, b), max(a, b)
        near_u = abs(position[end, 0] - position[u, 0]) <= box and abs(position[end, 1] - position[u, 1]) <= box
        node = u if near_u else v
        if held[node] >= 0:
            place[held[node]] = -1
        place[p], held[node] = node, p
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


@jit
def _push(heap, nodes, size, distance, node):
    """Add an entry to a heap of distances. Equal distances are ordered by node."""
    at = size
    while at > 0:
        above = (at - 1) // 2
        if heap[above] < distance or (heap[above] == distance and nodes[above] <= node):
            break
        heap[at], nodes[at] = heap[above], nodes[above]
        at = above
    heap[at], nodes[at] = distance, node


@jit
def _pop(heap, nodes, size):
    """Remove the first of ``size`` entries of a heap, which the caller has read."""
    distance, node = heap[size - 1], nodes[size - 1]
    at = 0
    while 2 * at + 1 < size - 1:
        below = 2 * at + 1
        if below + 1 < size - 1 and (
            heap[below + 1] < heap[below] or (heap[below + 1] == heap[below] and nodes[below + 1] < nodes[below])
        ):
            below += 1
        if distance < heap[below] or (distance == heap[below] and node <= nodes[below]):
            break
        heap[at], nodes[at] = heap[below], nodes[below]
        at = below
    heap[at], nodes[at] = distance, node


@jit
def walk(first, target, length, start, limit, distance, found, heap, nodes):
    """Write the distances, infinite before, of all nodes within ``limit`` of ``start``, and list these nodes."""
    distance[start] = 0.0
    heap[0], nodes[0] = 0.0, start
    size, count = 1, 0
    while size > 0:
        near, node = heap[0], nodes[0]
        _pop(heap, nodes, size)
        size -= 1
        if near > distance[node]:
            continue  # a shorter path was found since
        found[count] = node
        count += 1
        for e in range(first[node], first[node + 1]):
            far = near + length[e]
            if far <= limit and far < distance[target[e]]:
                distance[target[e]] = far
                _push(heap, nodes, size, far, target[e])
                size += 1
    return count


@jit_allocating
def matches_within(graph_a, graph_b, starts, limit, pair_a, pair_b, of_a, ranks):
    """For each pair of starts: nodes within ``limit`` in a, in b, and how many of them a one-to-one matching pairs.

    ``pair_a`` and ``pair_b`` are all pairs of close nodes in the order in which they are matched. Node i of a occurs
    in the pairs ``ranks[of_a[i] .. of_a[i + 1]]``.
    """
    first_a, target_a, length_a = graph_a
    first_b, target_b, length_b = graph_b
    out = np.zeros((len(starts), 3), np.int64)
    distance_a, distance_b = np.full(len(first_a) - 1, np.inf), np.full(len(first_b) - 1, np.inf)
    found_a, found_b = np.empty(len(distance_a), np.int64), np.empty(len(distance_b), np.int64)
    most = max(len(target_a), len(target_b)) + 1
    heap, nodes = np.empty(most), np.empty(most, np.int64)
    chosen = np.empty(len(pair_a), np.int64)
    used, taken = np.full(len(distance_a), -1), np.full(len(distance_b), -1)
    for k in range(len(starts)):
        count_a = walk(first_a, target_a, length_a, starts[k, 0], limit, distance_a, found_a, heap, nodes)
        count_b = walk(first_b, target_b, length_b, starts[k, 1], limit, distance_b, found_b, heap, nodes)
        size = 0
        for i in range(count_a):
            for at in range(of_a[found_a[i]], of_a[found_a[i] + 1]):
                if distance_b[pair_b[ranks[at]]] < np.inf:
                    chosen[size] = ranks[at]
                    size += 1
        chosen[:size].sort()
        for i in range(size):
            a, b = pair_a[chosen[i]], pair_b[chosen[i]]
            if used[a] != k and taken[b] != k:
                used[a], taken[b] = k, k
                out[k, 2] += 1
        out[k, 0], out[k, 1] = count_a, count_b
        for i in range(count_a):
            distance_a[found_a[i]] = np.inf
        for i in range(count_b):
            distance_b[found_b[i]] = np.inf
    return out


@jit_allocating
def path_cost(graph_a, graph_b, own, other, shortest, lost_costs_all):
    """The sum of ``min(1, |L - L'| / L)`` over all paths in a between different control points, and their number.

    Control point i is the node ``own[i]`` of a and ``other[i]`` of b, or -1 if b does not have it. L is the length of
    the path in a, L' in b. The cost is 1 if there is no path in b. Paths below ``shortest`` are left out, except those
    from a point that b does not have if ``lost_costs_all``.
    """
    first_a, target_a, length_a = graph_a
    first_b, target_b, length_b = graph_b
    distance_a, distance_b = np.full(len(first_a) - 1, np.inf), np.full(len(first_b) - 1, np.inf)
    found = np.empty(max(len(distance_a), len(distance_b)), np.int64)
    most = max(len(target_a), len(target_b)) + 1
    heap, nodes = np.empty(most), np.empty(most, np.int64)
    total, count = 0.0, 0
    for i in range(len(own)):
        distance_a[:] = np.inf
        distance_b[:] = np.inf
        walk(first_a, target_a, length_a, own[i], np.inf, distance_a, found, heap, nodes)
        if other[i] >= 0:
            walk(first_b, target_b, length_b, other[i], np.inf, distance_b, found, heap, nodes)
        for j in range(len(own)):
            long = distance_a[own[j]]
            if i == j or long == np.inf or (long < shortest and not (lost_costs_all and other[i] < 0)):
                continue
            count += 1
            if other[i] < 0 or other[j] < 0 or distance_b[other[j]] == np.inf:
                total += 1.0
            else:
                total += min(1.0, abs(long - distance_b[other[j]]) / long)
    return total, count
