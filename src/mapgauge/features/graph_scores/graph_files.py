"""Graphs of centrelines by token.

A file is JSON, or a pickle of plain dictionaries::

    {token: {"nodes": [[x, y], ...], "edges": [[from, to], ...]}}

Nodes are positions in metres, with two or three coordinates. Edges hold indices of nodes. Pickled networkx objects are
refused. Each path between junctions becomes an instance of the class ``centerline``, with links to the lanes after it.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from mapgauge.features.graph_scores.graph import Edges, Graph, frames_from_graphs
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames
from mapgauge.io._columns import DROP, EXAMPLES
from mapgauge.io._format import Format, ReadOptions, refuse_ids
from mapgauge.io._values import ValueChecker
from mapgauge.io.files.json_documents import gc_paused
from mapgauge.io.files.source import Content
from mapgauge.io.pickles.tree import PickleTree, or_none
from mapgauge.typing import Points

_KEYS = ("nodes", "edges")


def _is_graphs(content: Content) -> bool:
    if content.kind == "json":
        return content.keys.issuperset(_KEYS) and not content.keys & {"results", "GTs", "features"}
    if content.kind != "pickle" or not isinstance(content.outline, dict):
        return False
    has_graphs = None
    if content.tree is not None:
        has_graphs = or_none(_has_graphs, content.tree)
    if has_graphs is not None:
        return has_graphs
    return any(isinstance(frame, dict) and all(key in frame for key in _KEYS) for frame in content.document.values())


def _has_graphs(tree: PickleTree) -> bool:
    """Whether a frame of a pickle is a graph."""
    frames = tree.pairs(tree.root)[2]
    frames = frames[tree.are(frames, "DICT")]
    return bool(np.logical_and(*(tree.find(frames, key) >= 0 for key in _KEYS)).any())


class _Reader:
    """Reads the graphs of one file, and counts the nodes that it drops."""

    def __init__(self, content: Content, options: ReadOptions) -> None:
        self.check = ValueChecker(content.error)
        self.error = content.error
        self.drop = options.degenerate == "drop"
        self.dropped = 0
        self.places: list[str] = []
        self.dimension = 0

    def graph(self, value: Any, where: str) -> Graph:
        """Return one graph."""
        nodes = self.check.points(self.check.member(value, "nodes", where), f"{where}.nodes")
        given = self.check.sequence(self.check.member(value, "edges", where), f"{where}.edges")
        if len(nodes) and nodes.shape[1] != (self.dimension or nodes.shape[1]):
            raise self.error(
                f"{where}.nodes have {nodes.shape[1]} coordinates, those before have {self.dimension}; expected either "
                "2-D or 3-D nodes in the whole file"
            )
        if len(nodes):
            self.dimension = nodes.shape[1]
        edges = self._edges(given, len(nodes), where)
        return Graph(*self._finite(nodes, edges, where))

    def _edges(self, given: Any, count: int, where: str) -> Edges:
        pairs = []
        for i, edge in enumerate(given):
            place = f"{where}.edges[{i}]"
            ends = [self.check.whole(end, f"{place}[{k}]") for k, end in enumerate(self.check.sequence(edge, place))]
            if len(ends) != 2:
                raise self.error(f"{place} has {len(ends)} numbers, expected the indices of two nodes")
            wrong = [end for end in ends if not 0 <= end < count]
            if wrong:
                raise self.error(
                    f"{place} is {ends}, and there is no node {wrong[0]}: the graph has {count} nodes",
                    remedy="Count nodes from 0, and remove the edges of removed nodes",
                )
            pairs.append(ends)
        return np.array(pairs, np.int64).reshape(-1, 2)

    def _finite(self, nodes: Points, edges: Edges, where: str) -> tuple[Points, Edges]:
        sound = np.isfinite(nodes).min(axis=1, initial=True)
        if sound.all():
            return nodes, edges
        bad = np.flatnonzero(~sound)
        place = f"{where}.nodes[{bad[0]}]"
        if not self.drop:
            raise self.error(f"{place} has a coordinate that is not a finite number", remedy=DROP)
        self.dropped += len(bad)
        self.places.append(place)
        at = np.cumsum(sound) - 1
        kept = sound[edges[:, 0]] & sound[edges[:, 1]]
        return nodes[sound], at[edges[kept]]


def _read(content: Content, options: ReadOptions) -> MapFrames:
    refuse_ids(options.classes, str(content.path))
    reader = _Reader(content, options)
    document = reader.check.top(content.document, dict, "a graph by token: {token: {nodes: ..., edges: ...}}")
    with gc_paused():
        tokens = [reader.check.text(token, "a token") for token in document]
        graphs = [reader.graph(value, f'$["{token}"]') for token, value in document.items()]
    frames = frames_from_graphs(zip(tokens, graphs, strict=True), name=str(content.path))
    if reader.dropped:
        text = f"{content.path}: {reader.dropped} nodes were dropped because they have a coordinate that is not finite"
        finding = Finding(
            "warning", "dropped-not-finite", text, count=reader.dropped, examples=tuple(reader.places[:EXAMPLES])
        )
        frames = replace(frames, findings=(*frames.findings, finding))
    return replace(frames, format=GRAPHS.name)


GRAPHS = Format(
    name="graph-json",
    about="graphs of centrelines by token, with nodes and edges, as CGNet and LaneGNN compare",
    recognise=_is_graphs,
    read=_read,
)
