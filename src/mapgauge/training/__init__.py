"""Evaluation inside a training loop: accumulator, torch, mmengine and loggers."""
