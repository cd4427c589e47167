"""Pickles that cannot run code: see README.md in this folder."""
