"""Keys in our own environment: nothing that we start gets them, and nothing that we cause outlives us."""
