"""Draw the pictures of the documentation: ``python -m docs.pictures`` writes them into ``docs/images/``."""

from docs.pictures import IMAGES, PICTURES

for name, draw in PICTURES.items():
    draw().save(IMAGES / f"{name}.svg")
