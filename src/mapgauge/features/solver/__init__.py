"""Linear programmes that several features share."""
