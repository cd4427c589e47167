"""Names of places and classes in error messages."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mapgauge.errors import InvalidInput

if TYPE_CHECKING:
    from mapgauge.frames.map_frames import MapFrames


def place_of(frames: "MapFrames", instance: int) -> str:
    """Return the file, the frame and the class of an instance, for error messages."""
    frame, class_name = frames.frame[instance], frames.classes[frames.label[instance]]
    place = f"frame {frames.tokens[frame]}, instance {instance - frames.offsets[frame]} ({class_name})"
    return f"{frames.name}: {place}" if frames.name else place


def check_known(frames: "MapFrames", classes: Iterable[str]) -> None:
    """Refuse classes that the frames do not have."""
    unknown = [name for name in classes if name not in frames.classes]
    if unknown:
        where, known = frames.name or "frames", ", ".join(frames.classes) or "none"
        raise InvalidInput(f"{where}: no class {', '.join(unknown)}; available: {known}")
