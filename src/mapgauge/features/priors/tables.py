"""What ``mapgauge evaluate --prior`` adds."""

from mapgauge.features.priors.command import since_prior, text_of
from mapgauge.hooks import PriorTables

TABLES = PriorTables(measure=since_prior, text=text_of)
