"""Print the oldest supported release of each dependency as a constraint for pip, from the floors in pyproject.toml."""

import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
for requirement in project["dependencies"]:
    print(requirement.replace(">=", "==") + ".*")
