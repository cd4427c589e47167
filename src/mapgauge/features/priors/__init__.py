"""Changed maps: what a prediction keeps, moves, adds and drops of a prior map."""
