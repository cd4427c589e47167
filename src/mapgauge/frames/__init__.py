"""Map frames: the instances of many frames as columns, and how two sides of them are aligned and joined."""
