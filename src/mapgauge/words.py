"""Words that depend on a number."""


def counted(count: int, one: str, many: str = "", form: str = "") -> str:
    """Return a number with the words for one or for several. Without ``many``, the words for several end in s.

    >>> counted(1, "frame"), counted(2, "frame"), counted(0, "frame")
    ('1 frame', '2 frames', '0 frames')
    >>> counted(1, "class has", "classes have"), counted(6019, "frame", form=",")
    ('1 class has', '6,019 frames')
    """
    several = many or f"{one}s"
    return f"{count:{form}} {one if count == 1 else several}"
