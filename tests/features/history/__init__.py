"""Tests of the history of many nights."""
