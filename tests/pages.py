"""Which pages of the documentation are tried as a whole."""

# Their commands need files that their Python writes, so ``tests/test_docs.py`` runs both. Other pages are doctests.
PAGES_WITH_FILES = (
    "how-to/changed-maps",
    "how-to/history",
    "how-to/own-map",
    "how-to/poses",
    "how-to/run-a-challenge",
    "how-to/suspicious-truth",
    "how-to/two-maps",
)
