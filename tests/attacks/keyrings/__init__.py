"""Keyrings that are silent, locked, slow, broken or gone: nothing waits for them longer than it says."""
