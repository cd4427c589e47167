"""Scenes that can be told from the tokens of frames."""

import re
from collections.abc import Sequence

# Argoverse 2: the id of the log, which is a UUID, and the time stamp of the LiDAR in nanoseconds.
_ARGOVERSE_2 = re.compile(r"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})_[0-9]{18}")


def scenes_from_tokens(tokens: Sequence[str]) -> tuple[str, ...] | None:
    """Return the scene of each token if all tokens are those of Argoverse 2, otherwise None.

    >>> scenes_from_tokens(["3b3570b4-7b0b-3268-a571-b0889dbf40b6_315971916927482490"])
    ('3b3570b4-7b0b-3268-a571-b0889dbf40b6',)
    """
    found = [_ARGOVERSE_2.fullmatch(token) for token in tokens]
    return tuple(match[1] for match in found if match) if found and all(found) else None
