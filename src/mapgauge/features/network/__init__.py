"""PLD of line networks, in which a break costs less than a line."""
