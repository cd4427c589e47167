"""One fault put into a document."""

from collections.abc import Callable
from typing import Any


def change(path: list[Any], value: Any) -> Callable[[Any], None]:
    """Set what is at a path of keys and indices; ``...`` takes it away."""

    def apply(document: Any) -> None:
        place: Any = document
        for key in path[:-1]:
            place = place[key]
        if value is ...:
            del place[path[-1]]
        else:
            place[path[-1]] = value

    return apply
