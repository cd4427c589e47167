"""What writers need of frames: numeric ids of classes, and confidences."""

from collections.abc import Sequence

from mapgauge.errors import InvalidInput
from mapgauge.frames.map_frames import MapFrames


def ids_of(frames: MapFrames, table: Sequence[str], override: dict[int, str] | None, format_name: str) -> list[int]:
    """The numeric id to write for each class of the frames that has instances; -1 for the others."""
    numbers = {
        name: i for i, name in (enumerate(table) if override is None else sorted(override.items(), reverse=True))
    }
    unknown = [name for name, count in frames.counts.items() if count and name not in numbers]
    if unknown:
        raise InvalidInput(
            f"{format_name} has no id for the class {', '.join(unknown)}. It has: {', '.join(numbers)}. "
            "Rename or select classes, or pass classes= with names and ids"
        )
    return [numbers.get(name, -1) for name in frames.classes]


def confidences_of(frames: MapFrames, format_name: str) -> list[float]:
    """The confidences, for a format that cannot do without."""
    if frames.confidence is None:
        raise InvalidInput(
            f"{format_name} holds predictions, and these frames have no confidence. "
            "Write a truth format, or call .with_confidence(1) first"
        )
    return list(frames.confidence.tolist())
