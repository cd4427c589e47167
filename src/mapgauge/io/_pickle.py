"""Placeholder."""

import pickle


def unpickle(data, error):  # type: ignore
    """Placeholder."""
    return pickle.loads(data)
