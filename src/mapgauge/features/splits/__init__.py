"""Splits: frames like others, overlap of training and validation in place and in shape, and new splits."""
