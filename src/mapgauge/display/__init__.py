"""Colours, text tables and summaries of files that figures, the report and the command line share."""
