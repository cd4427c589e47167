"""Evaluation of data sets: in memory, streamed, batch by batch, over several settings."""
