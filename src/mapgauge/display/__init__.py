"""Colours and text tables that figures, report and command line share."""
