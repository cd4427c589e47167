"""Writes the version and the address of the project into the files that state them.

The version is in ``src/mapgauge/version.py``. The address of the repository on a code host, such as
``https://example.org/group/mapgauge``, is ``address`` under ``[tool.mapgauge]`` in ``pyproject.toml``. While it is
empty, links are relative and nobody is sent to an address::

    python -m tools.metadata            # write both into all files, after either was changed
    python -m tools.metadata --check    # fail if the address is empty, or if a file says something else

The check is a step of a release. It needs no package.
"""

import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
ADDRESS = re.compile(r"https://[\w.-]+(?:/[\w.-]+)+(?<!\.git)")
BRANCH = "main"
PICTURES = (".png", ".svg")


@dataclass(frozen=True)
class Metadata:
    """What files state."""

    version: str
    address: str  # "" while there is none
    before: str  # the address that files have now, "" if they have none

    def page(self, name: str) -> str:
        """Return the address of a file of the repository, as a page or a picture."""
        kind = "raw" if name.endswith(PICTURES) else "blob"
        return f"{self.address}/{kind}/{BRANCH}/{name}"

    @property
    def contact(self) -> str:
        """The sentence that says where vulnerabilities are reported."""
        if not self.address:
            return "Please report vulnerabilities in private to those from whom you have mapgauge, and not in public."
        page = f"{self.address}/security/advisories/new"
        return f"Please report vulnerabilities in private, at <{page}>, and not in public."


def read(root: Path) -> Metadata:
    """Return what the files of a repository should say."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    address = project["tool"]["mapgauge"]["address"]
    if address and not ADDRESS.fullmatch(address):
        sys.exit(f"pyproject.toml: expected an address such as https://example.org/group/mapgauge, got {address!r}")
    found = re.search(r'^__version__ = "(.+)"$', (root / "src/mapgauge/version.py").read_text(encoding="utf-8"), re.M)
    if found is None:
        sys.exit("src/mapgauge/version.py: expected a line with __version__, got none")
    before = project["project"].get("urls", {}).get("Source", "")
    return Metadata(version=found[1], address=address, before=before)


def relative_links(text: str, address: str) -> str:
    """Return Markdown whose links into the repository at an address are relative."""
    if not address:
        return text
    return re.sub(rf"\]\({re.escape(address)}/(?:blob|raw)/{BRANCH}/", "](", text)


def _links(text: str, data: Metadata) -> str:
    """Make all links of a page at the top of the repository absolute, and relative if there is no address."""
    text = relative_links(text, data.before)
    if not data.address:
        return text
    link = re.compile(r"\]\((?!https?:|#)([^)\s#]+)(#[^)\s]+)?\)")
    pieces = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)  # code stays
    for k in range(0, len(pieces), 2):
        pieces[k] = link.sub(lambda found: f"]({data.page(found[1])}{found[2] or ''})", pieces[k])
    return "".join(pieces)


def _clone(text: str, data: Metadata) -> str:
    """Begin the first block of commands with the one that gets the repository."""
    if data.before:
        text = text.replace(f"git clone {data.before} && cd mapgauge\n", "")
    if not data.address:
        return text
    return text.replace("```sh\n", f"```sh\ngit clone {data.address} && cd mapgauge\n", 1)


def _urls(text: str, data: Metadata) -> str:
    """Write the table of addresses in front of the commands of the package."""
    text = re.sub(r"^\[project\.urls\]\n(?:.+\n)*\n", "", text, flags=re.M)
    if not data.address:
        return text
    rows = {
        "Source": data.address,
        "Documentation": data.page("docs/index.md"),
        "Changelog": data.page("CHANGELOG.md"),
        "Issues": f"{data.address}/issues",
    }
    table = "".join(f'{name} = "{value}"\n' for name, value in rows.items())
    return text.replace("[project.scripts]\n", f"[project.urls]\n{table}\n[project.scripts]\n", 1)


def _citation(text: str, data: Metadata) -> str:
    """Write version and address into the file that says how to cite."""
    text = re.sub(r"^repository-code: .*\n", "", text, flags=re.M)
    text = re.sub(r"^version: .*$", f"version: {data.version}", text, count=1, flags=re.M)
    if not data.address:
        return text
    return re.sub(r"^(version: .*\n)", rf"\1repository-code: {data.address}\n", text, count=1, flags=re.M)


def _security(text: str, data: Metadata) -> str:
    """Write where vulnerabilities are reported."""
    sentence = r"^Please report vulnerabilities in private.+? and not in public\."
    return re.sub(sentence, data.contact, text, count=1, flags=re.M)


def _readme(text: str, data: Metadata) -> str:
    """Write the links, and the command that gets the repository."""
    return _clone(_links(text, data), data)


def _recipe(text: str, data: Metadata) -> str:
    """Write version and address into a recipe."""
    text = re.sub(r"^  (?:homepage|repository): .*\n", "", text, flags=re.M)
    text = re.sub(r'^  version: ".*"$', f'  version: "{data.version}"', text, count=1, flags=re.M)
    if not data.address:
        return text
    rows = f"  homepage: {data.address}\n  repository: {data.address}\n"
    return text.replace("about:\n", f"about:\n{rows}", 1)


FILES: dict[str, Callable[[str, Metadata], str]] = {
    "pyproject.toml": _urls,
    "README.md": _readme,
    "SECURITY.md": _security,
    "CITATION.cff": _citation,
    "docs/how-to/install.md": _clone,
    "packaging/conda-forge/recipe.yaml": _recipe,
}


def changes(root: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files that say something else than they should, each with the text that it should have."""
    data = read(root)
    for name, write in FILES.items():
        path = root / name
        text = path.read_text(encoding="utf-8")
        expected = write(text, data)
        if expected != text:
            yield path, expected


def check(root: Path) -> str:
    """Return what is wrong before a release, or ""."""
    if not read(root).address:
        return "pyproject.toml: address under [tool.mapgauge] is empty. Set it, and run python -m tools.metadata"
    stale = [path.relative_to(root).as_posix() for path, _ in changes(root)]
    if stale:
        return f"version or address is another one in {', '.join(stale)}. Run python -m tools.metadata"
    return ""


def main(root: Path = ROOT) -> None:
    """Write all files, or check them."""
    if sys.argv[1:] == ["--check"]:
        wrong = check(root)
        if wrong:
            sys.exit(wrong)
        return
    for path, text in list(changes(root)):
        path.write_text(text, encoding="utf-8", newline="\n")
        print(path.relative_to(root).as_posix())


if __name__ == "__main__":
    main()
