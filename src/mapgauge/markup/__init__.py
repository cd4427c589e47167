"""Colours, HTML tables and small SVG drawings for notebooks. Text of the user is escaped."""
