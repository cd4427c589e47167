"""From aligned frames to rows and sums: the work that every engine does."""
