"""Print the oldest supported release of each dependency as a constraint for pip, from the floors in pyproject.toml.

The dependencies are those of mapgauge and of all extras. A floor is the release itself and not the last of its series:
shapely 2.0.0 does not work with a numpy that shapely 2.0.7 works with.
"""

import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
requirements = [*project["dependencies"]]
for packages in project["optional-dependencies"].values():
    requirements += [package for package in packages if not package.startswith("mapgauge[")]
for requirement in dict.fromkeys(requirements):
    print(requirement.replace(">=", "=="))
print("pyparsing<3.3")  # later ones warn about what matplotlib 3.10.0 calls, and tests take warnings as errors
