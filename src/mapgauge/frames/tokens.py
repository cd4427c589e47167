"""Tokens of frames, as people read and type them: whole, shortened, or by their beginning."""

from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches

from mapgauge.errors import InvalidInput
from mapgauge.frames.findings import shortened

_LISTED = 5  # tokens in an error
_ELLIPSIS = "…"


def short_tokens(tokens: Sequence[str]) -> list[str]:
    """Return the tokens of all frames as tables print them: without their middle, unless two would look the same.

    >>> short_tokens(["7fab2350-7eaf-3b7e-a39d-6937a4c1bede_315969258772412943", "scene-0000-0"])
    ['7fab2350…258772412943', 'scene-0000-0']
    """
    short = [shortened(token) for token in tokens]
    times = Counter(short)
    return [text if times[text] == 1 else token for token, text in zip(tokens, short, strict=True)]


def token_meant(where: str, text: str, tokens: Sequence[str], *, otherwise: str = "") -> str:
    """Return the token that a text means: the token itself, its beginning, or its ends as tables print them.

    ``where`` begins the error about a text that means no frame or several. ``otherwise`` is what may be given instead.

    >>> token_meant("results.mg", "7fab…943", ["7fab2350_315969258772412943", "scene-0000-0"])
    '7fab2350_315969258772412943'
    """
    if text in tokens:
        return text
    head, _, tail = text.replace("...", _ELLIPSIS).partition(_ELLIPSIS)
    fitting = [token for token in tokens if head and token.startswith(head) and token.endswith(tail)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        more = ""
        if len(fitting) > _LISTED:
            more = f" and {len(fitting) - _LISTED} more"
        raise InvalidInput(
            f"{where}: {text!r} fits {len(fitting)} frames: {', '.join(fitting[:_LISTED])}{more}",
            remedy="Give more letters of the token",
        )
    raise no_such_frame(where, text, tokens, otherwise=otherwise)


def no_such_frame(where: str, token: str, tokens: Sequence[str], *, otherwise: str = "") -> InvalidInput:
    """Return the error for a token that no frame has."""
    hint = ""
    near = get_close_matches(token, tokens, 3, 0.6)
    if near:
        hint = f"; did you mean {' or '.join(near)}?"
    elif tokens:
        hint = f"; the first is {tokens[0]}"
    remedy = "Give the token of a frame"
    if otherwise:
        remedy += f", or {otherwise}"
    return InvalidInput(f"{where}: no frame {token!r}{hint}", remedy=remedy)
