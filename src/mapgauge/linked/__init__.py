"""Assignments with links: sparse linear programmes, their exact reduction, and their solution by HiGHS."""
