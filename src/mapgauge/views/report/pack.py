"""The data of sections in the page. Arrays are packed as one compressed block of base64 text, with a directory.

Thousands of polylines as decimal numbers would make a large page. The browser reads typed arrays without parsing.
"""

import base64
import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge.markup import Html
from mapgauge.metrics.groups import Block
from mapgauge.metrics.metric import Metric
from mapgauge.results.intervals import Difference
from mapgauge.results.results import Results
from mapgauge.typing import Progress

LEVEL = 6  # level 9 takes seven times as long and saves 2 %
ALIGNMENT = 8  # bytes; a typed array must begin at a multiple of its item size

Arrays = dict[str, NDArray[Any]]
Directory = dict[str, tuple[str, int, int]]  # by name: type, first byte, number of items


@dataclass(frozen=True)
class Added:
    """The part of the page that belongs to a section."""

    meta: dict[str, Any] = field(default_factory=dict)
    arrays: Arrays = field(default_factory=dict)
    about: str = ""  # a sentence above the list of frames


class WholeScene(NamedTuple):
    """A scene of which the report should draw all frames."""

    frames: Sequence[int]  # indices into the tokens of the results
    reason: str  # why, as the page says of each frame: "in a scene with the worst price"


class Section:
    """The part of the report that belongs to a feature. This class adds nothing; features override what they need.

    ``wanted`` is the argument ``causes`` of ``write_report``.
    """

    resource = ""  # name of a script, a style and elements beside it; in pages to which the section adds ``meta``
    order = 100  # on the page: lower numbers come first
    about: Mapping[str, str] = {}  # by key of a part of a metric: what it is; the page can show it in the drawings
    panel: str = ""  # the panel of the first screen that ``in_panel`` fills; "where" is the only one so far

    @property
    def package(self) -> str:
        """The package of the script, the style and the elements: the one that the section is defined in."""
        return type(self).__module__.rpartition(".")[0]

    def prepared(self, methods: list[Results], wanted: bool | None) -> list[Results]:
        """Return the results with further metrics."""
        return methods

    def scenes(self, methods: Sequence[Results]) -> Sequence[WholeScene]:
        """Return the scenes that should be drawn as a whole, the first ones first."""
        return []

    def columns(self, block: Block, results: Results, wanted: bool | None) -> Arrays:
        """Return further columns of some frames that are drawn. Those of all blocks are joined.

        ``block`` has the frames as they were resampled and matched for the drawings. ``results`` are those of a method.
        """
        return {}

    def added(self, methods: Sequence[Results], drawn: Sequence[int], wanted: bool | None) -> Added:
        """Return what the page needs besides. ``drawn`` are the frames that can be drawn."""
        return Added()

    def has_scenes(self, methods: Sequence[Results]) -> bool:
        """Whether ``mapgauge view`` has the script of the section, which can ask for the arrays of single scenes."""
        return False

    def scenes_meta(self, scenes: Sequence[str]) -> dict[str, Any]:
        """Return what the page of ``mapgauge view`` needs to know about scenes that it can ask for."""
        return {}

    def of_scene(self, methods: Sequence[Results], scene: str) -> Arrays:
        """Return the arrays of one scene. The results must have their data."""
        return {}

    def differences(self, first: Results, second: Results, **draws: Any) -> dict[str, dict[str, Difference]]:
        """Return what explains the difference between two methods, by class and label. ``draws`` sets the bootstrap."""
        return {}

    def bodies(self, methods: Sequence[Results], names: Sequence[str]) -> Mapping[str, tuple[str, Html]]:
        """Return sections below the frames, by their ids: a title, and HTML that needs no script.

        Text that is not ``Html`` is escaped. ``element`` and ``html`` make HTML.
        """
        return {}

    def in_panel(self, methods: Sequence[Results], names: Sequence[str], progress: Progress | None = None) -> Html:
        """Return what stands in the panel ``panel`` of the first screen, in place of what the core shows there.

        The report, ``mapgauge view`` and notebooks show it, so it needs no script. If it is empty, the section has no
        data, and the panel shows what it would show without the section. ``progress`` is called with
        the number of frames done and their total. With several methods, each of their frames counts.
        """
        return Html("")

    def sentence(self, results: Results, metric: Metric) -> str:
        """Return a sentence about the parts of a metric."""
        return ""


def pack(arrays: Arrays) -> tuple[Directory, str]:
    """Return the directory, and the block as compressed text.

    >>> directory, text = pack({"a": np.array([1, 2], np.int16), "b": np.array([1, 2], np.int16)})
    >>> directory
    {'a': ('int16', 0, 2), 'b': ('int16', 0, 2)}
    >>> list(gzip.decompress(base64.b64decode(text)))
    [1, 0, 2, 0]
    """
    directory, block = block_of(arrays)
    return directory, base64.b64encode(gzip.compress(block, LEVEL, mtime=0)).decode()


def block_of(arrays: Arrays) -> tuple[Directory, bytearray]:
    """Return the arrays one after the other. Equal ones are stored once: methods usually share their truth."""
    directory: Directory = {}
    places: dict[tuple[str, bytes], int] = {}
    block = bytearray()
    for name, array in arrays.items():
        data = array.astype(array.dtype.newbyteorder("<")).tobytes()
        key = (array.dtype.name, data)
        if key not in places:
            block += bytes(-len(block) % ALIGNMENT)
            places[key] = len(block)
            block += data
        directory[name] = (array.dtype.name, places[key], array.size)
    return directory, block


def steps(values: NDArray[Any], offsets: NDArray[np.int64]) -> NDArray[Any]:
    """Return the differences between consecutive rows, restarting at each offset. They compress far better.

    Differences wrap around, and so do the sums that undo them. The result has the columns one after the other.

    >>> steps(np.array([[5, 1], [6, 2], [9, 9]], np.int16), np.array([0, 2, 3])).tolist()
    [[5, 1, 9], [1, 1, 9]]
    """
    differences = values.copy()
    differences[1:] -= values[:-1]
    first = offsets[:-1][np.diff(offsets) > 0]
    differences[first] = values[first]
    return np.ascontiguousarray(differences.T)
