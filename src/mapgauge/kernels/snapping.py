"""Points snapped to the edges of a graph: by rule, or one after the other as CGNet's copy of the APLS code does it."""

import numpy as np

from mapgauge.kernels._jit import jit, jit_allocating

SAME = 1e-9  # metres: distances that differ by less are equal


@jit
def _gap(x, i, y, j):
    total = 0.0
    for k in range(x.shape[1]):
        step = x[i, k] - y[j, k]
        total += step * step
    return np.sqrt(total)


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
    for p in range(len(points)):
        nearest = np.inf
        for e in range(len(edges)):
            nearest = min(nearest, _foot(points, p, nodes, edges[e, 0], edges[e, 1])[1])
        if nearest > radius:
            continue
        best = np.inf
        for e in range(len(edges)):
            u, v = edges[e, 0], edges[e, 1]
            at, distance = _foot(points, p, nodes, u, v)
            if distance > nearest + SAME:
                continue
            if own[p] < 0:
                apart = min(_gap(points, p, nodes, u), _gap(points, p, nodes, v))
            else:
                one, two = ends[own[p]], ends[own[p]]
                straight = _gap(one, 0, nodes, u) + _gap(two, 1, nodes, v)
                apart = min(straight, _gap(one, 0, nodes, v) + _gap(two, 1, nodes, u))
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
