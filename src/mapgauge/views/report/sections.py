"""The table of sections that features add to the report."""

from mapgauge.features.causes.report_section import SECTION as CAUSES
from mapgauge.features.global_map.report_section import SECTION as GROWTH
from mapgauge.features.tracks.strips import SECTION as TRACKS
from mapgauge.views.report.pack import Section

SECTIONS: tuple[Section, ...] = (CAUSES, TRACKS, GROWTH)
