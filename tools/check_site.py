"""Checks the pages that ``make docs`` built: they load nothing from elsewhere, and their equations are MathML.

::

    python -m tools.check_site docs site
"""

import re
import sys
from pathlib import Path

TAGS = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*>")
ELSEWHERE = re.compile(r"""(?:src|href)=["']?(?:https?:)?//""")


def faults(docs: Path, site: Path) -> list[str]:
    """Return what is wrong with the pages of a site.

    Args:
        docs: The folder of the Markdown pages.
        site: The folder of the HTML pages.
    """
    pages = {page.relative_to(site).as_posix(): page.read_text("utf-8") for page in sorted(site.rglob("*.html"))}
    found = []
    for source in sorted(docs.rglob("*.md")):
        name = source.relative_to(docs).with_suffix(".html").as_posix()
        if name not in pages:
            found.append(f"{name}: expected a page made from {source}, got no file")
        elif re.search(r"^\$\$", source.read_text("utf-8"), re.M) and "<math" not in pages[name]:
            found.append(f"{name}: expected equations as MathML, got none")
    for name, text in pages.items():
        found += [
            f"{name}: loads something from elsewhere: {tag}" for tag in TAGS.findall(text) if ELSEWHERE.search(tag)
        ]
    return found


def main(docs: str, site: str) -> None:
    """Print what is wrong with the site, and exit with 1 if anything is."""
    found = faults(Path(docs), Path(site))
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(bool(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
