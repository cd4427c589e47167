"""Map frames: the instances of many frames as columns, with alignment and joining."""
