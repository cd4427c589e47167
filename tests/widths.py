"""How wide a text is in a terminal."""

import unicodedata


def columns_of(text: str) -> int:
    """Return the columns that a text takes: two for a letter of Chinese, none for a combining accent."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(unicodedata.category(letter) in ("Mn", "Me", "Cf") for letter in text)
