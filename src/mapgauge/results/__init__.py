"""Results: rows and summary, assignments, comparison, storage."""
