"""Writes the stubs of names that are imported on first use: ``mapgauge/__init__.pyi``, ``plot.pyi`` and ``torch.pyi``.

The names come from the manifests. Run ``python -m tools.public_names`` after a manifest was changed. A test checks that
the stubs are current.
"""

from pathlib import Path

import mapgauge
from mapgauge.manifest import own

PACKAGE = Path(str(mapgauge.__file__)).parent
WIDTH = 120  # of a line, as `ruff format` leaves it
HEAD = "# Written by `python -m tools.public_names` from the manifests. Do not edit it.\n"


def imports_of(places: dict[str, str]) -> list[str]:
    """Return lines that import names from their places, sorted by module. ``as`` exports a name of a stub."""
    lines = []
    for name, place in sorted(places.items(), key=lambda item: (item[1].partition(":")[0], item[0])):
        module, _, attribute = place.partition(":")
        if attribute:
            line = f"from {module} import {attribute} as {name}"
            if len(line) > WIDTH:
                line = f"from {module} import (\n    {attribute} as {name},\n)"
            lines.append(line)
        else:
            package, _, last = module.rpartition(".")
            lines.append(f"from {package} import {last} as {name}")
    return lines


def stubs() -> dict[Path, str]:
    """Return the texts of the stubs."""
    names = {name: one.full(place) for one in own() for name, place in one.feature.names.items()}
    figures = {name: one.full(figure.place) for one in own() for name, figure in one.feature.figures.items()}
    figures["save"] = "mapgauge.views.figures.style:save"
    of_torch = {name: one.full(place) for one in own() for name, place in one.feature.torch.items()}
    end = ["", "__all__: list[str]", ""]
    return {
        PACKAGE / "__init__.pyi": HEAD + "\n".join([*imports_of(names), *end]),
        PACKAGE / "plot.pyi": HEAD + "\n".join([*imports_of(figures), *end]),
        PACKAGE / "torch.pyi": HEAD + "\n".join([*imports_of(of_torch), *end]),
    }


if __name__ == "__main__":
    for path, text in stubs().items():
        path.write_text(text, encoding="utf-8")
