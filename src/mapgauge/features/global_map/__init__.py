"""Global maps: frames accumulated over a drive, or maps of whole scenes, against the truth of the same region."""
