"""Shortest paths in graphs, and the scores that walks from many nodes give: TOPO and APLS.

A graph is ``(first, target, length)``: node i has the edges ``first[i] .. first[i + 1]``. Paths are found with
Dijkstra's algorithm. ``scipy.sparse.csgraph`` computes the same and is the reference in the tests. It is not used here
because scipy is not needed otherwise, and because its searches with a limit cost one call from Python per node.
"""

import numpy as np

from mapgauge.kernels._jit import jit, jit_allocating


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
def _walk(first, target, length, start, limit, distance, found, heap, nodes):
    """Write the distances of all nodes within ``limit`` of ``start``, and list these nodes; return how many.

    ``distance`` must be infinite everywhere before, and is finite at the listed nodes after.
    """
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
def all_distances(first, target, length, starts):
    """The length of the shortest path from each of some nodes to every node; infinite if there is none."""
    count = len(first) - 1
    out = np.full((len(starts), count), np.inf)
    found, heap, nodes = np.empty(count, np.int64), np.empty(len(target) + 1), np.empty(len(target) + 1, np.int64)
    for k in range(len(starts)):
        _walk(first, target, length, starts[k], np.inf, out[k], found, heap, nodes)
    return out


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
        count_a = _walk(first_a, target_a, length_a, starts[k, 0], limit, distance_a, found_a, heap, nodes)
        count_b = _walk(first_b, target_b, length_b, starts[k, 1], limit, distance_b, found_b, heap, nodes)
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
        _walk(first_a, target_a, length_a, own[i], np.inf, distance_a, found, heap, nodes)
        if other[i] >= 0:
            _walk(first_b, target_b, length_b, other[i], np.inf, distance_b, found, heap, nodes)
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
