"""Views of results: figures and the report."""
