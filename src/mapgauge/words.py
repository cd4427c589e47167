"""Words in messages: numbers with their nouns, and the name that was probably meant."""

from collections.abc import Iterable
from difflib import get_close_matches


def counted(count: int, one: str, many: str = "", form: str = "") -> str:
    """Return a number with the words for one or for several. Without ``many``, the words for several end in s.

    >>> counted(1, "frame"), counted(2, "frame"), counted(0, "frame")
    ('1 frame', '2 frames', '0 frames')
    >>> counted(1, "class has", "classes have"), counted(6019, "frame", form=",")
    ('1 class has', '6,019 frames')
    """
    several = many or f"{one}s"
    return f"{count:{form}} {one if count == 1 else several}"


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the nearest of the known names, or "" if none is near.

    >>> did_you_mean("dividers", ["divider", "boundary"]), did_you_mean("PLD", ["pld"]), did_you_mean("x", ["pld"])
    ('. Did you mean divider?', '. Did you mean pld?', '')
    """
    by_lower_case = {one.lower(): one for one in known}
    near = get_close_matches(str(name).lower(), by_lower_case, 1)
    if near:
        return f". Did you mean {by_lower_case[near[0]]}?"
    return ""
