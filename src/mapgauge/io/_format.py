"""A row of the table of formats."""

from collections.abc import Callable
from dataclasses import dataclass

from mapgauge.files.source import Content
from mapgauge.frames.map_frames import MapFrames
from mapgauge.io._axes import FormatForward
from mapgauge.io._options import ReadOptions


@dataclass(frozen=True, slots=True)
class Format:
    """One file format: everything the rest of the package knows about it."""

    name: str
    about: str  # one line: which files of which projects
    recognise: Callable[[Content], bool]
    read: Callable[[Content, ReadOptions], MapFrames]
    write: Callable[..., bytes] | None = None  # ``write(frames, names of numeric ids or None, **options)``
    suffix: str = ""  # a suffix that only files of this format have
    options: tuple[str, ...] = ()  # further keywords of ``read``
    write_options: tuple[str, ...] = ()  # further keywords of ``write``
    forward: FormatForward = None  # the axis that points forward; None if the format does not say
