"""Actions of workflows are pinned by the hash of a commit, and the same everywhere: here, in examples and on pages."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PINNED = re.compile(r"([\w-]+/[\w/-]+)@([0-9a-f]{40}) # v\d[\d.]*")


def files() -> list[Path]:
    found = [path for folder in (".github", "examples") for path in (ROOT / folder).rglob("*.yml")]
    return [*found, ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]


def test_all_actions_are_pinned_by_one_hash() -> None:
    hashes: dict[str, set[str]] = {}
    for path in files():
        for used in re.findall(r"^\s*(?:- )?uses: +([^.\s].*)", path.read_text(encoding="utf-8"), re.M):
            pinned = PINNED.fullmatch(used.strip())
            assert pinned, f"{path.relative_to(ROOT)}: {used}"
            hashes.setdefault(pinned[1], set()).add(pinned[0])
    assert {name: texts for name, texts in hashes.items() if len(texts) > 1} == {}
    assert {"actions/checkout", "actions/upload-artifact", "actions/cache"} <= hashes.keys()


def test_no_file_names_a_package_registry() -> None:
    """But the name of the action that publishes, which is not ours."""
    registry = "py" + "pi"
    named = []
    places = [
        *ROOT.glob("*.*"),
        *(path for folder in (".github", "docs", "packaging") for path in (ROOT / folder).rglob("*")),
    ]
    for path in places:
        if path.suffix in {".md", ".yml", ".yaml", ".toml", ".cff"}:
            text = path.read_text(encoding="utf-8").lower()
            named += [f"{path.name}: {line.strip()}" for line in text.splitlines() if registry in line]
    assert [line for line in named if f"pypa/gh-action-{registry}-publish@" not in line] == []
    assert len(named) == 1
