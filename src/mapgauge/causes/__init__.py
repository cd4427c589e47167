"""Why PLD is not 0: the split of PLD by cause, and what fixing one cause alone would bring."""
