"""The graph scores of the field: GEO, TOPO, JTOPO, APLS, split points, landmarks and reachability."""
