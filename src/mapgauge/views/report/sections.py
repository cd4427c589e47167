"""The sections that features add to the report and to ``mapgauge view``."""

from mapgauge.manifest import each_object
from mapgauge.views.report.pack import Section


def sections() -> tuple[Section, ...]:
    """Return the sections of all features, in their order on the page."""
    found: list[Section] = [loaded for _, loaded in each_object("sections")]
    return tuple(sorted(found, key=lambda section: section.order))
