"""Bytes on disk and behind URLs: reading, decompression, safe unpickling, atomic writing."""
