"""Reads the text of a PDF of Chromium. It knows only what Chromium writes."""

import re
import unicodedata
import zlib
from dataclasses import dataclass


@dataclass(frozen=True)
class PdfPage:
    text: str
    curves: int  # lines and curves that are drawn


def pdf_pages(data: bytes) -> list[PdfPage]:
    """The pages of a PDF."""
    objects = {int(found[1]): found[2] for found in re.finditer(rb"\n(\d+) 0 obj\b(.*?)\nendobj", data, re.DOTALL)}
    letters = {
        number: _letters(_stream(objects[int(found[1])]))
        for number, body in objects.items()
        if (found := re.search(rb"/ToUnicode (\d+) 0 R", body))
    }
    pages = []
    for body in objects.values():
        if re.search(rb"/Type\s*/Page\b", body):
            fonts = {name.decode(): letters.get(int(number), {}) for name, number in _FONT.findall(body)}
            content = re.search(rb"/Contents (\d+) 0 R", body)
            assert content is not None
            pages.append(_page(_stream(objects[int(content[1])]).decode("latin-1"), fonts))
    return pages


_FONT = re.compile(rb"/(F\d+) (\d+) 0 R")
_TEXT = re.compile(r"/(F\d+) [\d.]+ Tf|<([0-9A-Fa-f]+)>|(BT)")


def _page(content: str, fonts: dict[str, dict[int, str]]) -> PdfPage:
    font: dict[int, str] = {}
    words = []
    for name, codes, begin in _TEXT.findall(content):
        if name:
            font = fonts.get(name, {})
        elif begin:
            words.append(" ")
        else:
            words += [font.get(int(codes[k : k + 4], 16), "") for k in range(0, len(codes), 4)]
    text = unicodedata.normalize("NFKC", "".join(words))  # fonts have ligatures
    return PdfPage(text, len(re.findall(r" [lc]\n", content)))


def _stream(body: bytes) -> bytes:
    found = re.search(rb"stream\r?\n(.*)\r?\nendstream", body, re.DOTALL)
    assert found is not None
    return zlib.decompress(found[1]) if b"/FlateDecode" in body else found[1]


def _letters(table: bytes) -> dict[int, str]:
    """The text of each glyph, from a ToUnicode table."""
    text, letters = table.decode("latin-1"), dict[int, str]()
    for part in re.findall(r"beginbfchar(.*?)endbfchar", text, re.DOTALL):
        for glyph, letter in re.findall(r"<(\w+)>\s*<(\w+)>", part):
            letters[int(glyph, 16)] = bytes.fromhex(letter).decode("utf-16-be")
    for part in re.findall(r"beginbfrange(.*?)endbfrange", text, re.DOTALL):
        for first, last, letter in re.findall(r"<(\w+)>\s*<(\w+)>\s*<(\w+)>", part):
            letters |= {k: chr(int(letter, 16) + k - int(first, 16)) for k in range(int(first, 16), int(last, 16) + 1)}
    return letters
