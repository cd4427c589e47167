"""Files as bytes, locally or behind URLs: reading, decompression, safe unpickling, atomic writing."""
