"""What results say: a few sentences with their figures, for the terminal, the report, notebooks and JSON."""
