"""Words in messages: numbers with their nouns, and the name that was probably meant."""

from collections.abc import Iterable
from difflib import get_close_matches

_SHORTEST = 4  # letters of a name that is compared with the beginnings of longer names
_OF_BEGINNING = 0.8  # the least similarity of such a beginning; that of whole names is 0.6


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
    >>> did_you_mean("papper", ["even-60x30", "paper-60x30", "paper-100x50"])
    '. Did you mean paper-60x30?'
    >>> did_you_mean("load", ["board", "load_results"])
    '. Did you mean load_results?'
    """
    by_lower_case = {one.lower(): one for one in known}
    wanted = str(name).lower()
    near = _nearest(wanted, list(by_lower_case))
    if near is None:
        return ""
    return f". Did you mean {by_lower_case[near]}?"


def _nearest(wanted: str, known: list[str]) -> str | None:
    """Return the shortest name that begins so, else the most similar one, else one with a similar beginning."""
    is_long = len(wanted) >= _SHORTEST
    begun = [name for name in known if name.startswith(wanted)]
    if begun and is_long:
        return min(begun, key=len)
    near = get_close_matches(wanted, known, 1)
    if near:
        return near[0]
    if not is_long:
        return None
    beginnings = {name[: len(wanted)]: name for name in reversed(known)}  # of equal beginnings, the first name
    similar = get_close_matches(wanted, beginnings, 1, _OF_BEGINNING)
    if similar:
        return beginnings[similar[0]]
    return None
