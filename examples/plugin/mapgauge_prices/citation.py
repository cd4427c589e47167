"""What to cite for the price."""

from mapgauge.plugin import Citation

SOURCE = Citation(
    entry="""\
@misc{prices2026,
  title = {Prices of missed polylines},
  year = {2026}
}""",
    uses=("price", "rules:prices"),
)
