"""Why PLD is not 0: its causes."""
