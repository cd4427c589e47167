"""Changed maps: what a prediction keeps, moves, adds and drops of a prior map."""

STATES = ("kept", "moved", "inserted", "deleted")
TRUE_STATES = STATES[:3]  # the states that true lines can have
