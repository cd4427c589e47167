"""Checks the classes of an accumulator."""

from collections.abc import Sequence

from mapgauge.errors import InvalidInput
from mapgauge.protocols import Protocol


def names_of_numbers(classes: Sequence[str] | None, protocol: Protocol) -> tuple[str, ...] | None:
    """Return the class names of integer labels. They must contain every class that is evaluated."""
    if classes is None:
        if protocol.classes is None:
            raise InvalidInput(
                f"the protocol {protocol.name} has no classes", remedy="Pass classes= with the names of all classes"
            )
        return None
    if isinstance(classes, str) or not isinstance(classes, Sequence) or not all(isinstance(c, str) for c in classes):
        raise InvalidInput(f"classes must be a list of names, got {classes!r}")
    if not classes or len(set(classes)) < len(classes):
        raise InvalidInput(f"classes must be one or more different names, got {list(classes)!r}")
    lacking = [name for name in protocol.classes or () if name not in classes]
    if lacking:
        raise InvalidInput(
            f"classes lacks {', '.join(lacking)}, which the protocol {protocol.name} evaluates",
            remedy=f'Choose other classes with mg.protocol("{protocol.name}", classes=(...))',
        )
    return tuple(classes)
