"""``mapgauge view``: results in a browser, with all frames."""
